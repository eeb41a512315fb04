"""Marks around a text: pieces that a network wants before and after it, such as `<s>` for BART and a language code for mBART.

They are put around what the tokeniser reads, and decoded to nothing. The end mark comes after them. It opens no files.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.errors import TextError
from regard.settings import Record
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from regard.text.packed import Packer


class MarksRecord(Record):
    """The pieces around the texts of one side."""

    begin: tuple[str, ...] = ()
    """Before a text. Of a target they are where every output begins."""
    end: tuple[str, ...] = ()
    """Behind a text, before the end mark."""


class MarkedTokenizer:
    """A tokeniser that puts marks around what it encodes. A text without pieces gets none."""

    def __init__(self, inner: Tokenizer, marks: MarksRecord) -> None:
        unknown = next((piece for piece in (*marks.begin, *marks.end) if piece not in inner.vocabulary), None)
        if unknown is not None:
            raise TextError(f"the mark {unknown!r} is no piece of the vocabulary")
        self.inner, self.marks = inner, marks
        self.begin, self.end = (list(inner.vocabulary.ids_of(part)) for part in (marks.begin, marks.end))

    @property
    def kind(self) -> str:
        return self.inner.kind

    @property
    def form(self) -> str:
        return self.inner.form

    @property
    def lowercase(self) -> bool:
        return self.inner.lowercase

    @property
    def keeps_lines(self) -> bool:
        return self.inner.keeps_lines

    @property
    def vocabulary(self) -> Vocabulary:
        return self.inner.vocabulary

    def normalise(self, text: str) -> str:
        return self.inner.normalise(text)

    def encode(self, text: str) -> list[int]:
        return self._marked(self.inner.encode(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._marked(ids) for ids in self.inner.encode_batch(texts)]

    def packer(self) -> "Packer":
        from regard.text.packed import pack

        return lambda texts: pack(self.encode_batch(texts))

    def decode(self, ids: Sequence[int]) -> str:
        return self.inner.decode(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.inner.words(ids)

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        return list(ids)

    def files(self) -> dict[str, bytes]:
        return self.inner.files()

    def _marked(self, ids: list[int]) -> list[int]:
        return [*self.begin, *ids, *self.end] if ids else ids


def shortened(tokenizer: Tokenizer, ids: list[int], most: int) -> list[int]:
    """At most so many ids of an encoded text. The marks behind it are kept: mBART's source ends with its language."""
    end = tokenizer.end if isinstance(tokenizer, MarkedTokenizer) else []
    return ids if len(ids) <= most else [*ids[: max(0, most - len(end))], *end][:most]


def marks_of(tokenizer: Tokenizer) -> MarksRecord:
    """The marks around the texts of a tokeniser; none for most."""
    return tokenizer.marks if isinstance(tokenizer, MarkedTokenizer) else MarksRecord()


def unmarked(tokenizer: Tokenizer) -> Tokenizer:
    """The tokeniser without marks, for a part of a text."""
    return tokenizer.inner if isinstance(tokenizer, MarkedTokenizer) else tokenizer


def marked(tokenizer: Tokenizer, marks: MarksRecord) -> Tokenizer:
    """The tokeniser with these marks, if there are any."""
    return MarkedTokenizer(tokenizer, marks) if marks.begin or marks.end else tokenizer
