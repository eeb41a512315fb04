"""How varied a set of texts is: distinct-n (Li et al. 2016), which needs no references."""

from collections.abc import Sequence

WITHOUT_REFERENCES = ("distinct1", "distinct2")
"""The scores of hypotheses alone."""


def distinct(texts: Sequence[str], n: int) -> float:
    """The different n-grams of words of all texts, divided by how many there are; 0 if there are none.

    Words are separated by white space and compared without case. More text has a smaller share: compare sets of one size.
    """
    grams = [gram for text in texts for gram in _grams(text.lower().split(), n)]
    return len(set(grams)) / len(grams) if grams else 0.0


def distinct_of_hypotheses(hypotheses: Sequence[str], references: Sequence[str], n: int) -> float:
    """distinct-n of the hypotheses. The references, which every score of translations is given, do not matter."""
    return distinct(hypotheses, n)


def _grams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[first : first + n]) for first in range(len(words) - n + 1)]
