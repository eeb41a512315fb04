"""How often each sequence of n tokens occurs in a corpus, in memory bounded by the different sequences and one chunk of it.

A sequence of n tokens has a key: the place of its first n - 1 tokens among those that occur, times V, plus its last token. So keys fit
64 bits for every n, and sequences that share their first tokens stand side by side. Places of single tokens are their ids; the start
token, V, is one of them and never last in a longer sequence.

Shapes: N tokens, M different sequences, V tokens that can be said.
"""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.integer[Any]]
Places = NDArray[np.int64]

CHUNK = 4_000_000  # tokens that are counted at once
NONE = -1  # the place of what does not occur


@dataclass(frozen=True)
class Sequences:
    """The different sequences of one length, ascending by key."""

    keys: Places  # [M]
    counts: Places  # [M]
    ends: Places  # [M] the place of each without its first token, among the sequences that are shorter by one

    @classmethod
    def of(cls, keys: Places, ends: Places | None = None) -> Self:
        """Keys counted; `ends` [N] go with them, and where they are not wanted stay 0."""
        if ends is None:
            unique, counts = np.unique(keys, return_counts=True)
            return cls(unique, counts, np.zeros_like(unique))
        unique, index, counts = np.unique(keys, return_index=True, return_counts=True)
        return cls(unique, counts, ends[index])


def count_tokens(ids: Ids, outputs: int) -> Places:
    """[V]: how often each token occurs."""
    total = np.zeros(outputs, dtype=np.int64)
    for first in range(0, len(ids), CHUNK):
        total += np.bincount(ids[first : first + CHUNK], minlength=outputs)
    return total


def count_sequences(ids: Ids, begins: Places, outputs: int, longest: int, chunk: int = CHUNK) -> list[Sequences]:
    """The sequences of 2, 3, .. `longest` tokens in ids [N], which hold no start token.

    `begins`: where documents begin, ascending. Before each stands a start token, and no sequence reaches across it.
    """
    found: list[Sequences] = []
    with tempfile.TemporaryFile() as one, tempfile.TemporaryFile() as other:
        before, after = (np.memmap(file, np.int32, "w+", shape=(len(ids) + 1,)) for file in (one, other))
        for part in _chunks(len(ids), chunk):
            before[part] = ids[part]
        for length in range(2, longest + 1):
            contexts = _Contexts(ids, begins, before, outputs, outputs if length == 2 else NONE)
            found.append(merged(contexts.counted(part) for part in _chunks(len(ids), chunk)))
            if length == longest:
                break
            for part in _chunks(len(ids), chunk):
                keys, real = contexts.keys(part)
                unique, inverse = np.unique(keys, return_inverse=True)
                places = np.full(part.stop - part.start, NONE, dtype=np.int32)
                places[real] = np.searchsorted(found[-1].keys, unique)[inverse]
                after[part] = places
            before, after = after, before
    return found


def _chunks(tokens: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, tokens)) for first in range(0, tokens, size))


@dataclass(frozen=True)
class _Contexts:
    """Tokens, and what stands before each."""

    ids: Ids  # [N]
    begins: Places
    places: NDArray[np.int32]  # [N] of the sequences that end at each token, one shorter than those that are counted
    outputs: int
    first: int  # the place of what stands before a document's first token

    def keys(self, part: slice) -> tuple[Places, NDArray[np.bool_]]:
        """The keys of the sequences that end in this part, and at which of its tokens there is one."""
        contexts = np.empty(part.stop - part.start, dtype=np.int64)
        contexts[1:] = self.places[part.start : part.stop - 1]
        contexts[0] = self.places[part.start - 1]  # of the very first a document begins
        first, last = np.searchsorted(self.begins, [part.start, part.stop])
        contexts[self.begins[first:last] - part.start] = self.first
        real = contexts != NONE
        return contexts[real] * self.outputs + self.ids[part][real], real

    def counted(self, part: slice) -> Sequences:
        keys, real = self.keys(part)
        return Sequences.of(keys, self.places[part][real].astype(np.int64))


def merged(parts: Iterable[Sequences]) -> Sequences:
    """The counts of all parts added up. Small ones wait for each other, so that nothing is merged often."""
    nothing = np.zeros(0, dtype=np.int64)
    total, waiting = Sequences(nothing, nothing, nothing), list[Sequences]()
    for part in parts:
        waiting.append(part)
        if sum(len(one.keys) for one in waiting) > len(total.keys):
            total, waiting = _sum([total, *waiting]), []
    return _sum([total, *waiting])


def _sum(parts: list[Sequences]) -> Sequences:
    keys = np.concatenate([part.keys for part in parts])
    order = np.argsort(keys, kind="stable")  # fast where most of it is in order
    keys = keys[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.concatenate([part.counts for part in parts])[order]
    ends = np.concatenate([part.ends for part in parts])[order]
    return Sequences(keys[firsts], np.add.reduceat(counts, firsts) if len(firsts) else counts, ends[firsts])
