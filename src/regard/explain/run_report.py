"""The report of a run, from what lies in its directory: so it can be made at any time, of a finished run or of one under way."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regard.engine.load import load
from regard.engine.model import Model
from regard.errors import BundleError
from regard.explain.beam_tree import beam_tree
from regard.explain.explain import Part, explain
from regard.explain.explanation import Explanation
from regard.explain.records import AlignmentMap, Report, SearchTree, SentenceResult
from regard.explain.report import read_events, write_report
from regard.metrics.alignment import parse_pharaoh
from regard.metrics.translation import sentence_chrf

SHOWN_SENTENCES = 12
SHOWN_MAPS = 8
TREE_BEAM = 3
EXPLAINED: tuple[Part, ...] = ("computation",)
MAP_WORDS = (4, 24)  # maps of sentences that show something and still fit a screen


def write_run_report(run: Path) -> Path:
    """Write `report.html` into the run and return its path."""
    if not (run / "log.jsonl").exists():
        raise BundleError(f"{run}: no log.jsonl, so not the directory of a run; give what was --out of `regard train`")
    events = read_events(run / "log.jsonl")
    settings = _json(run / "config.json")
    metrics = _json(run / "metrics.json")
    rows = _rows(run / "translations.jsonl")
    loaded = load(run, engine="torch") if (run / "latest").exists() else None  # None: not even a first checkpoint yet
    bundle = None if loaded is None else loaded.bundle
    model = loaded if isinstance(loaded, Model) else None  # None too: it does not translate
    results = [_result(row) for row in rows]
    ranked = sorted(results, key=lambda result: result.chrf)
    report = Report(
        title=run.resolve().name,
        source_language=None if bundle is None else bundle.config.languages.source,
        target_language=None if bundle is None else bundle.config.languages.target,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version="" if bundle is None else bundle.config.regard,
        reproduce=_command(run),
        settings=settings,
        events=events,
        metrics=metrics,
        worst=ranked[:SHOWN_SENTENCES],
        best=ranked[::-1][: SHOWN_SENTENCES // 2],
        alignments=[] if model is None else _maps(model, rows or _samples(events)),
        beam_tree=None if model is None else _tree(model, rows or _samples(events)),
        explanation=None if model is None else _explained(model, rows or _samples(events)),
    )
    path = run / "report.html"
    write_report(report, path)
    return path


def _result(row: dict[str, Any]) -> SentenceResult:
    source, reference, hypothesis = row["source"], row["reference"], row["hypothesis"]
    return SentenceResult(source, reference, hypothesis, row["score"], sentence_chrf(hypothesis, reference))


def _maps(model: Model, rows: list[dict[str, Any]]) -> list[AlignmentMap]:
    """Maps of a few sentences of different lengths, the longer first; the reference is what the gold links speak of.

    Of a model that does not look at the source there are none.
    """
    if model.bundle is not None and not model.bundle.config.aligns:
        return []
    fitting = [row for row in rows if MAP_WORDS[0] <= len(row["source"].split()) <= MAP_WORDS[1]] or rows
    by_length = sorted(fitting, key=lambda row: -len(row["source"].split()))
    chosen = by_length[:: max(1, len(by_length) // SHOWN_MAPS)][:SHOWN_MAPS]
    alignments = model.align([row["source"] for row in chosen], [row["reference"] for row in chosen])
    return [
        AlignmentMap(
            source_words=alignment.source_words,
            target_words=alignment.target_words,
            weights=alignment.weights.tolist(),
            links=alignment.links,
            gold=sorted(parse_pharaoh(row["gold"])[1]) if "gold" in row else None,
        )
        for row, alignment in zip(chosen, alignments, strict=True)
        if alignment.source_words and alignment.target_words
    ]


def _tree(model: Model, rows: list[dict[str, Any]]) -> SearchTree | None:
    """The search for a sentence of middling length."""
    sentence = _middling(rows)
    return None if sentence is None else beam_tree(model, sentence, beam=TREE_BEAM)[1]


def _explained(model: Model, rows: list[dict[str, Any]]) -> Explanation | None:
    """Every head on the same sentence."""
    sentence = _middling(rows)
    return None if sentence is None else explain(model, sentence, parts=EXPLAINED)


def _middling(rows: list[dict[str, Any]]) -> str | None:
    """A sentence that shows something and still fits a screen."""
    fitting = [row["source"] for row in rows if 5 <= len(row["source"].split()) <= 9]
    return fitting[0] if fitting else None


def _samples(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The validation samples of a run that is not finished."""
    for event in reversed(events):
        if event.get("event") == "validated":
            samples: list[dict[str, Any]] = event["samples"]
            return samples
    return []


def _command(run: Path) -> str:
    """The command that makes this run again."""
    shown = str(run) if re.fullmatch(r"[\w./-]+", str(run)) else repr(str(run))
    return f"regard train {shown}/config.json --out {shown}-again"


def _json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
