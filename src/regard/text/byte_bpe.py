"""Byte-level BPE, the tokeniser of GPT-2 and BART: every text is bytes, and bytes are merged to pieces inside of words.

A word is what the pattern of GPT-2 says: letters, numbers or other signs, each with the space before it. Spaces and line breaks are pieces
like any other, so that a text of several lines is read as one. A piece is named by one visible sign for each of its bytes (`Ġthe` is
" the"). It opens no files.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from regard.errors import TextError
from regard.settings import Record
from regard.text.config import Kind
from regard.text.merges import merged
from regard.text.normalise import Form, tidy
from regard.text.unicode_classes import SPACES, letters_and_numbers
from regard.text.vocabulary import Marks, Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from regard.text.packed import Packer

BYTE_BPE_SUFFIX = ".bpe.json"
_MEMO_WORDS, _MEMO_CHARACTERS = 100_000, 64  # words in the cache, and the longest that is kept
_SURROGATES = re.compile("[\ud800-\udfff]")


def _signs() -> list[str]:
    """The visible sign of each byte: itself where Latin-1 prints it, else one of those from U+0100 on."""
    printed = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printed else next(others)) for byte in range(256)]


SIGNS = _signs()
_BYTE_OF = {sign: byte for byte, sign in enumerate(SIGNS)}


class ByteBpeRecord(Record):
    """The content of `.bpe.json`."""

    pieces: Annotated[tuple[str, ...], Field(min_length=3)]
    """In the order of their ids: the end mark, the unknown mark if there is one, the others, the start and padding mark."""
    silent: tuple[str, ...] = ()
    """The pieces that are no text, such as the marks."""
    merges: tuple[str, ...]
    """The merges in the order of their rank: two pieces with a space between them."""
    prefix_space: bool = False
    """Whether a space is put before a text that has none."""
    unknown: bool = False
    """Whether a byte without a piece becomes the unknown mark; else it is left out."""


class ByteBpeTokenizer:
    """Byte-level BPE whose pieces have the ids of an imported vocabulary."""

    kind: Kind = "byte_bpe"
    form: Form = "none"
    lowercase = False
    keeps_lines = True

    def __init__(self, record: ByteBpeRecord) -> None:
        self._record = record
        pieces, silent = record.pieces, frozenset(record.silent)
        spellings = ["" if piece in silent else _spelling(piece) for piece in pieces]
        self.vocabulary = Vocabulary(pieces, Marks(pieces[0], pieces[1], pieces[-1]), silent, spellings)
        ids = {piece: index for index, piece in enumerate(pieces) if piece not in silent}
        missing = [Vocabulary.UNK] if record.unknown else []
        self._bytes = [[ids[sign]] if sign in ids else missing for sign in SIGNS]
        self._merges: dict[tuple[int, int], tuple[int, int]] = {}
        for rank, merge in enumerate(record.merges):
            left, _, right = merge.partition(" ")
            unknown = next((piece for piece in (left, right, left + right) if piece not in ids), None)
            if unknown is not None:
                raise TextError(f"merge {rank + 1}, {merge!r}: no piece {unknown!r} in the vocabulary")
            self._merges[ids[left], ids[right]] = (rank, ids[left + right])
        self._words: dict[str, list[int]] = {}

    def __reduce__(self) -> tuple[Callable[..., "ByteBpeTokenizer"], tuple[Any, ...]]:
        return ByteBpeTokenizer, (self._record,)

    def normalise(self, text: str) -> str:
        return tidy(_SURROGATES.sub("\ufffd", text))

    def encode(self, text: str) -> list[int]:
        """The ids of a text, line breaks included."""
        whole = _SURROGATES.sub("\ufffd", text)
        if self._record.prefix_space and whole and whole[0] != " ":
            whole = f" {whole}"
        ids: list[int] = []
        for word in word_pattern().findall(whole):
            known = self._words.get(word)
            ids += self._segment(word) if known is None else known
        return ids

    def _segment(self, word: str) -> list[int]:
        ids = merged([index for byte in word.encode() for index in self._bytes[byte]], self._merges)
        if len(word) <= _MEMO_CHARACTERS:
            if len(self._words) >= _MEMO_WORDS:
                self._words.clear()
            self._words[word] = ids
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def packer(self) -> "Packer":
        from regard.text.packed import pack

        return lambda texts: pack(self.encode_batch(texts))

    def decode(self, ids: Sequence[int]) -> str:
        return tidy(self.decode_lines(ids))

    def decode_lines(self, ids: Sequence[int]) -> str:
        """The text of `ids` with its spaces and line breaks."""
        return self.vocabulary.exact(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.vocabulary.words(ids)

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        return list(ids)

    def files(self) -> dict[str, bytes]:
        return {BYTE_BPE_SUFFIX: json.dumps(self._record.model_dump(mode="json"), ensure_ascii=False).encode()}


def _spelling(piece: str) -> str:
    """The text of a piece, with a surrogate for each byte that is not UTF-8 by itself. A piece that is no row of bytes is its own text."""
    if not all(sign in _BYTE_OF for sign in piece):
        return piece
    return bytes(map(_BYTE_OF.__getitem__, piece)).decode("utf-8", "surrogateescape")


@cache
def word_pattern() -> re.Pattern[str]:
    """GPT-2's words: endings after an apostrophe; letters, numbers or other signs with the space before them; white space."""
    letters, numbers = letters_and_numbers()
    spaces = "".join(f"\\U{ord(sign):08x}" for sign in sorted(SPACES))
    return re.compile(
        f"'s|'t|'re|'ve|'m|'ll|'d| ?[{letters}]+| ?[{numbers}]+| ?[^{spaces}{letters}{numbers}]+"
        f"|[{spaces}]+(?![^{spaces}])|[{spaces}]+"
    )
