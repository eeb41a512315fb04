"""From counts to probabilities: without smoothing, or interpolated modified Kneser-Ney (Chen and Goodman 1998, section 5).

Both have one form. With h the context, h' the same without its first token, a(h w) the count of w after h and D the discount of a count,

    p(w | h) = (a(h w) - D(a(h w))) / a(h) + b(h) p(w | h'),    b(h) = (D(1) N_1(h) + D(2) N_2(h) + D(3) N_3+(h)) / a(h),

where N_c(h) is how many different words follow h c times. Without discounts b(h) is 0: the longest context that was seen decides, and one
that was not seen has b(h) = 1, which is backing off. Kneser and Ney count, below the highest order, not how often w follows h but after
how many different words h w was seen. Below the single words stands the uniform distribution.

Shapes: M distinct n-grams, C their contexts, V outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regard.models.counting import Places, Sequences

Smoothing = Literal["kneser_ney", "none"]
Floats = NDArray[np.float64]

USUAL_DISCOUNTS = (0.5, 1.0, 1.5)  # for corpora that are too small to estimate them


@dataclass(frozen=True)
class Estimates:
    """The estimates for words after contexts of one length."""

    probabilities: Floats
    """[M] the first term of p(w | h)."""
    rest: Floats
    """[C] b(h), the weight of the shorter context."""


def estimate(tokens: Places, longer: Sequence[Sequences], smoothing: Smoothing) -> list[Estimates]:
    """The estimates for contexts of 0, 1, 2, .. tokens, from the counts of `models.counting`: tokens [V], and longer n-grams."""
    outputs = len(tokens)
    counts = [tokens, *(sequences.counts for sequences in longer)]
    contexts = [np.zeros(outputs, dtype=np.int64), *(sequences.keys // outputs for sequences in longer)]
    sizes = [1, outputs + 1, *(len(sequences.keys) for sequences in longer)]
    if smoothing == "kneser_ney":
        counts = _continuations(counts, contexts, longer, outputs)
    return [
        discounted(count, context, size, discounts(count) if smoothing == "kneser_ney" else (0.0, 0.0, 0.0))
        for count, context, size in zip(counts, contexts, sizes, strict=False)
    ]


def discounted(counts: Places, contexts: Places, size: int, discount: tuple[float, float, float]) -> Estimates:
    """The estimates from counts [M] of words after contexts [M]. size: the number of contexts."""
    total = np.bincount(contexts, weights=counts, minlength=size)
    taken = np.array([0.0, *discount])[np.minimum(counts, 3)]
    left = np.bincount(contexts, weights=taken, minlength=size)
    seen = total > 0
    rest = np.where(seen, left / np.where(seen, total, 1.0), 1.0)
    return Estimates((counts - taken) / np.maximum(total[contexts], 1.0), rest)


def discounts(counts: Places) -> tuple[float, float, float]:
    """D(1), D(2), D(3+) = c - (c + 1) Y n_(c+1) / n_c with Y = n_1 / (n_1 + 2 n_2), n_c being how many sequences occur c times.

    All are above 0, or a context might leave nothing to the words that it was not seen with.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].astype(np.float64)
    if not n.all():
        return USUAL_DISCOUNTS
    y = n[0] / (n[0] + 2.0 * n[1])
    first, second, third = (float(c - (c + 1) * y * n[c] / n[c - 1]) for c in (1, 2, 3))
    return (first, second, third) if min(first, second, third) > 0.0 else USUAL_DISCOUNTS


def _continuations(
    counts: Sequence[Places], contexts: Sequence[Places], longer: Sequence[Sequences], outputs: int
) -> list[Places]:
    """Kneser-Ney counts: the number of distinct words before an n-gram. The longest n-grams and document starts keep their counts."""
    continuation_counts = []
    begins = np.zeros(outputs, dtype=np.bool_)
    for level, (count, context) in enumerate(zip(counts, contexts, strict=True)):
        if level:  # the n-gram begins as its context does
            begins = context == outputs if level == 1 else begins[context]
        if level == len(longer):
            continuation_counts.append(count)
            break
        different = np.bincount(longer[level].ends, minlength=len(count))
        continuation_counts.append(np.where(begins, count, different))
    return continuation_counts
