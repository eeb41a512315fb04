"""Rows of ids of different lengths in one array: what a corpus is made of. Knows nothing of where the ids come from."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.integer[Any]]


class Packed(NamedTuple):
    """N rows, one after the other."""

    ids: Ids
    """[sum of the lengths]"""

    lengths: NDArray[np.int64]
    """[N]"""

    def rows(self) -> list[Ids]:
        """Each row by itself."""
        return np.split(self.ids, np.cumsum(self.lengths)[:-1]) if len(self.lengths) else []


def pack(rows: Sequence[Sequence[int]]) -> Packed:
    """The same rows in one array."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    ids = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    return Packed(ids, lengths)


def take(ids: Ids, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Packed:
    """The rows of `ids` that begin at `starts` [N] and are `lengths` [N] long."""
    first = np.cumsum(lengths) - lengths  # where each row begins in the result
    places = np.arange(int(lengths.sum())) + np.repeat(starts - first, lengths)
    return Packed(ids[places], lengths)
