"""The stage `text`: what is held out and what is a repetition, however it is spelled, and which of the run's text is its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.data.directed_inputs import TrainingCorpus
from regard.data.inputs import Inputs
from regard.data.readers import Pair
from regard.tasks.improve import texts
from regard.tasks.improve.base_run import BaseRun
from regard.tasks.improve.texts import Monolingual, read_lines, read_sides, write_texts
from regard.tasks.translate.settings import TranslateSettings

BASE = BaseRun(Path("run"), TranslateSettings.parse({}), ("fr", "en"), "", 1, 1.0, 1, 0.0)


def corpus(name: str, pairs: list[Pair], **more: Any) -> TrainingCorpus:
    def read() -> Iterator[Pair]:
        return iter(pairs)

    return TrainingCorpus(name, read, **more)


@pytest.fixture
def run_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes every run one of these corpora, validated on these pairs, which are split off from the training text."""

    def of(corpora: list[TrainingCorpus], valid: list[Pair], tests: list[Pair]) -> None:
        inputs = Inputs(tuple(corpora), "valid", None, {}, tests)
        monkeypatch.setattr(texts, "inputs_of", lambda data: inputs)
        sides = [pair[0] for pair in valid], [pair[1] for pair in valid], None
        monkeypatch.setattr(texts, "validation_pairs", lambda run: sides)

    return of


def test_spaces_and_unicode_forms_make_no_other_sentence(run_of: Any, tmp_path: Path) -> None:
    own = [("un ", " one"), ("deux", "caf\u00e9  two"), (" v", "valid  ")]
    run_of([corpus("a", own)], [("v", "valid")], [("t", "\tthe  test ")])
    mono = Monolingual((), ("one", "cafe\u0301 two", "valid", "the test", "o ther", "new", " new"))
    summary = write_texts(tmp_path / "text", BASE, mono, own=True, other=[("x", " o  ther")])
    assert summary["other_text"]["tgt"] == {"read": 7, "held_out": 3, "repeated": 3, "kept": 1}
    assert read_lines(tmp_path / "text/read.tgt") == [" one", "caf\u00e9  two", "new"]
    assert read_sides(*(tmp_path / f"text/train.{side}" for side in ("src", "tgt"))) == own[:2]


def test_replayed_text_is_not_the_runs_own(run_of: Any, tmp_path: Path) -> None:
    corpora = [corpus("a", [("un", "one")]), corpus("old", [("x", "y")], share=0.1)]
    run_of([corpora[0], corpus("b", [("deux", "two")], weight=3.0), corpora[1]], [], [])
    summary = write_texts(tmp_path / "text", BASE, Monolingual(), own=True)
    assert summary["corpora"] == [
        {"name": "train", "pairs": 1, "weight": 1.0},
        {"name": "train-2", "pairs": 1, "weight": 3.0},
    ]
    assert read_lines(tmp_path / "text/read.src") == ["un", "deux"]


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("un\rdeux\u2028trois\nquatre\r\n".encode())
    assert read_lines(tmp_path / "a") == ["un\rdeux\u2028trois", "quatre\r"]
    assert read_sides(tmp_path / "a", tmp_path / "a")[1] == ("quatre\r", "quatre\r")
