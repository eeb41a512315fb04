"""The report of a run: one HTML file that needs no network and no other file.

Turns a `Report` into the data of the page and puts it, with the page's own style and script from `page/`, into one
document. Computes nothing about a model: every number shown is one that was handed in. How things look is the
business of `page/`; the script there reads the data by the names given here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.explain.curves import Event, of_kind, samples_over_time, training_curves
from regard.explain.document import document, plain
from regard.explain.flow import gradient_flow
from regard.explain.records import Report
from regard.explain.sentence_page import SENTENCE_VIEWS, within_page
from regard.files import write_whole
from regard.settings import leaves

DATA_FORMAT = 1
MAP_CELLS = 10_000  # an alignment map of more is not readable on a page
# In the order of their imports: what a module uses comes before it.
SCRIPTS = (
    *("dom.js", "format.js", "tip.js", "masthead.js", "arrays.js", "matrix.js"),
    *("curves.js", "flow.js", "confusion.js"),
    *SENTENCE_VIEWS,
    *("overview.js", "learning.js", "reproduction.js", "report.js"),
)
QUALITY = ("bleu", "chrf", "exact_match", "perplexity", "perplexity_word", "bits_per_byte", "accuracy", "f1")


def read_events(path: Path) -> list[dict[str, Any]]:
    """The objects of a log.jsonl. A last line that was cut off in the middle of writing is left out."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(
            f"{path}: cannot read the log ({error.strerror}); name a run directory that holds one"
        ) from error
    events: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except ValueError as error:
            if number == len(lines):  # no newline follows: the writer was stopped here
                break
            raise DataError(f"{path}:{number}: not a JSON object; remove the line or restore the log") from error
        if not isinstance(event, dict):
            raise DataError(f"{path}:{number}: not a JSON object; remove the line or restore the log")
        events.append(event)
    return events


def write_report(report: Report, path: Path) -> None:
    """Write the page; whatever was there before is replaced as a whole."""
    write_whole(path, render(report))


def render(report: Report) -> str:
    """The whole page as one string that can be encoded as UTF-8."""
    return document(report.title, page_data(report), SCRIPTS)


def page_data(report: Report) -> dict[str, Any]:
    """The data of the page, of JSON's own types only. The script finds each part by its name here."""
    maps = [drawn for drawn in report.alignments if len(drawn.source_words) * len(drawn.target_words) <= MAP_CELLS]
    data = {
        "format": DATA_FORMAT,
        "title": report.title,
        "languages": {"source": report.source_language, "target": report.target_language},
        "created": report.created,
        "version": report.version,
        "status": run_status(report.events),
        "metrics": report.metrics,
        "cards": headline_cards(report),
        "curves": training_curves(report.events),
        "flow": gradient_flow(report.events),
        "validations": [
            {name: event.get(name) for name in ("step", "seconds", "loss", *reversed(QUALITY), "best")}
            for event in of_kind(report.events, "validated")
        ],
        "samples": samples_over_time(report.events),
        "confusion": _confusion(report.metrics),
        "worst": [asdict(sentence) for sentence in report.worst],
        "best": [asdict(sentence) for sentence in report.best],
        "alignments": [asdict(drawn) for drawn in maps],
        "alignments_left_out": len(report.alignments) - len(maps),
        "beam_tree": asdict(report.beam_tree) if report.beam_tree else None,
        "settings": [[name, setting_text(value)] for name, value in leaves(report.settings)],
        "signatures": report.metrics.get("signatures") or {},
        "reproduce": report.reproduce,
    }
    explanation = None if report.explanation is None else within_page(report.explanation)
    return {**plain(data), "explanation": plain(explanation, packed=True)}


def _confusion(metrics: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of a classifier: how often each label (a row) was taken for each (a column)."""
    labels, counts = metrics.get("labels"), metrics.get("confusion")
    return {"labels": labels, "counts": counts} if labels and counts else None


def run_status(events: Sequence[Event]) -> dict[str, Any]:
    """How far the run came and why it ended. `reason` is None while it runs or when it was killed."""
    steps = of_kind(events, "step")
    last = steps[-1] if steps else {}
    reason = None
    for event in events:  # a run that was interrupted and resumed has steps after "stopped"
        if event.get("event") in ("stopped", "step"):
            reason = event.get("reason")
    return {"steps": last.get("step"), "seconds": last.get("seconds"), "epoch": last.get("epoch"), "reason": reason}


def headline_cards(report: Report) -> list[dict[str, Any]]:
    """The numbers at the top. Without final metrics, those of the best validation stand in and say so."""
    metrics = report.metrics
    validations = of_kind(report.events, "validated")
    best = [event for event in validations if event.get("best") is True] or validations
    stand_in = best[-1] if best else {}
    steps = of_kind(report.events, "step")
    tokens = metrics.get("tokens") or sum(event.get("tokens") or 0 for event in steps)
    seconds = metrics.get("seconds") or (steps[-1].get("seconds") if steps else None)
    names = {"bleu": "BLEU", "chrf": "chrF", "exact_match": "Exact match", "perplexity": "Perplexity"}
    names |= {"perplexity_word": "Perplexity per word", "bits_per_byte": "Bits per byte"}
    names |= {"accuracy": "Accuracy", "f1": "F1"}
    kinds = {"exact_match": "percent", "accuracy": "percent", "f1": "ratio"}
    parameters, count = metrics.get("parameters"), metrics.get("steps") or (steps[-1]["step"] if steps else 0)
    cards = []
    for key, label in names.items():
        final = metrics.get(key) is not None
        value = metrics.get(key) if final else stand_in.get(key)
        where = f"{metrics.get('set', 'evaluated')} set" if final else f"validation, step {stand_in.get('step')}"
        cards.append({"key": key, "label": label, "value": value, "kind": kinds.get(key, "score"), "note": where})
    cards += [
        {
            "key": "aer",
            "label": "Alignment error",
            "value": metrics.get("aer"),
            "kind": "ratio",
            "note": "0 is perfect",
        },
        {
            "key": "parameters",
            "label": "Parameters",
            "value": parameters,
            "kind": "count",
            "note": f"{parameters or 0:,}",
        },
        {"key": "seconds", "label": "Training time", "value": seconds, "kind": "duration", "note": f"{count:,} steps"},
        {
            "key": "tokens_per_second",
            "label": "Tokens per second",
            "value": tokens / seconds if tokens and seconds else None,
            "kind": "count",
            "note": "target side",
        },
    ]
    return [card for card in cards if plain(card["value"]) is not None]


def setting_text(value: Any) -> str:
    """A setting as its TOML file would spell it; what is not set is a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value)
