"""Counts character trigrams, hashed: the statistics by which sides and languages are told apart. It reads no files."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BUCKETS = 18  # bits of a hashed trigram
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)

Values = NDArray[np.float64]


class CharacterCounts:
    """Counts of the character trigrams of both sides."""

    def __init__(self) -> None:
        self.counts = np.zeros((2, 1 << BUCKETS), dtype=np.int64)

    def add(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        for side, texts in enumerate((sources, targets)):
            self.counts[side] += np.bincount(trigrams(texts)[0], minlength=1 << BUCKETS)

    def fit(self, sources: Sequence[str], targets: Sequence[str]) -> Values:
        """[2, P]: log-odds of each source and target between its own side and the other one."""
        odds = []
        for side, texts in enumerate((sources, targets)):
            hashed, lengths = trigrams(texts)
            own, other = self.counts[side], self.counts[1 - side]
            values = np.log(np.maximum(own[hashed] - 1, 0) + 0.5) - np.log(other[hashed] + 0.5)
            values += np.log(other.sum() / own.sum())
            odds.append(np.add.reduceat(values, np.cumsum(lengths) - lengths))
        return np.stack(odds)


def trigrams(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The hashed trigrams of all texts, concatenated, and the number of them in each text."""
    padded = [f"  {text.lower()}" for text in texts]  # a trigram that crosses texts sees spaces only
    return hashed_trigrams("".join([*padded, "  "])), np.array([*map(len, padded)], dtype=np.int64)


def hashed_trigrams(text: str, bits: int = BUCKETS) -> NDArray[np.int64]:
    """The bucket of each three characters in a row, a number of so many bits."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    hashed = np.zeros(max(0, len(codes) - 2), dtype=np.uint64)
    for place, factor in enumerate(_FACTORS):
        hashed += codes[place : place + len(hashed)] * np.uint64(factor)
    return (hashed >> np.uint64(64 - bits)).astype(np.int64)
