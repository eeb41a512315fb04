"""Minimum Bayes risk (Kumar and Byrne 2004; Eikema and Aziz 2020): of the outputs a model draws, the one most like all of them.

The samples stand for the model's distribution, so the mean of a similarity over them estimates its expectation:
argmax over y of sum over y' of p(y'|x) utility(y, y'). It knows neither the model nor the utility.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Utility = Callable[[Sequence[str]], "NDArray[np.float64]"]
"""Of n texts the similarity [n, n] of each, as an answer, to each, as what the answer should have been."""


def expected_utilities(samples: Sequence[str], utility: Utility) -> list[float]:
    """For each sample the mean of its utility over all samples, itself and repeats among them."""
    import numpy as np

    counts = Counter(samples)
    weights = np.array(list(counts.values())) / len(samples)
    values = dict(zip(counts, (utility(list(counts)) @ weights).tolist(), strict=True))
    return [values[sample] for sample in samples]


def by_utility(utilities: Sequence[float], samples: Sequence[str]) -> list[int]:
    """The indices of the different samples, the largest utility first; of equals the first."""
    first = {sample: number for number, sample in reversed(list(enumerate(samples)))}
    return sorted(first.values(), key=lambda number: (-utilities[number], number))
