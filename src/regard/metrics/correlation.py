"""Rank correlation of two lists of numbers."""

import math
from collections.abc import Sequence


def kendall(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Kendall's tau-b (1945): concordant minus discordant pairs, normalised without ties.

    None if a list has fewer than two different values.
    """
    concordant = discordant = ties_left = ties_right = 0
    for first in range(len(left)):
        for second in range(first):
            left_step, right_step = left[first] - left[second], right[first] - right[second]
            ties_left += left_step == 0.0
            ties_right += right_step == 0.0
            concordant += left_step * right_step > 0.0
            discordant += left_step * right_step < 0.0
    pairs = len(left) * (len(left) - 1) // 2
    norm = math.sqrt((pairs - ties_left) * (pairs - ties_right))
    return (concordant - discordant) / norm if norm else None


def spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Spearman's rho (1904): Pearson's correlation of the ranks. Equal values share their mean rank.

    None if a list has fewer than two different values.
    """
    left_ranks, right_ranks = _centred(_ranks(left)), _centred(_ranks(right))
    norm = math.sqrt(sum(a * a for a in left_ranks) * sum(b * b for b in right_ranks))
    return sum(a * b for a, b in zip(left_ranks, right_ranks, strict=True)) / norm if norm else None


def _ranks(values: Sequence[float]) -> list[float]:
    return [sum(each < value for each in values) + (sum(each == value for each in values) - 1) / 2 for value in values]


def _centred(values: Sequence[float]) -> list[float]:
    mean = sum(values) / max(1, len(values))
    return [value - mean for value in values]
