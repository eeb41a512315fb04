"""The tokeniser of an imported model: a sentencepiece model as it is, and the pieces of the vocabulary in the order of their ids.

Its normalisation is inside of the sentencepiece model, and it may have no pieces for bytes. So a text does not come back as it was:
rare characters become the unknown mark. It opens no files.
"""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from regard.errors import TextError
from regard.settings import Record
from regard.text.config import Kind
from regard.text.normalise import Form, normalise
from regard.text.protobuf import check_imported_model
from regard.text.vocabulary import Marks, Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from regard.text.packed import Packer

PIECES_SUFFIX = ".pieces.json"
_LANGUAGE_BEGIN, _LANGUAGE_END = ">>", "<<"


class VocabularyRecord(Record):
    """The content of `.pieces.json`."""

    pieces: Annotated[tuple[str, ...], Field(min_length=3)]
    """In the order of their ids: the end mark, the unknown mark, the others, the start and padding mark."""
    silent: tuple[str, ...] = ()
    """The pieces that are no text, such as the marks."""


class ImportedSentencePiece:
    """A sentencepiece model whose pieces have the ids of another vocabulary. A piece that is not in it is unknown."""

    kind: Kind = "sentencepiece"
    form: Form = "none"
    lowercase = False
    keeps_lines = False

    def __init__(self, model: bytes, record: VocabularyRecord) -> None:
        import sentencepiece

        self._model, self._record = model, record
        pieces = record.pieces
        try:
            check_imported_model(model)
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            self._processor.encode("a b", out_type=str)
        except (RuntimeError, ValueError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0].strip()
            raise TextError(f"not a sentencepiece model ({reason})") from None
        self.vocabulary = Vocabulary(pieces, Marks(pieces[0], pieces[1], pieces[-1]), record.silent)
        self._ids = {piece: index for index, piece in enumerate(pieces)}

    def __reduce__(self) -> tuple[Callable[..., "ImportedSentencePiece"], tuple[Any, ...]]:
        return ImportedSentencePiece, (self._model, self._record)

    def normalise(self, text: str) -> str:
        return normalise(text, "none")

    def encode(self, text: str) -> list[int]:
        """The ids of a text. A language code such as `>>fra<<` at its beginning is one piece, if the vocabulary has it."""
        line, code = self.normalise(text), []
        end = line.find(_LANGUAGE_END)
        if line.startswith(_LANGUAGE_BEGIN) and line[: end + 2] in self._ids:
            code, line = [self._ids[line[: end + 2]]], line[end + 2 :]
        pieces: list[str] = self._processor.encode(line, out_type=str)
        return code + [self._ids.get(piece, Vocabulary.UNK) for piece in pieces]

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        return list(ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def packer(self) -> "Packer":
        from regard.text.packed import pack

        return lambda texts: pack(self.encode_batch(texts))

    def decode(self, ids: Sequence[int]) -> str:
        return self.vocabulary.text(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.vocabulary.words(ids)

    def files(self) -> dict[str, bytes]:
        record = json.dumps(self._record.model_dump(mode="json"), ensure_ascii=False)
        return {".spm": self._model, PIECES_SUFFIX: record.encode("utf-8")}
