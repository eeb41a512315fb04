"""Learns which target pieces a source piece may become, from pairs of sentences as ids, by IBM Model 1 (Brown et al. 1993).

p(t | S) = 1 / (|S| + 1) sum_s p(t | s), over the pieces s of the source and an empty one. Expectation maximisation finds p(t | s).
It knows no text and no files.

Shapes: P pairs, L links (a source piece with a target piece of the same pair), K different links.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

MOST_LINKS = 12_000_000  # links that are learned from; of a larger corpus every k-th pair is
ITERATIONS = 5

Integers = NDArray[np.int64]


class Lexicon:
    """p(t | s) of every link of a corpus, and how often each target piece occurs."""

    def __init__(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], sources: int, targets: int) -> None:
        """pairs: source ids and target ids of each pair; sources, targets: the sizes of the vocabularies."""
        self._sources, self._targets = sources, targets
        self.frequencies = np.zeros(targets, dtype=np.int64)
        for _, target in pairs:
            np.add.at(self.frequencies, np.asarray(target, dtype=np.int64), 1)
        links = sum((1 + len(source)) * len(target) for source, target in pairs)
        keys, positions = self._links(pairs[:: 1 + links // MOST_LINKS])
        self._keys, places = np.unique(keys, return_inverse=True)
        self._weights = self._learned(places, positions)

    def likely(self, source: int, most: int, least: float) -> list[int]:
        """The most probable target pieces of a source piece: at most `most`, each of probability `least` or more."""
        first, last = np.searchsorted(self._keys, [source * self._targets, (source + 1) * self._targets])
        weights = self._weights[first:last]
        best = np.argsort(-weights, kind="stable")[:most]
        return [int(self._keys[first + place] % self._targets) for place in best if weights[place] >= least]

    def probability(self, source: int, target: int) -> float:
        """p(t | s) of a source and a target piece; 0 where no pair of the corpus has both."""
        wanted = source * self._targets + target
        place = int(np.searchsorted(self._keys, wanted))
        return float(self._weights[place]) if place < len(self._keys) and self._keys[place] == wanted else 0.0

    def frequent(self, most: int) -> list[int]:
        """The most frequent target pieces."""
        best = np.argsort(-self.frequencies, kind="stable")[:most]
        return [int(piece) for piece in best if self.frequencies[piece]]

    def _links(self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> tuple[Integers, Integers]:
        """([L] key of source and target piece, [L] which target position of the corpus it explains)."""
        keys, positions, count = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
        for source, target in pairs:
            rows = np.asarray([*source, self._sources], dtype=np.int64)  # and the empty piece
            columns = np.asarray(target, dtype=np.int64)
            keys.append((rows[:, None] * self._targets + columns).ravel())
            positions.append(np.tile(np.arange(count, count + len(columns)), len(rows)))
            count += len(columns)
        return np.concatenate(keys), np.concatenate(positions)

    def _learned(self, places: Integers, positions: Integers) -> NDArray[np.float64]:
        """[K] p(t | s) of every different link."""
        sources = self._keys // self._targets
        weights = np.ones(len(self._keys))
        for _ in range(ITERATIONS):
            shares = weights[places]
            shares /= np.bincount(positions, shares)[positions]
            weights = np.bincount(places, shares, len(self._keys)).astype(
                np.float64
            )  # of nothing it counts in integers
            weights /= np.bincount(sources, weights, self._sources + 1)[sources]
        return weights
