"""The transition matrix of a report is that of the lectures."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.explain import transitions
from regard.explain.records import Transitions
from regard.tasks.load import load_writer
from training.runs import run

SHOW = [f"Show me my {what} please" for what in ("directories", "files", "photos")]
LOG = [
    "check the program log and find out whether it ran please",
    "check the battery log and find out whether it ran down please",
]


def matrix(home: Path, lines: list[str], documents: str = "line", **model: Any) -> Transitions:
    (home / "text.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    values = {
        "task": "generate",
        "data": {"text": str(home / "text.txt"), "valid_text": str(home / "text.txt"), "documents": documents},
        "text": {"kind": "word"},
        "model": {"kind": "markov", "smoothing": "none", **model},
    }
    run(values, home / "run")
    writer: Any = load_writer(home / "run")
    return transitions.transition_matrix(writer.network, writer.tokenizer)


def followers(found: Transitions) -> dict[str, dict[str, float]]:
    rows = zip(found.contexts, found.probabilities, strict=True)
    return {name: {token: round(p, 6) for token, p in zip(found.tokens, row, strict=True) if p} for name, row in rows}


def test_the_lectures_first_order_matrix(tmp_path: Path) -> None:
    found = matrix(tmp_path, SHOW, order=1)
    words = ["directories", "files", "me", "my", "photos", "please", "Show"]
    assert list(found.tokens) == [*words, "⟨end⟩"]
    assert list(found.contexts) == [*words, "⟨start⟩"]
    third = round(1 / 3, 6)
    assert followers(found) == {
        "directories": {"please": 1.0},
        "files": {"please": 1.0},
        "me": {"my": 1.0},
        "my": {"directories": third, "files": third, "photos": third},
        "photos": {"please": 1.0},
        "please": {"⟨end⟩": 1.0},
        "Show": {"me": 1.0},
        "⟨start⟩": {"Show": 1.0},
    }
    assert (found.all_contexts, found.all_tokens) == (8, 8)


@pytest.mark.parametrize("smoothing", ["none", "kneser_ney"])
def test_one_running_text_does_not_end(tmp_path: Path, smoothing: str) -> None:
    found = matrix(tmp_path, SHOW, "file", order=1, smoothing=smoothing)
    assert list(found.tokens) == ["directories", "files", "me", "my", "photos", "please", "Show", "⏎"]
    assert found.all_tokens == 8


def test_rows_of_the_second_order_are_pairs(tmp_path: Path) -> None:
    found = followers(matrix(tmp_path, SHOW, order=2))
    assert found["me my"].keys() == {"directories", "files", "photos"}
    assert found["⟨start⟩ Show"] == {"me": 1.0}
    assert found["photos please"] == {"⟨end⟩": 1.0}
    assert len(found) == 9


def test_masked_pairs_are_told_from_those_that_vote(tmp_path: Path) -> None:
    found = matrix(tmp_path, LOG, order=2, skips=10, mask=0.0)
    rows = followers(found)
    assert rows["battery … ran"] == {"down": 1.0}
    assert rows["program … ran"] == {"please": 1.0}
    voting = [name for name, masked in zip(found.contexts, found.masked, strict=True) if not masked]
    assert voting == ["battery … ran", "program … ran"]
    assert found.all_contexts > len(found.contexts) == transitions.MOST_ROWS


@pytest.mark.parametrize("documents", ["line", "file"])
def test_tokens_are_as_frequent_as_in_the_text(tmp_path: Path, documents: str) -> None:
    lines = ["a b b", "b a", "c b a b", "a"]
    matrix(tmp_path, lines, documents, order=1)
    writer: Any = load_writer(tmp_path / "run")
    found, vocabulary = transitions.token_frequencies(writer.network), writer.tokenizer.vocabulary
    starts = len(lines) if documents == "line" else 0  # a start stands for each end; one running text has line ends
    total, near = 10 + len(lines), 0.02 if starts else 0.06  # the first line of one running text follows no line end
    expected = {"▁a": 4, "▁b": 5, "▁c": 1, "<0x0A>": len(lines) - starts, "<pad>": starts}
    for piece, count in expected.items():
        assert float(found[vocabulary.id_of(piece)]) == pytest.approx(count / total, abs=near), piece
    assert float(found.sum()) == pytest.approx(1.0)


@pytest.mark.parametrize("smoothing", ["none", "kneser_ney"])
def test_of_a_large_matrix_the_most_frequent_part_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smoothing: str
) -> None:
    lines = [" ".join(f"w{n * k % 97}" for k in range(1, 30)) for n in range(60)] + ["often often often"] * 40
    monkeypatch.setattr(transitions, "RANKED", 100)
    found = matrix(tmp_path, lines, order=3, smoothing=smoothing)
    assert (len(found.contexts), len(found.tokens)) == (transitions.MOST_ROWS, transitions.MOST_COLUMNS)
    words = len({word for line in lines for word in line.split()})
    assert (found.all_contexts, found.all_tokens) == (words + 1, words + 1)  # and the start; and the end
    assert "often" in found.contexts
    assert "often" in found.tokens


def test_the_report_of_a_run_holds_it(tmp_path: Path) -> None:
    from regard.explain.run_report import write_run_report

    found = matrix(tmp_path, SHOW, order=1)
    page = write_run_report(tmp_path / "run").read_text(encoding="utf-8")
    [data] = [line for line in page.split("<script") if 'id="data"' in line]
    held = json.loads(data.split(">", 1)[1].split("</script>")[0])["transitions"]
    assert held["contexts"] == list(found.contexts)
    assert held["probabilities"] == [list(row) for row in found.probabilities]
