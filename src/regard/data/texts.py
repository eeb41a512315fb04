"""Text for language models, encoded on disk: one array of ids that is mapped into memory, and where its documents begin.

    ids          every token of every document; after each line its mark: the end mark where a line is a document, else a line end
    offsets      where each document begins, and at last where the last one ends
    texts.json   format, counts and types

Writing holds one chunk of text at a time. It knows nothing of files of text.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import OFFSET, damaged, mapped
from regard.data.encoding import id_type
from regard.files import to_json
from regard.text.lines import newline_of
from regard.text.tokenizer import Tokenizer

FORMAT = 1
DESCRIPTION = "texts.json"
CHUNK_LINES = 20_000

Documents = Literal["file", "line"]


@dataclass(frozen=True, slots=True)
class TextCounts:
    """What a text holds, as the tokeniser spells it."""

    lines: int = 0
    empty: int = 0  # left out, where a line is a document
    words: int = 0
    bytes: int = 0  # of UTF-8, line ends included
    tokens: int = 0


class TextCorpus:
    """The documents of a directory that `write_texts` filled."""

    def __init__(self, directory: Path) -> None:
        path = directory / DESCRIPTION
        try:
            description = json.loads(path.read_text(encoding="utf-8"))
            self.counts = TextCounts(**description["counts"])
            self.ids: NDArray[np.integer[Any]] = mapped(
                directory / "ids", np.dtype(description["type"]), self.counts.tokens
            )
            self.offsets: NDArray[np.int64] = mapped(directory / "offsets", OFFSET, int(description["documents"]) + 1)
        except (OSError, ValueError, KeyError, TypeError):
            raise damaged(path) from None

    @property
    def begins(self) -> NDArray[np.int64]:
        """Where each document begins."""
        return self.offsets[:-1]


def write_texts(directory: Path, lines: Iterable[str], tokenizer: Tokenizer, documents: Documents) -> TextCounts:
    """Encode `lines` into `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    pack, kind = tokenizer.packer(), id_type(tokenizer)
    mark = tokenizer.vocabulary.EOS if documents == "line" else newline_of(tokenizer.vocabulary)
    read = empty = words = size = tokens = 0
    ends: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
    stream = iter(lines)
    with (directory / "ids").open("wb") as file:
        while some := list(islice(stream, CHUNK_LINES)):
            read += len(some)
            if documents == "line":
                full = [line for line in some if not line.isspace() and line]
                empty += len(some) - len(full)
                some = full
            spelled = [tokenizer.normalise(line) for line in some]
            words += sum(len(line.split()) for line in spelled)
            size += sum(len(line.encode()) + 1 for line in spelled)
            packed = pack(some)
            after = np.cumsum(packed.lengths)
            file.write(np.insert(packed.ids, after, mark).astype(kind).tobytes())
            ends.append(tokens + after + np.arange(1, len(some) + 1))
            tokens += len(packed.ids) + len(some)
    offsets = np.concatenate(ends) if documents == "line" else np.array([0, tokens])
    (directory / "offsets").write_bytes(offsets.astype(OFFSET).tobytes())
    counts = TextCounts(lines=read, empty=empty, words=words, bytes=size, tokens=tokens)
    description = {"format": FORMAT, "type": kind.str, "documents": len(offsets) - 1, "counts": asdict(counts)}
    (directory / DESCRIPTION).write_text(to_json(description), encoding="utf-8")
    return counts
