"""A set of 64-bit hashes that says which of new ones were there before: 16 to 32 bytes a hash, whatever was hashed."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
_FULL = 0.5  # share of the places from which on there are twice as many
_FEWEST = 1 << 12
_NOT_WORDS = re.compile(r"[\W_]+")


def text_hash(text: str) -> int:
    """64 bits of a hash of a text; never 0."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") or 1


def pair_hash(source: str, target: str) -> int:
    """The hash of a pair as it is."""
    return text_hash(f"{source}\n{target}")


def similar_hash(source: str, target: str) -> int:
    """The hash of a pair without case, spaces and punctuation. A side of nothing else stays as it is."""
    sides = [_NOT_WORDS.sub("", text.casefold()) or text for text in (source, target)]
    return text_hash("\n".join(sides))


class SeenHashes:
    """A table with open addressing, which grows."""

    def __init__(self) -> None:
        self._table: Hashes = np.zeros(_FEWEST, dtype=np.uint64)  # 0: nothing
        self._size = 0

    def add(self, hashes: Sequence[int] | Hashes) -> NDArray[np.bool_]:
        """Add hashes in order; whether each was there before."""
        values = np.asarray(hashes, dtype=np.uint64)
        unique, first = np.unique(values, return_index=True)
        repeated = np.ones(len(values), dtype=bool)
        while self._size + len(unique) > _FULL * len(self._table):
            self._grow()
        found = self._insert(unique)
        repeated[first] = found
        self._size += int((~found).sum())
        return repeated

    def _grow(self) -> None:
        kept = self._table[self._table != 0]
        self._table = np.zeros(2 * len(self._table), dtype=np.uint64)
        self._insert(kept)

    def _insert(self, unique: Hashes) -> NDArray[np.bool_]:
        """Insert different hashes; whether each was there."""
        mask = np.uint64(len(self._table) - 1)
        places = (unique & mask).astype(np.int64)
        found = np.zeros(len(unique), dtype=bool)
        open_ = np.arange(len(unique))
        while len(open_):
            there = self._table[places[open_]]
            found[open_[there == unique[open_]]] = True
            free = open_[there == 0]
            self._table[places[free]] = unique[free]  # of several hashes for one place one wins
            inserted = self._table[places[open_]] == unique[open_]
            open_ = open_[~inserted]
            places[open_] = (places[open_] + 1) & (len(self._table) - 1)
        return found
