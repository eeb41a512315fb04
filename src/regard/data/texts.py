"""The encoded text of a language model on disk, mapped into memory.

    ids          the tokens of all documents; each line ends with the end mark if a line is a document, else with a newline token
    offsets      the offset of each document, and the total
    texts.json   format, counts and types

Writing holds one chunk of text in memory. It reads no text files.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import OFFSET, MappedFiles, damaged_file, read_description, stored_type
from regard.data.encoding import id_type
from regard.errors import ResourceError
from regard.files import to_json
from regard.text.lines import newline_of
from regard.text.tokenizer import Tokenizer

FORMAT = 1
DESCRIPTION = "texts.json"
FILES = (DESCRIPTION, "ids", "offsets")
CHUNK_LINES = 20_000

Documents = Literal["file", "line"]


@dataclass(frozen=True, slots=True)
class TextCounts:
    """The numbers of lines, words, bytes and tokens of a normalised text."""

    lines: int = 0
    empty: int = 0  # skipped if a line is a document
    words: int = 0
    bytes: int = 0  # of UTF-8, line ends included
    tokens: int = 0


class TextCorpus:
    """The encoded documents that `write_texts` wrote to a directory."""

    def __init__(self, directory: Path) -> None:
        self.files = MappedFiles()
        path = directory / DESCRIPTION
        try:
            description = read_description(path)
            self.counts = TextCounts(**description["counts"])
            self.ids: NDArray[np.integer[Any]] = self.files.map(
                directory / "ids", stored_type(description["type"]), self.counts.tokens
            )
            self.offsets: NDArray[np.int64] = self.files.map(
                directory / "offsets", OFFSET, int(description["documents"]) + 1
            )
        except ResourceError:
            raise
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            raise damaged_file(path) from None

    @property
    def begins(self) -> NDArray[np.int64]:
        """The offset of each document."""
        return self.offsets[:-1]


def write_texts(directory: Path, lines: Iterable[str], tokenizer: Tokenizer, documents: Documents) -> TextCounts:
    """Encode lines into `directory`; return their counts."""
    directory.mkdir(parents=True, exist_ok=True)
    pack, kind = tokenizer.packer(), id_type(tokenizer)
    mark = tokenizer.vocabulary.EOS if documents == "line" else newline_of(tokenizer.vocabulary)
    read = empty = words = size = tokens = 0
    ends: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
    stream = iter(lines)
    with (directory / "ids").open("wb") as file:
        while chunk := list(islice(stream, CHUNK_LINES)):
            read += len(chunk)
            if documents == "line":
                not_blank = [line for line in chunk if not line.isspace() and line]
                empty += len(chunk) - len(not_blank)
                chunk = not_blank
            normalised = [tokenizer.normalise(line) for line in chunk]
            words += sum(len(line.split()) for line in normalised)
            size += sum(len(line.encode()) + 1 for line in normalised)
            packed = pack(chunk)
            after = np.cumsum(packed.lengths)
            file.write(np.insert(packed.ids, after, mark).astype(kind).tobytes())
            ends.append(tokens + after + np.arange(1, len(chunk) + 1))
            tokens += len(packed.ids) + len(chunk)
    offsets = np.concatenate(ends) if documents == "line" else np.array([0, tokens])
    (directory / "offsets").write_bytes(offsets.astype(OFFSET).tobytes())
    counts = TextCounts(lines=read, empty=empty, words=words, bytes=size, tokens=tokens)
    description = {"format": FORMAT, "type": kind.str, "documents": len(offsets) - 1, "counts": asdict(counts)}
    (directory / DESCRIPTION).write_text(to_json(description), encoding="utf-8")
    return counts
