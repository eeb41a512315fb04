"""Minimum Bayes risk decoding (Kumar and Byrne 2004; Eikema and Aziz 2020): the sample of the largest expected utility.

argmax over y of sum over y' of p(y'|x) utility(y, y'), where the mean over samples estimates the sum.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from regard.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Utility = Callable[[Sequence[str]], "NDArray[np.float64]"]
"""The utility [n, n] of n texts: of each as hypothesis (row) with each as reference (column)."""


def expected_utilities(samples: Sequence[str], utility: Utility) -> list[float]:
    """The mean utility of each sample over all samples, including itself and repeats."""
    import numpy as np

    counts = Counter(samples)
    weights = np.array(list(counts.values())) / len(samples)
    values = dict(zip(counts, (utility(list(counts)) @ weights).tolist(), strict=True))
    return [values[sample] for sample in samples]


def by_utility(utilities: Sequence[float], samples: Sequence[str]) -> list[int]:
    """The indices of the distinct samples, the largest utility first; ties in order."""
    first = {sample: number for number, sample in reversed(list(enumerate(samples)))}
    return sorted(first.values(), key=lambda number: (-utilities[number], number))


def least_risk(
    samples: Sequence[Hypothesis], decode: Callable[[Sequence[int]], str], nbest: int
) -> tuple[list[Hypothesis], list[float]]:
    """The `nbest` different samples of a source with the largest expected utility, by chrF, and the utilities."""
    from regard.metrics.pairwise import chrf_matrix

    texts = [decode(hypothesis.tokens) for hypothesis in samples]
    values = expected_utilities(texts, chrf_matrix)
    best = by_utility(values, texts)[:nbest]
    return [samples[number] for number in best], [values[number] for number in best]
