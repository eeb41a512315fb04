"""The report on labelled texts whose every fault was put there by hand, and the rule that chooses a bag or a sequence model."""

from pathlib import Path

import pytest

from regard.data.labelled_check import check_labelled, fitting_model


@pytest.mark.parametrize(
    ("samples", "mean_words", "fits"),
    [
        (14_999, 10.0, "bag"),  # 1,499.9 texts a word
        (15_000, 10.0, "sequence"),  # 1,500
        (25_000, 233.0, "bag"),  # the film reviews of the lectures' book: 107
        (560_000, 56.0, "sequence"),  # 10,000
        (1, 1.0, "bag"),
    ],
)
def test_the_rule_by_hand(samples: int, mean_words: float, fits: str) -> None:
    assert fitting_model(samples, mean_words) == fits


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_one_word_more_on_average_turns_the_rule(tmp_path: Path) -> None:
    """3,000 texts of two words are 1,500 a word; a third word in one of them makes it 1,499.75."""
    lines = [f"film {number}\t{'good' if number % 2 else 'bad'}" for number in range(3000)]
    report = check_labelled(write(tmp_path / "a.tsv", *lines))
    assert (report.texts, report.words.mean, report.samples_per_word, report.fits) == (3000, 2.0, 1500.0, "sequence")
    longer = check_labelled(write(tmp_path / "b.tsv", "film 0 again\tbad", *lines[1:]))
    assert (longer.samples_per_word, longer.fits) == (pytest.approx(3000 / (6001 / 3000)), "bag")
    assert "3,000 texts / 2.0 words = 1,500, not below 1,500" in report.to_text()
    assert "a bag of words (model.kind bag): 3,000 texts / 2.0 words = 1,500, below 1,500" in longer.to_text()


def test_every_fault_is_found_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    lines = [
        b"a fine film\tgood",
        b"a dull film\tbad",
        b"a fine film\tgood",  # 3: again
        b"a fine film\tbad",  # 4: with another label
        b"no label",  # 5
        b"no label\t ",  # 6
        b"\tbad",  # 7: no text
        b"caf\xe9\tgood",  # 8
        b"",
        b"one\ttab\tgood\r",  # 10: the label follows the last tab
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    report = check_labelled(path)
    assert (report.lines, report.texts, report.labels) == (10, 5, {"good": 3, "bad": 2})
    assert (report.duplicates.first, report.contradictions.first) == ((3,), (4,))
    assert (report.unlabelled.first, report.empty.first, report.misencoded.first) == ((5, 6), (7,), (8,))
    assert (report.words.mean, report.words.longest_line, report.usable) == (pytest.approx(14 / 5), 1, False)
    assert "training will refuse it" in report.to_text()


def test_tagged_text_is_for_a_sequence_model(tmp_path: Path) -> None:
    report = check_labelled(write(tmp_path / "t.tsv", "they\tP", "can\tV", "fish\tN", "", "", "they\tP"))
    assert (report.tagged, report.texts, report.words.mean, report.words.longest_line) == (True, 2, 2.0, 1)
    assert (report.fits, report.duplicates.total, report.usable) == ("sequence", 0, True)


def test_one_label_and_no_text(tmp_path: Path) -> None:
    report = check_labelled(write(tmp_path / "a.tsv", "a\tx", "b\tx"))
    assert "2 texts with 1 labels: training needs two of each" in report.to_text()
    (tmp_path / "empty").touch()
    empty = check_labelled(tmp_path / "empty")
    assert (empty.usable, empty.fits, empty.samples_per_word) == (False, None, None)
    assert "cannot be told" in empty.to_text()
