"""Ragged arrays: rows of ids of different lengths in one flat array; and `WordPacker`, which encodes texts into them.

It does not know how a word is segmented.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.text.normalise import SPACE_MARK, Form, words_with_text_ends

_MEMO_IDS = 1_000_000  # ids in the cache, about 100 MB with the words; then it is emptied

Ids = NDArray[np.integer[Any]]
Packer = Callable[[Sequence[str]], "Packed"]


class Packed(NamedTuple):
    """N rows in one flat array."""

    ids: Ids
    """[sum of the lengths] the rows, concatenated."""

    lengths: NDArray[np.int64]
    """[N] the length of each row."""

    def rows(self) -> list[Ids]:
        """The rows as separate arrays."""
        return np.split(self.ids, np.cumsum(self.lengths)[:-1]) if len(self.lengths) else []


def pack(rows: Sequence[Sequence[int]]) -> Packed:
    """The rows, concatenated."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    ids = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    return Packed(ids, lengths)


def take(ids: Ids, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Packed:
    """The rows of `ids` that begin at `starts` [N] and are `lengths` [N] long."""
    first = np.cumsum(lengths) - lengths  # where each row begins in the result
    places = np.arange(int(lengths.sum())) + np.repeat(starts - first, lengths)
    return Packed(ids[places], lengths)


class WordPacker:
    """Encodes texts for tokenisers that segment each word by itself; caches the ids of each word."""

    def __init__(self, segment: Callable[[list[str]], Sequence[Sequence[int]]], form: Form, lowercase: bool) -> None:
        """`segment`: normalised words -> the ids of each."""
        self._segment = segment
        self._form: Form = form
        self._lowercase = lowercase
        self._empty_cache()

    def __call__(self, texts: Sequence[str]) -> Packed:
        words = words_with_text_ends(texts, self._form, self._lowercase)
        self._add_to_cache(set(words))
        numbers = np.fromiter(map(self._word_numbers.__getitem__, words), dtype=np.int64, count=len(words))
        packed = take(self._cache.ids, self._starts[numbers], self._cache.lengths[numbers])
        ends = np.cumsum(packed.lengths)[numbers == 0]  # a space mark ends each text; it is word 0 and has no ids
        return Packed(packed.ids, np.diff(ends, prepend=0))

    def _empty_cache(self) -> None:
        self._word_numbers = {SPACE_MARK: 0}
        self._cache = pack([[]])
        self._starts = np.zeros(1, dtype=np.int64)

    def _add_to_cache(self, words: set[str]) -> None:
        """Put the ids of all `words` into the cache."""
        if len(self._cache.ids) > _MEMO_IDS:
            self._empty_cache()
        new = [word for word in words if word not in self._word_numbers]
        if new:
            self._word_numbers |= {word: number for number, word in enumerate(new, len(self._word_numbers))}
            cached, added = self._cache, pack(self._segment(new))
            self._cache = Packed(
                np.concatenate([cached.ids, added.ids]), np.concatenate([cached.lengths, added.lengths])
            )
            self._starts = np.cumsum(self._cache.lengths) - self._cache.lengths
