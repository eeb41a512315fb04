"""Encodes sentence pairs into ids, chunk by chunk, in several processes. It knows no files."""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.placeholders import PairPlaceholders
from regard.data.processes import ordered_map
from regard.text.build import TokenizerPair
from regard.text.packed import Packed, pack
from regard.text.tokenizer import Tokenizer

CHUNK_PAIRS = 20_000
CHUNK_CHARACTERS = 8_000_000  # a chunk of very long lines has fewer pairs
ALONE_PAIRS = 100_000  # for fewer pairs, starting processes does not pay

NumberedPair = tuple[int, tuple[str, str]]


@dataclass(slots=True)
class Chunk:
    """A chunk of pairs and their line numbers."""

    lines: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded chunk, without empty and too long pairs. `read` counts all of its pairs."""

    lines: NDArray[np.int64]
    source: Packed
    target: Packed
    read: int
    empty: int
    too_long: int


def encode_chunks(
    pairs: Iterable[NumberedPair],
    tokenizers: TokenizerPair,
    max_length: int,
    workers: int,
    placeholders: PairPlaceholders | None = None,
) -> Generator[Encoded, None, None]:
    """The encoded chunks, in order. `workers` processes encode a large corpus. Close the generator if it is not exhausted.

    placeholders: encodes the pairs that get placeholder pieces.
    """
    encoder = partial(Encoder, tokenizers, max_length, placeholders)
    return ordered_map(encoder, chunks(pairs), workers, ALONE_PAIRS // CHUNK_PAIRS)


class Encoder:
    """Encodes chunks. Its tokenisers cache words between chunks."""

    def __init__(
        self, tokenizers: TokenizerPair, max_length: int, placeholders: PairPlaceholders | None = None
    ) -> None:
        self._max_length, self._placeholders = max_length, placeholders
        self._types = id_type(tokenizers.source), id_type(tokenizers.target)
        source = tokenizers.source.packer()
        self._packers = source, source if tokenizers.target is tokenizers.source else tokenizers.target.packer()

    def __call__(self, chunk: Chunk) -> Encoded:
        source, target = self._packers[0](chunk.sources), self._packers[1](chunk.targets)
        if self._placeholders is not None:
            source, target = self._with_placeholders(chunk, source, target)
        empty = (source.lengths == 0) | (target.lengths == 0)
        too_long = (np.maximum(source.lengths, target.lengths) > self._max_length) & ~empty
        keep = ~empty & ~too_long
        return Encoded(
            lines=np.array(chunk.lines, dtype=np.int64)[keep],
            source=_kept(source, keep, self._types[0]),
            target=_kept(target, keep, self._types[1]),
            read=len(chunk.lines),
            empty=int(empty.sum()),
            too_long=int(too_long.sum()),
        )

    def _with_placeholders(self, chunk: Chunk, source: Packed, target: Packed) -> tuple[Packed, Packed]:
        """The encoded sides of a chunk, with placeholder pieces in the pairs that get some."""
        assert self._placeholders is not None, "asked before"
        numbered = zip(chunk.lines, chunk.sources, chunk.targets, strict=True)
        changed = {place: ids for place, pair in enumerate(numbered) if (ids := self._placeholders(*pair)) is not None}
        if not changed:
            return source, target
        sides = [[row.tolist() for row in side.rows()] for side in (source, target)]
        for place, pair in changed.items():
            for rows, own in zip(sides, pair, strict=True):
                rows[place] = own
        return pack(sides[0]), pack(sides[1])


ID_TYPES = ("<u2", "<u4")
"""The types of stored ids: 16 and 32 bits."""


def id_type(tokenizer: Tokenizer) -> np.dtype[Any]:
    """The smallest integer type that holds every id of the vocabulary."""
    return np.dtype(ID_TYPES[len(tokenizer.vocabulary) >= 65_536])


def chunks(pairs: Iterable[NumberedPair]) -> Iterator[Chunk]:
    """The pairs in chunks."""
    chunk, characters = Chunk(), 0
    for line, (source, target) in pairs:
        chunk.lines.append(line)
        chunk.sources.append(source)
        chunk.targets.append(target)
        characters += len(source) + len(target)
        if len(chunk.lines) >= CHUNK_PAIRS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = Chunk(), 0
    if chunk.lines:
        yield chunk


def _kept(rows: Packed, keep: NDArray[np.bool_], kind: np.dtype[Any]) -> Packed:
    return Packed(rows.ids[np.repeat(keep, rows.lengths)].astype(kind), rows.lengths[keep])
