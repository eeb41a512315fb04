"""Counts n-grams of a corpus. Memory is bounded by the distinct n-grams and one chunk of the corpus.

An n-gram has a key: the place (index) of its first n - 1 tokens in the sorted list of (n - 1)-grams, times V, plus its last token. So keys
fit 64 bits for every n, and n-grams with the same context are neighbours. The place of a single token is its id. The start token has the id
V and is never last in a longer n-gram.

Shapes: N tokens, M distinct n-grams, V outputs.
"""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.integer[Any]]
Places = NDArray[np.int64]
"""Indices into a sorted list of n-grams, and other 64-bit integers: keys and counts."""

CHUNK = 4_000_000  # tokens of a chunk
NONE = -1  # the place of an n-gram that does not occur


@dataclass(frozen=True)
class Sequences:
    """The distinct n-grams of one length, in ascending order of keys."""

    keys: Places  # [M]
    counts: Places  # [M]
    ends: Places  # [M] the place of each n-gram without its first token, among the (n - 1)-grams

    @classmethod
    def of(cls, keys: Places, ends: Places | None = None) -> "Sequences":
        """Count keys [N]. `ends` [N] belong to the keys; None: all are 0."""
        if ends is None:
            unique, counts = np.unique(keys, return_counts=True)
            return cls(unique, counts, np.zeros_like(unique))
        unique, index, counts = np.unique(keys, return_index=True, return_counts=True)
        return cls(unique, counts, ends[index])


def count_tokens(ids: Ids, outputs: int) -> Places:
    """[V]: the count of each token."""
    total = np.zeros(outputs, dtype=np.int64)
    for first in range(0, len(ids), CHUNK):
        total += np.bincount(ids[first : first + CHUNK], minlength=outputs)
    return total


def count_sequences(ids: Ids, begins: Places, outputs: int, longest: int, chunk: int = CHUNK) -> list[Sequences]:
    """The n-grams of 2, 3, .. `longest` tokens in ids [N] without start tokens.

    begins: the beginnings of documents, ascending. A start token precedes each document, and no n-gram crosses it.
    """
    counted: list[Sequences] = []
    with tempfile.TemporaryFile() as first_file, tempfile.TemporaryFile() as second_file:
        before, after = (np.memmap(file, np.int32, "w+", shape=(len(ids) + 1,)) for file in (first_file, second_file))
        for part in _chunks(len(ids), chunk):
            before[part] = ids[part]
        for length in range(2, longest + 1):
            contexts = _Contexts(ids, begins, before, outputs, outputs if length == 2 else NONE)
            counted.append(merged(contexts.counted(part) for part in _chunks(len(ids), chunk)))
            if length == longest:
                break
            for part in _chunks(len(ids), chunk):
                keys, real = contexts.keys(part)
                unique, inverse = np.unique(keys, return_inverse=True)
                places = np.full(part.stop - part.start, NONE, dtype=np.int32)
                places[real] = np.searchsorted(counted[-1].keys, unique)[inverse]
                after[part] = places
            before, after = after, before
    return counted


def _chunks(tokens: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, tokens)) for first in range(0, tokens, size))


@dataclass(frozen=True)
class _Contexts:
    """Tokens, and the context before each."""

    ids: Ids  # [N]
    begins: Places
    places: NDArray[np.int32]  # [N] of the (n - 1)-grams that end at each token
    outputs: int
    first: int  # the place of the context before a document's first token

    def keys(self, part: slice) -> tuple[Places, NDArray[np.bool_]]:
        """The keys of the n-grams that end in this part, and the mask of the tokens that have one."""
        contexts = np.empty(part.stop - part.start, dtype=np.int64)
        contexts[1:] = self.places[part.start : part.stop - 1]
        contexts[0] = self.places[part.start - 1]  # unused for the very first token, which begins a document
        first, last = np.searchsorted(self.begins, [part.start, part.stop])
        contexts[self.begins[first:last] - part.start] = self.first
        real = contexts != NONE
        return contexts[real] * self.outputs + self.ids[part][real], real

    def counted(self, part: slice) -> Sequences:
        keys, real = self.keys(part)
        return Sequences.of(keys, self.places[part][real].astype(np.int64))


def merged(parts: Iterable[Sequences]) -> Sequences:
    """The total counts of all parts. Small parts are collected before they are merged."""
    nothing = np.zeros(0, dtype=np.int64)
    total, waiting = Sequences(nothing, nothing, nothing), list[Sequences]()
    for part in parts:
        waiting.append(part)
        if sum(len(small.keys) for small in waiting) > len(total.keys):
            total, waiting = _sum([total, *waiting]), []
    return _sum([total, *waiting])


def _sum(parts: list[Sequences]) -> Sequences:
    keys = np.concatenate([part.keys for part in parts])
    order = np.argsort(keys, kind="stable")  # fast for mostly sorted keys
    keys = keys[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.concatenate([part.counts for part in parts])[order]
    ends = np.concatenate([part.ends for part in parts])[order]
    return Sequences(keys[firsts], np.add.reduceat(counts, firsts) if len(firsts) else counts, ends[firsts])
