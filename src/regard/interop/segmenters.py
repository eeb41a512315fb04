"""How an imported tokenizer cuts text, apart from the ids of its pieces: a sentencepiece model, merges of bytes, or BERT's rules.

Each makes the tokenizer of a vocabulary that was put into regard's order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import BundleError, TextError
from regard.text.byte_bpe import ByteBpeRecord, ByteBpeTokenizer
from regard.text.char import CharTokenizer
from regard.text.config import Kind
from regard.text.imported import ImportedSentencePiece, VocabularyRecord
from regard.text.normalise import Form
from regard.text.subword import SubwordTokenizer
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import BYTE_PIECES
from regard.text.wordpiece import WordPieceRecord, WordPieceTokenizer


@dataclass(frozen=True)
class SentencePieceModel:
    """A sentencepiece model, which has the pieces' names."""

    content: bytes

    def tokenizer(self, record: VocabularyRecord) -> Tokenizer:
        return ImportedSentencePiece(self.content, record)


@dataclass(frozen=True)
class ByteMerges:
    """Merges of bytes, each two pieces with a space between them."""

    path: Path
    merges: Sequence[str]
    prefix_space: bool
    unknown: bool
    """Whether there is an unknown mark, for bytes without a piece."""

    def tokenizer(self, record: VocabularyRecord) -> Tokenizer:
        own = ByteBpeRecord(
            pieces=record.pieces,
            silent=record.silent,
            merges=tuple(self.merges),
            prefix_space=self.prefix_space,
            unknown=self.unknown,
        )
        try:
            return ByteBpeTokenizer(own)
        except TextError as error:
            raise BundleError(f"{self.path}: {error}; it does not fit the vocabulary; copy both again") from None


@dataclass(frozen=True)
class WordPieces:
    """BERT's rules; its pieces are those of the vocabulary."""

    rules: WordPieceRecord
    """Its own pieces are not used."""

    def tokenizer(self, record: VocabularyRecord) -> Tokenizer:
        return WordPieceTokenizer(self.rules.model_copy(update={"pieces": record.pieces, "silent": record.silent}))


@dataclass(frozen=True)
class OwnPieces:
    """A tokenizer that regard exported: its kind and normalisation, and a sentencepiece model of its pieces, or characters."""

    path: Path
    kind: Kind
    form: Form
    lowercase: bool
    content: bytes

    def tokenizer(self, record: VocabularyRecord) -> Tokenizer:
        reserved = record.pieces[2 : record.pieces.index(BYTE_PIECES[0])]  # between the marks and the bytes
        try:
            if self.kind == "char":
                first = len(BYTE_PIECES) + 3 + len(reserved)  # behind the marks, the bytes and the space
                made: Tokenizer = CharTokenizer(record.pieces[first:-1], self.form, self.lowercase, reserved)
            else:
                made = SubwordTokenizer(self.content, self.kind, self.form, self.lowercase, reserved)
        except TextError as error:
            raise BundleError(f"{self.path}: {error}; export the model again") from None
        if made.vocabulary.pieces != record.pieces:
            raise BundleError(f"{self.path}: its pieces are not in the order of regard; export the model again")
        return made


Segmenter = SentencePieceModel | ByteMerges | WordPieces | OwnPieces
