"""Mixes several training corpora by weight: which examples an epoch has, and where each of them comes from.

A weight is the number of times that each pair of a corpus is seen in an epoch. The whole part of a weight repeats the
corpus; the fraction takes a share of it, and the shares of successive epochs follow each other through the corpus in one
random order. So after every n epochs all pairs of a corpus have been seen equally often, give or take one.

The examples are a pure function of the corpora, the seed and the epoch. It sees numbers, never ids or text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """The part of an encoded corpus that comes from one of the training corpora."""

    name: str
    weight: float
    lines: int  # input lines, held-out and skipped ones included
    examples: int  # encoded examples
    direction: tuple[str, str] | None = None  # source and target language, where there are several


def corpus_parts(
    names: Sequence[str], weights: Sequence[float], lines: Sequence[int], example_lines: NDArray[np.int64]
) -> tuple[CorpusPart, ...]:
    """The parts of a corpus. `lines`: of each part; `example_lines`: [N] ascending, counted from 1 through all parts."""
    ends = [0, *np.searchsorted(example_lines, list(accumulate(lines)), side="right").tolist()]
    examples = [end - start for start, end in pairwise(ends)]
    return tuple(map(CorpusPart, names, weights, lines, examples))


def is_mixed(parts: Sequence[CorpusPart]) -> bool:
    """Whether an epoch is anything else than every example once."""
    return any(part.weight != 1 for part in parts)


def epoch_examples(parts: Sequence[CorpusPart], seed: int, epoch: int) -> NDArray[np.int64]:
    """The numbers of the examples of an epoch, N of them in all parts. The k-th occurrence of example i is i + (k - 1) N."""
    total = sum(part.examples for part in parts)
    rounds: list[NDArray[np.int64]] = []
    start = 0
    for place, part in enumerate(parts):
        repeats = int(part.weight)
        own = np.arange(start, start + part.examples)
        rounds += [own + occurrence * total for occurrence in range(repeats)]
        order = np.random.default_rng([seed, place, 0, 3]).permutation(part.examples)
        share = (part.weight - repeats) * part.examples
        first, end = round(epoch * share), round((epoch + 1) * share)
        if not repeats:
            end = max(end, first + 1)  # at least one, so that no epoch is empty
        if part.examples:
            rounds.append(own[order[np.arange(first, end) % part.examples]] + repeats * total)
        start += part.examples
    return np.concatenate(rounds)


def origins(parts: Sequence[CorpusPart], lines: Sequence[int]) -> list[str]:
    """`file:line` of each line, where `lines` are counted through all parts."""
    ends = list(accumulate(part.lines for part in parts))
    places = np.searchsorted(ends, lines).tolist()
    return [
        f"{parts[place].name}:{line - ends[place] + parts[place].lines}"
        for place, line in zip(places, lines, strict=True)
    ]
