"""Rows of ids of different lengths in one array: what a corpus is made of, and the fast way of making it.

Knows nothing of how a text or a word is cut.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.text.normalise import SPACE_MARK, Form, words_in_a_row

_MEMO_IDS = 1_000_000  # ids of words remembered: about 100 MB with the words; then the memory starts afresh

Ids = NDArray[np.integer[Any]]
Packer = Callable[[Sequence[str]], "Packed"]


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


class WordPacker:
    """Texts to ids for tokenisers that cut each word by itself: a word that has been seen is not cut again."""

    def __init__(self, cut: Callable[[list[str]], Sequence[Sequence[int]]], form: Form, lowercase: bool) -> None:
        """`cut` gives the ids of each of many normalised words."""
        self._cut = cut
        self._form: Form = form
        self._lowercase = lowercase
        self._forget()

    def __call__(self, texts: Sequence[str]) -> Packed:
        words = words_in_a_row(texts, self._form, self._lowercase)
        self._learn(set(words))
        numbers = np.fromiter(map(self._numbers.__getitem__, words), dtype=np.int64, count=len(words))
        cut = take(self._known.ids, self._starts[numbers], self._known.lengths[numbers])
        ends = np.cumsum(cut.lengths)[numbers == 0]  # the space mark behind each text is number 0, and has no ids
        return Packed(cut.ids, np.diff(ends, prepend=0))

    def _forget(self) -> None:
        self._numbers = {SPACE_MARK: 0}
        self._known = pack([[]])
        self._starts = np.zeros(1, dtype=np.int64)

    def _learn(self, words: set[str]) -> None:
        """See to it that the ids of all `words` are known."""
        if len(self._known.ids) > _MEMO_IDS:
            self._forget()
        new = [word for word in words if word not in self._numbers]
        if new:
            self._numbers |= {word: number for number, word in enumerate(new, len(self._numbers))}
            known, more = self._known, pack(self._cut(new))
            self._known = Packed(np.concatenate([known.ids, more.ids]), np.concatenate([known.lengths, more.lengths]))
            self._starts = np.cumsum(self._known.lengths) - self._known.lengths
