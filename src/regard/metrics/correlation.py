"""Rank correlation: whether two rows of numbers put things in the same order. From plain lists."""

import math
from collections.abc import Sequence


def kendall(ones: Sequence[float], others: Sequence[float]) -> float | None:
    """tau-b (Kendall 1945): pairs in the same order minus pairs in the opposite one, ties left out of both norms.

    None where a row has fewer than two different values, and so no order.
    """
    agreeing = opposed = tied_ones = tied_others = 0
    for first in range(len(ones)):
        for second in range(first):
            one, other = ones[first] - ones[second], others[first] - others[second]
            tied_ones += one == 0.0
            tied_others += other == 0.0
            agreeing += one * other > 0.0
            opposed += one * other < 0.0
    pairs = len(ones) * (len(ones) - 1) // 2
    norm = math.sqrt((pairs - tied_ones) * (pairs - tied_others))
    return (agreeing - opposed) / norm if norm else None


def spearman(ones: Sequence[float], others: Sequence[float]) -> float | None:
    """Pearson's correlation of the ranks (Spearman 1904), of equals the mean rank. None where a row has no order."""
    left, right = _centred(_ranks(ones)), _centred(_ranks(others))
    norm = math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))
    return sum(a * b for a, b in zip(left, right, strict=True)) / norm if norm else None


def _ranks(values: Sequence[float]) -> list[float]:
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2 for value in values
    ]


def _centred(values: Sequence[float]) -> list[float]:
    mean = sum(values) / max(1, len(values))
    return [value - mean for value in values]
