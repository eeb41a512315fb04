"""CIDEr-D (Vedantam, Zitnick and Parikh 2015): how near a caption is to the captions that people wrote for the same picture.

A caption is a vector of its n-grams, n = 1 to 4, weighted by tf-idf. Its score is the mean cosine with each reference, times 10.
The "D" variant, which the COCO evaluation calls CIDEr, cuts the weight of an n-gram that a caption repeats and lowers the score of
a caption of another length than the reference. idf is counted over the pictures of the test set: an n-gram that is in the
references of every picture has weight 0, and a test set of one picture scores 0.

The only library, pycocoevalcap, is not maintained (its last release is of 2020) and needs Java to find words. Words are found here
by one rule: lower case, without punctuation.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

MOST_WORDS = 4
"""Words of the longest n-gram."""
SIGMA = 6.0  # of the penalty for a difference of lengths, in words
SCALE = 10.0

_WORD = re.compile(r"\w+(?:['’-]\w+)*")

Ngram = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Vector:
    """The weights of a caption's n-grams, a dictionary for each n, their norms, and its length in words."""

    weights: tuple[dict[Ngram, float], ...]
    norms: tuple[float, ...]
    length: int


def cider(hypotheses: Sequence[str], references: Sequence[Sequence[str | None]]) -> list[float]:
    """The CIDEr-D of each caption, 0 to 10. references: lists of one caption a picture; None: it has no such caption."""
    columns = [[line for line in lines if line is not None] for lines in zip(*references, strict=True)]
    in_references = Counter(
        ngram for lines in columns for ngram in {ngram for line in lines for ngram in _ngrams(_words(line))}
    )
    pictures = log(max(1, len(columns)))

    def vector(text: str) -> _Vector:
        words = _words(text)
        weights: tuple[dict[Ngram, float], ...] = tuple({} for _ in range(MOST_WORDS))
        for ngram, count in _ngrams(words).items():
            weights[len(ngram) - 1][ngram] = count * (pictures - log(max(1, in_references[ngram])))
        norms = tuple(sqrt(sum(weight * weight for weight in of_size.values())) for of_size in weights)
        return _Vector(weights, norms, len(words))

    return [
        SCALE * sum(_similarity(found, vector(line)) for line in lines) / max(1, len(lines))
        for found, lines in zip(map(vector, hypotheses), columns, strict=True)
    ]


def _similarity(hypothesis: _Vector, reference: _Vector) -> float:
    """The mean over n of the clipped cosine, times the penalty of the lengths (equation 4 of the paper)."""
    total = 0.0
    for own, other, own_norm, other_norm in zip(
        hypothesis.weights, reference.weights, hypothesis.norms, reference.norms, strict=True
    ):
        if own_norm and other_norm:
            product = sum(min(weight, other[ngram]) * other[ngram] for ngram, weight in own.items() if ngram in other)
            total += product / (own_norm * other_norm)
    difference = hypothesis.length - reference.length
    return total / MOST_WORDS * exp(-(difference**2) / (2 * SIGMA**2))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _ngrams(words: Sequence[str]) -> Counter[Ngram]:
    return Counter(
        tuple(words[first : first + size])
        for size in range(1, MOST_WORDS + 1)
        for first in range(len(words) - size + 1)
    )
