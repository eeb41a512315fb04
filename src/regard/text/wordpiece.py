"""WordPiece, the tokeniser of BERT: words and punctuation, and of each word the longest pieces from the left (Schuster and Nakajima 2012).

A word without such pieces is unknown as a whole. Decoding gives words and punctuation with single spaces between them: what BERT removed
does not come back. It opens no files.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from regard.settings import Record
from regard.text.config import Kind
from regard.text.normalise import SPACE_MARK, Form, decomposed, tidy
from regard.text.unicode_classes import SPACES, accents, dropped, ideographs, punctuation
from regard.text.vocabulary import Marks, Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from regard.text.packed import Packer

WORDPIECE_SUFFIX = ".wordpiece.json"


class WordPieceRecord(Record):
    """The content of `.wordpiece.json`."""

    pieces: Annotated[tuple[str, ...], Field(min_length=3)]
    """In the order of their ids: the end mark, the unknown mark, the others, padding."""
    silent: tuple[str, ...] = ()
    """The pieces that are no text, such as the marks."""
    continuing: Annotated[str, Field(min_length=1, max_length=16)] = "##"
    """What the name of a piece inside of a word begins with."""
    longest_word: Annotated[int, Field(ge=1, le=1000)] = 100
    """Characters of a word; a longer one is unknown."""
    clean: bool = True
    """Remove control characters."""
    split_ideographs: bool = True
    """Make each Chinese character a word."""
    strip_accents: bool = True
    """Remove the marks of letters."""
    lowercase: bool = True
    """Lowercase all text."""


class WordPieceTokenizer:
    """WordPiece whose pieces have the ids of an imported vocabulary."""

    kind: Kind = "wordpiece"
    form: Form = "none"
    lowercase = False  # of `text.lowercase`: here the record decides
    keeps_lines = False

    def __init__(self, record: WordPieceRecord) -> None:
        self._record = record
        pieces, silent, mark = record.pieces, frozenset(record.silent), record.continuing
        spellings = [
            "" if piece in silent else piece.removeprefix(mark) if piece.startswith(mark) else SPACE_MARK + piece
            for piece in pieces
        ]
        self.vocabulary = Vocabulary(pieces, Marks(pieces[0], pieces[1], pieces[-1]), silent, spellings)
        usable = {piece: index for index, piece in enumerate(pieces[:-1])}
        self._first = usable
        self._inside = {piece.removeprefix(mark): index for piece, index in usable.items() if piece.startswith(mark)}
        self._longest = max(map(len, pieces))

    def __reduce__(self) -> tuple[Callable[..., "WordPieceTokenizer"], tuple[Any, ...]]:
        return WordPieceTokenizer, (self._record,)

    def normalise(self, text: str) -> str:
        """The words and signs of a text with single spaces between them. Unknown words are still there."""
        return tidy(" ".join(self._split(text)))

    def encode(self, text: str) -> list[int]:
        return [index for word in self._split(text) for index in self._pieces(word)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        return list(ids)

    def packer(self) -> "Packer":
        from regard.text.packed import pack

        return lambda texts: pack(self.encode_batch(texts))

    def decode(self, ids: Sequence[int]) -> str:
        return self.vocabulary.text(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.vocabulary.words(ids)

    def files(self) -> dict[str, bytes]:
        return {WORDPIECE_SUFFIX: json.dumps(self._record.model_dump(mode="json"), ensure_ascii=False).encode()}

    def _pieces(self, word: str) -> list[int]:
        """The longest pieces from the left; the unknown mark if there is a rest."""
        if len(word) > self._record.longest_word:
            return [Vocabulary.UNK]
        ids, place, table = list[int](), 0, self._first
        while place < len(word):
            for end in range(min(len(word), place + self._longest), place, -1):
                index = table.get(word[place:end])
                if index is not None:
                    break
            else:
                return [Vocabulary.UNK]
            ids.append(index)
            place, table = end, self._inside
        return ids

    def _split(self, text: str) -> Iterator[str]:
        """The words and the signs of punctuation."""
        signs = punctuation()
        word: list[str] = []
        for character in self._normalised(text):
            if character in SPACES or character in signs:
                if word:
                    yield "".join(word)
                    word = []
                if character in signs:
                    yield character
            else:
                word.append(character)
        if word:
            yield "".join(word)

    def _normalised(self, text: str) -> str:
        rules = self._record
        if rules.clean:
            gone = dropped()
            text = "".join([sign for sign in text if sign not in gone and not "\ud800" <= sign <= "\udfff"])
        if rules.split_ideographs:
            chinese = ideographs()
            text = "".join([f" {sign} " if sign in chinese else sign for sign in text])
        if rules.strip_accents:
            marks = accents()
            text = "".join([sign for sign in decomposed(text) if sign not in marks])
        if rules.lowercase:
            text = "".join([sign.lower() for sign in text])  # one by one: no final sigma
        return text
