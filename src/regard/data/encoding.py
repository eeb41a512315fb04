"""Chunks of sentence pairs to ids: the part of writing a corpus that takes time, and that several processes can share.

It knows nothing of files.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.processes import ordered_map
from regard.text.build import TokenizerPair
from regard.text.packed import Packed
from regard.text.tokenizer import Tokenizer

CHUNK_PAIRS = 20_000
CHUNK_CHARACTERS = 8_000_000  # very long lines end a chunk sooner
ALONE_PAIRS = 100_000  # below so many, starting other processes takes longer than they save

NumberedPair = tuple[int, tuple[str, str]]


@dataclass(slots=True)
class Chunk:
    """Some pairs, and the lines that they come from."""

    lines: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Encoded:
    """What a chunk becomes. `read` is the number of its pairs, of which the empty and the too long are left out."""

    lines: NDArray[np.int64]
    source: Packed
    target: Packed
    read: int
    empty: int
    too_long: int


def encoded(
    pairs: Iterable[NumberedPair], tokenizers: TokenizerPair, max_length: int, workers: int
) -> Generator[Encoded, None, None]:
    """What chunk after chunk of the pairs becomes; a large corpus is encoded by so many processes. Close it if not used up."""
    return ordered_map(partial(Encoder, tokenizers, max_length), chunks(pairs), workers, ALONE_PAIRS // CHUNK_PAIRS)


class Encoder:
    """A function from chunks to ids. It remembers words from chunk to chunk."""

    def __init__(self, tokenizers: TokenizerPair, max_length: int) -> None:
        self._max_length = max_length
        self._types = id_type(tokenizers.source), id_type(tokenizers.target)
        source = tokenizers.source.packer()
        self._packers = source, source if tokenizers.joint else tokenizers.target.packer()

    def __call__(self, chunk: Chunk) -> Encoded:
        source, target = self._packers[0](chunk.sources), self._packers[1](chunk.targets)
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


def id_type(tokenizer: Tokenizer) -> np.dtype[Any]:
    """The smallest type that holds every id."""
    return np.dtype("<u2" if len(tokenizer.vocabulary) < 65_536 else "<u4")


def chunks(pairs: Iterable[NumberedPair]) -> Iterator[Chunk]:
    """The same pairs, many at a time."""
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
