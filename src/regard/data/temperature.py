"""Balances the directions of a model by temperature (Arivazhagan et al. 2019): small ones are seen more often, large ones less.

Direction l has n_l pairs in an epoch, each corpus counted by its weight. Its share becomes

    p_l = n_l^(1/T) / sum over k of n_k^(1/T)

of an epoch, which keeps its length, the sum of all n. T = 1 changes nothing, and a large T gives all directions the same share. The
weight of each corpus of a direction is multiplied by p_l / (n_l / sum of n). It sees numbers only.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

from regard.data.corpus_config import Direction
from regard.data.mixing import CorpusPart


def pairs_of_directions(parts: Sequence[CorpusPart]) -> dict[Direction, float]:
    """The pairs of each direction in an epoch, by the weights of its corpora; empty where there is one direction."""
    pairs: dict[Direction, float] = {}
    for part in parts:
        if part.direction is not None:
            pairs[part.direction] = pairs.get(part.direction, 0.0) + part.weight * part.examples
    return pairs


def shares(pairs: Sequence[float], temperature: float) -> list[float]:
    """The share of each direction in an epoch, from its number of pairs."""
    largest = log(max(pairs))  # all powers are those of ratios, which do not overflow at a small temperature
    scaled = [exp((log(count) - largest) / temperature) for count in pairs]
    return [value / sum(scaled) for value in scaled]


def balanced(parts: Sequence[CorpusPart], temperature: float) -> tuple[CorpusPart, ...]:
    """The parts with the weights that give each direction its share."""
    pairs = pairs_of_directions(parts)
    if temperature == 1.0 or len(pairs) < 2:
        return tuple(parts)
    total = sum(pairs.values())
    wanted = dict(zip(pairs, shares(list(pairs.values()), temperature), strict=True))
    factors = {direction: wanted[direction] * total / pairs[direction] for direction in pairs}
    return tuple(
        part if part.direction is None else replace(part, weight=part.weight * factors[part.direction])
        for part in parts
    )
