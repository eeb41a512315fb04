"""The end of a run: on the fast engine where there is one, and the same without it."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.bundle import ctranslate2 as conversion
from regard.engine.ct2 import Ct2Search
from regard.tasks.load import load_translator
from training.runs import run, small_settings

SAME = ("bleu", "chrf", "ter", "exact_match", "perplexity", "sentences", "beam")


def results(out: Path) -> tuple[dict[str, Any], list[str]]:
    """The scores that do not depend on time, and the translations."""
    metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    rows = (out / "translations.jsonl").read_text(encoding="utf-8").splitlines()
    return {name: metrics[name] for name in SAME}, [json.loads(row)["hypothesis"] for row in rows]


def test_a_run_ends_with_the_fast_engine_and_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = small_settings(tmp_path)
    searched: list[int] = []
    search = Ct2Search.search

    def spy(self: Ct2Search, sources: Any, *arguments: Any) -> Any:
        searched.append(len(sources))
        return search(self, sources, *arguments)

    monkeypatch.setattr(Ct2Search, "search", spy)
    run(settings, tmp_path / "fast")
    scores, hypotheses = results(tmp_path / "fast")
    assert searched == [scores["sentences"]]  # validations are on torch, with the network that is being trained
    sources = [
        json.loads(row)["source"]
        for row in (tmp_path / "fast/translations.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    torch = load_translator(tmp_path / "fast", engine="torch").translate(sources, beam=5)
    assert hypotheses == [translation.text for translation in torch]
    monkeypatch.setattr(conversion, "find_spec", lambda name: None)  # ctranslate2 is not installed
    run(settings, tmp_path / "slow")
    assert searched == [scores["sentences"]]
    slow_scores, slow_hypotheses = results(tmp_path / "slow")
    assert slow_hypotheses == hypotheses
    assert slow_scores == pytest.approx(scores)


def test_a_run_ends_where_the_model_cannot_be_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is no directory: a warning, and torch instead."""
    settings = small_settings(tmp_path)
    run(settings, tmp_path / "first")  # prepares the corpus
    from regard.errors import DiskError

    def refused(*_: object) -> Path:
        raise DiskError("no space left")

    monkeypatch.setattr("regard.engine.ct2_model.converted", refused)
    with pytest.warns(UserWarning, match="no space left; translating with torch"):
        run(settings, tmp_path / "run")
    (scores, hypotheses), (expected, expected_hypotheses) = (results(tmp_path / name) for name in ("run", "first"))
    assert hypotheses == expected_hypotheses
    assert scores == pytest.approx(expected)
