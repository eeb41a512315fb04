"""An encoded parallel corpus on disk: flat arrays of token ids, mapped into memory.

    source.ids, target.ids           the tokens of all examples, concatenated, without end marks
    source.offsets, target.offsets   the offset of each example, and the total
    lines                            the input line of each example, counted from 1
    corpus.json                      format, counts and types; the file sizes are checked against them

Opening takes the same time for ten pairs and for ten million. Writing holds one chunk of text in memory. It does not know
where the pairs come from.
"""

import os
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from regard.data.encoding import ID_TYPES, NumberedPair, encode_chunks, id_type
from regard.data.placeholders import PairPlaceholders
from regard.data.processes import default_workers
from regard.errors import DataError, ResourceError
from regard.files import to_json
from regard.foreign import parse_json, read_text, refuse_exhausted
from regard.text.build import TokenizerPair
from regard.text.packed import Packed, take

FORMAT = 1

FILES = ("corpus.json", "lines", "source.ids", "source.offsets", "target.ids", "target.offsets")
OFFSET = np.dtype("<i8")
_SIDES = ("source", "target")
_COUNTED = 1 << 24  # tokens that are counted at once


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of pairs read, kept and skipped; `read` is the sum of the others."""

    read: int = 0
    kept: int = 0
    too_long: int = 0
    empty: int = 0  # at least one side has no token
    held_out: int = 0  # taken for validation
    duplicates_of_validation: int = 0  # exact copies of a held-out pair, so not trained on


class EncodedPairs(Protocol):
    """Encoded pairs, as batches are made of them. Ids have no end mark."""

    def __len__(self) -> int: ...

    @property
    def max_length(self) -> int: ...

    @property
    def lines(self) -> NDArray[np.int64]: ...

    @property
    def source_lengths(self) -> NDArray[np.int64]: ...

    @property
    def target_lengths(self) -> NDArray[np.int64]: ...

    def sources(self, examples: NDArray[np.int64]) -> Packed: ...

    def targets(self, examples: NDArray[np.int64]) -> Packed: ...


class Corpus:
    """The encoded pairs that `write_corpus` wrote to a directory. Ids have no end mark."""

    def __init__(self, directory: Path, description: dict[str, Any]) -> None:
        examples = int(description["counts"]["kept"])
        self.directory = directory
        self.counts = Counts(**description["counts"])
        self.max_length = int(description["max_length"])
        self._files = MappedFiles()
        self._lines = self._files.map(directory / "lines", OFFSET, examples)
        self._offsets, self._ids = {}, {}
        for side in _SIDES:
            tokens = int(description[side]["tokens"])
            self._ids[side] = self._files.map(directory / f"{side}.ids", stored_type(description[side]["type"]), tokens)
            offsets = self._files.map(directory / f"{side}.offsets", OFFSET, examples + 1)
            if offsets[0] != 0 or offsets[-1] != tokens:
                raise damaged_file(directory / f"{side}.offsets")
            self._offsets[side] = offsets

    @classmethod
    def open(cls, directory: Path) -> Self:
        """The corpus in `directory`; a `DataError` names a file that is missing or has the wrong size."""
        path = directory / "corpus.json"
        try:
            description = read_description(path)
            if description["format"] != FORMAT:
                raise DataError(
                    f"{path}: format {description['format']}, this version reads {FORMAT}; prepare it again"
                )
            return cls(directory, description)
        except (DataError, ResourceError):
            raise
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            raise damaged_file(path) from None

    def __len__(self) -> int:
        return len(self._lines)

    def source(self, example: int) -> NDArray[np.integer[Any]]:
        """[S] source token ids of one example."""
        return self._tokens("source", example)

    def target(self, example: int) -> NDArray[np.integer[Any]]:
        """[T] target token ids of one example."""
        return self._tokens("target", example)

    def sources(self, examples: NDArray[np.int64]) -> Packed:
        """The source token ids of several examples."""
        return self._rows("source", examples)

    def targets(self, examples: NDArray[np.int64]) -> Packed:
        """The target token ids of several examples."""
        return self._rows("target", examples)

    @cached_property
    def source_lengths(self) -> NDArray[np.int64]:
        """[N] tokens of each source, without end mark."""
        return np.diff(self._offsets["source"])

    @cached_property
    def target_lengths(self) -> NDArray[np.int64]:
        """[N] tokens of each target, without end mark."""
        return np.diff(self._offsets["target"])

    @property
    def lines(self) -> NDArray[np.int64]:
        """[N] the input line, from 1, of each example."""
        return self._lines

    def source_counts(self, vocabulary: int) -> NDArray[np.int64]:
        """[V] how often each token occurs in the sources."""
        counts = np.zeros(vocabulary, dtype=np.int64)
        for start in range(0, len(self._ids["source"]), _COUNTED):
            counts += np.bincount(self._ids["source"][start : start + _COUNTED], minlength=vocabulary)
        return counts

    def _tokens(self, side: str, example: int) -> NDArray[np.integer[Any]]:
        if not 0 <= example < len(self):
            raise IndexError(f"example {example} of {len(self)}")
        start, end = self._offsets[side][example : example + 2]
        return self._ids[side][start:end]

    def _rows(self, side: str, examples: NDArray[np.int64]) -> Packed:
        if len(examples) and not 0 <= examples.min() <= examples.max() < len(self):
            raise IndexError(f"examples {examples.min()} to {examples.max()} of {len(self)}")
        self._files.check()
        starts, ends = self._offsets[side][examples], self._offsets[side][examples + 1]
        return take(self._ids[side], starts, ends - starts)


def write_corpus(
    directory: Path, pairs: Iterable[tuple[str, str]], tokenizers: TokenizerPair, max_length: int
) -> Counts:
    """Encode `pairs` into `directory`. Pairs with an empty side or one above `max_length` tokens are counted and skipped."""
    return write_numbered(directory, enumerate(pairs, 1), tokenizers, max_length)


def write_numbered(
    directory: Path,
    pairs: Iterable[NumberedPair],
    tokenizers: TokenizerPair,
    max_length: int,
    workers: int | None = None,
    placeholders: PairPlaceholders | None = None,
) -> Counts:
    """`write_corpus` for pairs with line numbers, where some lines are left out. placeholders: see `encode_chunks`.

    Several processes encode a large corpus, by default one a processor. The number of processes does not change the files.
    """
    directory.mkdir(parents=True, exist_ok=True)
    read = empty = too_long = kept = 0
    with ExitStack() as files:
        lines = files.enter_context((directory / "lines").open("wb"))
        source = RowWriter(files, directory / "source", id_type(tokenizers.source))
        target = RowWriter(files, directory / "target", id_type(tokenizers.target))
        chunks = encode_chunks(pairs, tokenizers, max_length, workers or default_workers(), placeholders)
        for chunk in files.enter_context(closing(chunks)):
            lines.write(chunk.lines.astype(OFFSET).tobytes())
            source.add(chunk.source)
            target.add(chunk.target)
            read, kept = read + chunk.read, kept + len(chunk.lines)
            empty, too_long = empty + chunk.empty, too_long + chunk.too_long
    counts = Counts(read=read, kept=kept, too_long=too_long, empty=empty)
    description = {
        "format": FORMAT,
        "counts": asdict(counts),
        "max_length": max_length,
        "source": source.description(),
        "target": target.description(),
    }
    (directory / "corpus.json").write_text(to_json(description), encoding="utf-8")
    return counts


class RowWriter:
    """Writes rows of ids to two files: `.ids`, the concatenated rows, and `.offsets`, the offset of each row."""

    def __init__(self, files: ExitStack, stem: Path, kind: np.dtype[Any]) -> None:
        self.type = kind
        self.tokens = 0
        self.ids: BinaryIO = files.enter_context(stem.with_suffix(".ids").open("wb"))
        self.offsets: BinaryIO = files.enter_context(stem.with_suffix(".offsets").open("wb"))
        self.offsets.write(np.zeros(1, dtype=OFFSET).tobytes())

    def add(self, rows: Packed) -> None:
        # `write` instead of `tofile`, which does not report why the disk failed.
        self.offsets.write((self.tokens + np.cumsum(rows.lengths)).astype(OFFSET).tobytes())
        self.ids.write(rows.ids.astype(self.type).tobytes())
        self.tokens += len(rows.ids)

    def description(self) -> dict[str, Any]:
        return {"type": self.type.str, "tokens": self.tokens}


class MappedFiles:
    """Files that are mapped into memory. The system kills a process that reads past the end of one that was cut short meanwhile."""

    def __init__(self) -> None:
        self._files: list[tuple[Path, int, int]] = []  # (path, inode, size)

    def map(self, path: Path, kind: np.dtype[Any], count: int | None = None) -> NDArray[Any]:
        """The file as an array of `count` numbers; None: as many as it has. A `DataError` if its size is wrong."""
        status = path.stat()
        count = status.st_size // kind.itemsize if count is None else count
        if status.st_size != count * kind.itemsize:
            raise damaged_file(path)
        if count == 0:
            return np.zeros(0, dtype=kind)  # an empty file cannot be mapped
        self._files.append((path, status.st_ino, status.st_size))
        try:
            return np.asarray(np.memmap(path, dtype=kind, mode="r", shape=(count,)))
        except OSError as error:
            refuse_exhausted(path, error)
            raise

    def check(self) -> None:
        """Refuse files that were cut short since they were mapped. Call it before each batch: it takes a few microseconds."""
        for path, inode, size in self._files:
            try:
                status = os.stat(path)
            except OSError:
                continue  # deleted: what is mapped stays
            if status.st_ino == inode and status.st_size < size:
                raise damaged_file(path)


def read_description(path: Path) -> dict[str, Any]:
    """The JSON file that describes a prepared corpus; a `ValueError` or an `OSError` if it is missing or damaged."""
    try:
        description = parse_json(read_text(path), path)
    except OSError as error:
        refuse_exhausted(path, error)
        raise
    if not isinstance(description, dict):
        raise TypeError(f"{path}: not an object")
    return description


def stored_type(name: object) -> np.dtype[Any]:
    """The type of stored ids, by its name in a description."""
    if name not in ID_TYPES:
        raise ValueError(f"ids of type {name!r}")
    return np.dtype(str(name))


def damaged_file(path: Path) -> DataError:
    """The error of a missing or damaged file of a prepared corpus."""
    return DataError(f"{path}: missing or damaged; delete {path.parent} and run the same command again")
