"""How well labels were told: accuracy, F1, and what was taken for what. From plain lists; it knows no model."""

from collections.abc import Sequence
from typing import Any

from regard.errors import DataError


def evaluate_labels(found: Sequence[str], expected: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    """accuracy; f1, the mean of the labels' own, of those that occur or were found; by label; confusion[expected][found]."""
    if not expected or len(found) != len(expected):
        raise DataError(
            f"{len(found)} labels found for {len(expected)} texts: there must be one for each, and at least one"
        )
    places = {label: place for place, label in enumerate(labels)}
    confusion = [[0] * len(labels) for _ in labels]
    for said, right in zip(found, expected, strict=True):
        confusion[places[right]][places[said]] += 1
    by_label = {label: _of_label(confusion, place) for label, place in places.items()}
    occurring = [scores["f1"] for scores in by_label.values() if scores["texts"] or scores["found"]]
    return {
        "accuracy": sum(said == right for said, right in zip(found, expected, strict=True)) / len(expected),
        "f1": sum(occurring) / len(occurring),
        "by_label": by_label,
        "confusion": confusion,
    }


def _of_label(confusion: Sequence[Sequence[int]], place: int) -> dict[str, float]:
    """precision, recall and their harmonic mean; 0 where there is nothing to divide by."""
    right = confusion[place][place]
    texts, found = sum(confusion[place]), sum(row[place] for row in confusion)
    precision, recall = right / found if found else 0.0, right / texts if texts else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"precision": precision, "recall": recall, "f1": f1, "texts": texts, "found": found}
