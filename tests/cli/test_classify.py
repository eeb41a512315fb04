"""`regard classify` and `regard evaluate --data` as a user runs them."""

import json
from pathlib import Path

import pytest

SMALL = [
    *("--set", "text.kind=word", "--set", "model.kind=recurrent", "--set", "model.width=16", "--set", "model.layers=1"),
    *("--set", "train.max_steps=40", "--set", "train.batch_tokens=64", "--set", "train.learning_rate=0.02"),
    *("--set", "train.warmup=2"),
]


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    path = tmp_path / "tagged.tsv"
    path.write_text("the\tD\ncan\tN\n\nthey\tP\ncan\tV\n\n" * 10, encoding="utf-8")
    return path


def test_words_are_printed_with_their_labels(command, tagged: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    trained = command("train", "--task", "classify", "--data", tagged, "--labels-of", "token", "--out", out, *SMALL)
    assert trained.code == 0, trained.err
    result = command("classify", out, stdin="they can\n\nthe can\n")
    assert result.out == "they\tP\ncan\tV\n\n\nthe\tD\ncan\tN\n\n"
    [one] = [json.loads(line) for line in command("classify", out, "--json", stdin="the can\n").out.splitlines()]
    assert (one["words"], one["labels"]) == (["the", "can"], ["D", "N"])
    values = json.loads(command("evaluate", out, "--data", tagged, "--json").out)
    assert (values["accuracy"], sum(map(sum, values["confusion"]))) == (1.0, 40)
    table = command("evaluate", out, "--data", tagged).out
    assert table.splitlines()[0] == "accuracy 100.00 %  [100.00, 100.00]"
    assert table.endswith(
        "    D   N   P   V\nD  10   0   0   0\nN   0  10   0   0\nP   0   0  10   0\nV   0   0   0  10\n"
    )
    assert json.loads(command("info", out, "--json").out)["labels_of"] == "token"
    labelled = command("classify", out, "-i", tagged)
    assert (labelled.code, labelled.out) == (2, "")
    assert "lines all end in a tab and a label, such as 'D'; give the texts alone" in labelled.err
    other = tmp_path / "other.tsv"
    other.write_text("the\tD\nold\tJ\n", encoding="utf-8")
    assert (
        f"{other}:2: no such label as 'J'; the labels are D, N, P, V" in command("evaluate", out, "--data", other).err
    )


def test_a_line_that_is_not_utf8_is_left_empty_and_the_others_are_labelled(command, tmp_path: Path) -> None:
    data, texts, labels = (tmp_path / name for name in ("data.tsv", "texts", "labels"))
    data.write_text("fine\tgood\ndull\tbad\n" * 20, encoding="utf-8")
    texts.write_bytes(b"fine\n\xff\xfe\n\ndull\n")
    changes = ("--set", "text.kind=word", "--set", "model.kind=bag", "--set", "train.max_epochs=5")
    trained = command("train", "--task", "classify", "--data", data, "--out", tmp_path / "run", *changes)
    assert trained.code == 0, trained.err
    result = command("classify", tmp_path / "run", "-i", texts, "-o", labels)
    assert result.code == 2
    assert f"{texts}:2: not UTF-8" in result.err
    first, unreadable, empty, last, _ = labels.read_text(encoding="utf-8").split("\n")
    assert (first, unreadable, last) == ("good", "", "bad")
    assert empty in ("good", "bad")  # an empty text has a label, one that cannot be read has none
    labelled = command("classify", tmp_path / "run", "-i", data, "-o", tmp_path / "none")
    assert labelled.code == 2
    assert "regard evaluate DIR --data FILE" in labelled.err
    assert not list(tmp_path.glob("none*"))
    assert "that is what is read" in command("classify", tmp_path / "run", "-i", texts, "-o", texts).err
    assert "such as 'good'" in command("classify", tmp_path / "run", stdin="fine\tgood \r\ndull\tbad\r\n").err
    for fine in (
        "fine\tgood\ndull\tday\n",
        "fine\tgood\n",
        "fine\n" * 256 + "dull\tbad\n" * 2,
    ):  # tabs, but no labelled text
        assert command("classify", tmp_path / "run", stdin=fine).code == 0


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", ": no labelled texts in it; give a file that has some"),
        (b"a fine film\n", ":1: no label; each line must be text<TAB>label"),
        (b"fine\tgood\ndull\tbad\n", ": every text has a label that no other has, so none can be held out; add texts"),
        (
            b"fine\tgood\ndull\tgood\n",
            ": only one label, 'good', so there is nothing to tell apart; add texts of another",
        ),
        (b"fine\tgood\n\xff\xfe\tbad\n", ":2: not UTF-8"),
    ],
)
def test_texts_that_cannot_be_learned_from(command, content: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "data.tsv"
    path.write_bytes(content)
    result = command("train", "--task", "classify", "--data", path, "--out", tmp_path / "run")
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith(f"regard: {path}{complaint}")


def test_a_label_that_occurs_once_is_trained_on(command, tmp_path: Path) -> None:
    path, out = tmp_path / "data.tsv", tmp_path / "run"
    path.write_text("fine\tgood\ndull\tbad\n" * 10 + "odd\tstrange\n", encoding="utf-8")
    bag = ["--set", "model.kind=bag", "--set", "text.kind=word", "--set", "train.max_steps=2"]
    assert command("train", "--task", "classify", "--data", path, "--out", out, *bag).code == 0
    assert json.loads((out / "metrics.json").read_text(encoding="utf-8"))["labels"] == ["bad", "good", "strange"]
    [one] = [json.loads(line) for line in command("classify", out, "--json", stdin="zebra 日本\n").out.splitlines()]
    assert sum(one["probabilities"].values()) == pytest.approx(1.0, abs=1e-5)
