"""Scores of predicted labels: accuracy, F1 and the confusion matrix. It knows no model."""

from collections.abc import Sequence
from typing import Any

from regard.errors import DataError
from regard.metrics.scores import added_scores


def evaluate_labels(predicted: Sequence[str], expected: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    """Scores by name: accuracy, macro F1, scores of extensions, scores by label, and confusion[expected][predicted].

    F1 is averaged over the labels that are expected or predicted.
    """
    if not expected or len(predicted) != len(expected):
        raise DataError(
            f"{len(predicted)} labels found for {len(expected)} texts: there must be one for each, and at least one"
        )
    columns = {label: column for column, label in enumerate(labels)}
    confusion = [[0] * len(labels) for _ in labels]
    for label, right in zip(predicted, expected, strict=True):
        confusion[columns[right]][columns[label]] += 1
    by_label = {label: _label_scores(confusion, column) for label, column in columns.items()}
    occurring = [scores["f1"] for scores in by_label.values() if scores["texts"] or scores["found"]]
    return {
        "accuracy": sum(label == right for label, right in zip(predicted, expected, strict=True)) / len(expected),
        "f1": sum(occurring) / len(occurring),
        **added_scores("labels", predicted, expected),
        "by_label": by_label,
        "confusion": confusion,
    }


def _label_scores(confusion: Sequence[Sequence[int]], column: int) -> dict[str, float]:
    """Precision, recall and F1 of one label; 0 where the denominator is 0."""
    right = confusion[column][column]
    texts, predicted = sum(confusion[column]), sum(row[column] for row in confusion)
    precision, recall = right / predicted if predicted else 0.0, right / texts if texts else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"precision": precision, "recall": recall, "f1": f1, "texts": texts, "found": predicted}
