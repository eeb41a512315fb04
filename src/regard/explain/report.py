"""Renders a `Report` as one self-contained HTML file.

`page_data` converts the report to the JSON that the scripts of `page/` read by name. Names and units of scores are part of the data.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.explain.curves import Event, events_of_kind, logged_scores, samples_over_time, training_curves
from regard.explain.document import document, to_json_types
from regard.explain.flow import gradient_flow
from regard.explain.records import Report
from regard.explain.sentence_page import SENTENCE_VIEWS, limit_computation
from regard.files import write_whole
from regard.metrics.scores import METRICS
from regard.settings import leaves
from regard.tasks.forgetting import forgetting_line
from regard.tasks.table import TASKS, training_unit

DATA_FORMAT = 1
MAP_CELLS = 10_000  # larger alignment maps are unreadable on a page
# In the order of their imports: a module comes after those that it uses.
SCRIPTS = (
    *("dom.js", "format.js", "tip.js", "masthead.js", "arrays.js", "matrix.js"),
    *("curves.js", "flow.js", "confusion.js", "transitions.js", "maps.js", "thumbnails.js", "wordmaps.js"),
    "forecasts.js",
    *SENTENCE_VIEWS,
    *("overview.js", "learning.js", "reproduction.js", "report.js"),
)


def write_report(report: Report, path: Path) -> None:
    """Write the page. An existing file is replaced atomically."""
    write_whole(path, render(report))


def render(report: Report) -> str:
    """The whole page as a string that can be encoded as UTF-8."""
    return document(report.title, page_data(report), SCRIPTS)


def page_data(report: Report) -> dict[str, Any]:
    """The data of the page, in JSON types. The scripts read each part by its key."""
    logged = logged_scores(report.events)
    maps = [
        alignment
        for alignment in report.alignments
        if len(alignment.source_words) * len(alignment.target_words) <= MAP_CELLS
    ]
    data = {
        "format": DATA_FORMAT,
        "title": report.title,
        "languages": {"source": report.source_language, "target": report.target_language},
        "created": report.created,
        "version": report.version,
        "status": run_status(report.events),
        "unit": _unit(str(report.settings.get("task", "translate"))),
        "metrics": report.metrics,
        "scores": score_labels([*logged, *report.metrics]),
        "highlights": highlights(report.metrics),
        "cards": headline_cards(report),
        "curves": training_curves(report.events),
        "flow": gradient_flow(report.events),
        "logged_scores": logged,
        "validations": [
            {name: event.get(name) for name in ("step", "seconds", "loss", *logged, "best")}
            for event in events_of_kind(report.events, "validated")
        ],
        "samples": samples_over_time(report.events),
        "confusion": _confusion(report.metrics),
        "worst": [asdict(sentence) for sentence in report.worst],
        "best": [asdict(sentence) for sentence in report.best],
        "alignments": [asdict(alignment) for alignment in maps],
        "alignments_left_out": len(report.alignments) - len(maps),
        "beam_tree": asdict(report.beam_tree) if report.beam_tree else None,
        "transitions": asdict(report.transitions) if report.transitions else None,
        "forecasts": asdict(report.forecasts) if report.forecasts else None,
        "settings": [[name, setting_text(value)] for name, value in leaves(report.settings)],
        "signatures": report.metrics.get("signatures") or {},
        "reproduce": report.reproduce,
    }
    pictures = to_json_types(report.pictures, packed=True, cut=False)
    explanation = None if report.explanation is None else limit_computation(report.explanation)
    return {
        **to_json_types(data),
        "explanation": to_json_types(explanation, packed=True),
        "pictures": pictures,
        "captioned": to_json_types(report.captioned, packed=True, cut=False),
    }


def score_labels(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The labels and units of the scores among these names."""
    return {
        name: {
            "heading": row.heading,
            "label": row.card_label,
            "column": row.table_heading,
            "unit": row.unit,
            "digits": row.digits,
            "better": row.better,
            "highest": None if row.highest is None else row.scale * row.highest,
            "note": row.card_note,
        }
        for name, row in METRICS.items()
        if name in names
    }


def _unit(task: str) -> str:
    """The unit in which a run counts what it learns from, in words."""
    unit = training_unit(task) if task in TASKS else "tokens"
    return "target tokens" if unit == "tokens" else unit


def highlights(metrics: Mapping[str, Any]) -> list[str]:
    """Sentences about scores that are a share of the sentences, such as "9 of 10 .. are translated word for word ..", and notes."""
    sentences = [f"{note[:1].upper()}{note[1:]}." for note in metrics.get("notes", ())]
    sentences += _by_direction(metrics)
    for name, row in METRICS.items():
        share, size = metrics.get(name), metrics.get("sentences")
        if row.share_of and isinstance(share, int | float) and size:
            right = math.floor(share * size + 0.5)
            judged = "held-out test" if metrics.get("set") == "test" else metrics.get("set") or "evaluated"
            sentences.append(f"{right:,} of {size:,} {judged} sentences are {row.share_of}.")
    if (record := metrics.get("forgetting")) is not None:
        line = forgetting_line(record)
        sentences.append(f"{line[:1].upper()}{line[1:]}.")
    return sentences


def _by_direction(metrics: Mapping[str, Any]) -> list[str]:
    """A sentence about each direction of a model of several; the other scores of the page are their means."""
    several = metrics.get("directions")
    if not isinstance(several, dict) or not several:
        return []
    parts = []
    for direction, own in several.items():
        scores = [
            f"{METRICS[name].heading} {METRICS[name].number(own[name])}"
            for name in ("bleu", "chrf")
            if isinstance(own, dict) and isinstance(own.get(name), int | float)
        ]
        parts.append(f"{direction}: {', '.join(scores)}")
    return [f"The scores are the means of {len(parts)} directions. {'; '.join(parts)}."]


def _confusion(metrics: Mapping[str, Any]) -> dict[str, Any] | None:
    """The confusion matrix of a classifier: true labels in rows, predicted labels in columns; None if there is none."""
    labels, counts = metrics.get("labels"), metrics.get("confusion")
    return {"labels": labels, "counts": counts} if labels and counts else None


def run_status(events: Sequence[Event]) -> dict[str, Any]:
    """The last step of the run, and why it ended. `reason` is None while it runs or when it was killed."""
    steps = events_of_kind(events, "step")
    last = steps[-1] if steps else {}
    reason = None
    for event in events:  # a run that was interrupted and resumed has steps after "stopped"
        if event.get("event") in ("stopped", "step"):
            reason = event.get("reason")
    return {"steps": last.get("step"), "seconds": last.get("seconds"), "epoch": last.get("epoch"), "reason": reason}


def headline_cards(report: Report) -> list[dict[str, Any]]:
    """The numbers at the top of the page. Without final metrics they are those of the best validation, and are labelled so."""
    metrics = report.metrics
    validations = events_of_kind(report.events, "validated")
    best = [event for event in validations if event.get("best") is True] or validations
    validation = best[-1] if best else {}
    steps = events_of_kind(report.events, "step")
    tokens = metrics.get("tokens") or sum(event.get("tokens") or 0 for event in steps)
    seconds = metrics.get("seconds") or (steps[-1].get("seconds") if steps else None)
    parameters, count = metrics.get("parameters"), metrics.get("steps") or (steps[-1]["step"] if steps else 0)
    task = str(report.settings.get("task", "translate"))
    unit = training_unit(task) if task in TASKS else "tokens"
    cards: list[dict[str, Any]] = []
    for key, row in METRICS.items():
        if row.card is None:
            continue
        final = metrics.get(key) is not None
        value = metrics.get(key) if final else validation.get(key)
        where = f"{metrics.get('set', 'evaluated')} set" if final else f"validation, step {validation.get('step')}"
        note, chance = row.card_note or where, metrics.get(f"{key}_chance")
        note = note if chance is None else f"{note}; by chance {100 * chance:.1f} %"
        cards.append({"key": key, "label": row.card_label, "value": value, "kind": row.card_kind, "note": note})
    cards += [
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
            "label": f"{unit.capitalize()} per second",
            "value": tokens / seconds if tokens and seconds else None,
            "kind": "count",
            "note": "target side" if unit == "tokens" else "learned",
        },
    ]
    return [card for card in cards if to_json_types(card["value"]) is not None]


def setting_text(value: Any) -> str:
    """The value of a setting as in TOML; a dash if it is not set."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value)
