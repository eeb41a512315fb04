"""Evaluates a translator in each of its directions, for the end of training: scores of each, and their mean."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from regard.data.corpus_config import direction_name
from regard.tasks.translate.evaluate import TranslateTest, evaluate_translator
from regard.tasks.translate.translator import Translator
from regard.training.objective import Evaluation

Item = TypeVar("Item")

SUMS = ("sentences", "decoding_seconds")
"""The numbers that are added up over directions; the mean of all others is the model's."""


def evaluate_directions(translator: Translator, test: TranslateTest) -> Evaluation:
    """The mean of all directions' scores; `directions` has those of each, and each row names its direction."""
    assert test.directions is not None, "the caller looks"
    found: dict[str, dict[str, Any]] = {}
    rows: dict[int, dict[str, Any]] = {}
    for source, target in dict.fromkeys(test.directions):
        places = [place for place, own in enumerate(test.directions) if own == (source, target)]
        evaluation = evaluate_translator(translator, _part(test, places, to=target, from_=source))
        name = direction_name((source, target))
        found[name] = evaluation.metrics
        rows.update(zip(places, ({**row, "direction": name} for row in evaluation.rows), strict=True))
    metrics = _joined(list(found.values()))
    metrics["directions"] = {
        name: {key: value for key, value in own.items() if isinstance(value, float | int)}
        for name, own in found.items()
    }
    return Evaluation(metrics, [rows[place] for place in range(len(rows))])


def _part(test: TranslateTest, places: Sequence[int], *, to: str, from_: str) -> TranslateTest:
    """The pairs of one direction."""

    def taken(column: Sequence[Item]) -> list[Item]:
        return [column[place] for place in places]

    return replace(
        test,
        sources=taken(test.sources),
        references=taken(test.references),
        gold=None if test.gold is None else taken(test.gold),
        more_references=[taken(column) for column in test.more_references],
        directions=None,
        to=to,
        from_=from_,
    )


def _joined(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The metrics of a model, from those of its directions. What is no number is that of the first."""
    joined: dict[str, Any] = {}
    for name, first in each[0].items():
        values = [own[name] for own in each if isinstance(own.get(name), int | float)]
        is_number = isinstance(first, int | float) and not isinstance(first, bool) and len(values) == len(each)
        if not is_number or name in ("beam", "alpha"):
            joined[name] = first
        else:
            joined[name] = sum(values) if name in SUMS else sum(values) / len(values)
    return joined
