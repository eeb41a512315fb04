"""Cuts documents into contexts, which are the examples of models of text. It sees places of tokens, never tokens."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


class Contexts:
    """The contexts of documents, anew in each epoch."""

    def __init__(self, begins: Places, ends: Places, longest: int, *, moving: bool) -> None:
        """begins, ends: of each document. moving: the first context of a long document has a random length, different in each epoch."""
        self._begins, self._ends, self._longest, self._moving = begins, ends, longest, moving
        self.of = lru_cache(maxsize=2)(self._cut)

    def _cut(self, seed: int, epoch: int) -> tuple[Places, Places]:
        """(start, length) of each context. Together the contexts cover all tokens."""
        begins, ends, longest = self._begins, self._ends, self._longest
        sizes = ends - begins
        first = np.full(len(sizes), longest, dtype=np.int64)
        if self._moving:
            generator = np.random.default_rng([seed, epoch, 1])
            first = np.where(sizes > longest, generator.integers(1, longest, len(sizes), endpoint=True), longest)
        pieces = 1 + np.maximum(0, -(-(sizes - first) // longest))  # of each document
        document = np.repeat(np.arange(len(sizes)), pieces)
        place = np.arange(len(document)) - np.repeat(np.cumsum(pieces) - pieces, pieces)  # of a piece in its document
        starts = begins[document] + np.where(place == 0, 0, first[document] + (place - 1) * longest)
        stops = np.minimum(begins[document] + first[document] + place * longest, ends[document])
        return starts, stops - starts
