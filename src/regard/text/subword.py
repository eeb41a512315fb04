"""Subword tokenisers by sentencepiece: BPE and unigram, with byte fallback.

sentencepiece learns the pieces and segments text. Normalisation, decoding and BPE-dropout are our own; inside
sentencepiece, normalisation is the identity. It opens no files.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard.errors import TextError
from regard.text.char import frequent_characters
from regard.text.config import Kind, OneTextConfig
from regard.text.normalise import SPACE_MARK, Form, normalise
from regard.text.protobuf import check_model
from regard.text.vocabulary import BYTE_PIECES, FIXED_NAMES, PAD, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from regard.text.dropout import BpeDropout
    from regard.text.packed import Packer

FIXED_PIECES = 2 + len(BYTE_PIECES)  # the end mark, the unknown mark and the bytes
SMALLEST = 300  # the smallest vocabulary size, which leaves room for learned pieces
_LONGEST = 1000  # characters of a training line; sentencepiece refuses long words and skips long lines
_BOUNDARY = "\t"  # in training lines only; normalised text has no tab
RESERVED_BLOCK = "\u2585"  # sentencepiece skips a training line that contains it
_FEW = 16  # lines: for more, a thread of sentencepiece is faster
_THREADS = 4  # constant, because the number of threads changes how unigram's sums are rounded

_PROBE = "The 3 words “naïve”, 中文 and 🙂 <0x41>."


class SubwordTokenizer:
    """A sentencepiece model with our own normalisation and decoding."""

    keeps_lines = False

    def __init__(
        self, model: bytes, kind: Kind, form: Form = "nfc", lowercase: bool = False, reserved: Sequence[str] = ()
    ) -> None:
        """`model` is the content of a `.spm` file, `reserved` its control pieces. A `TextError` says what is wrong with it."""
        import sentencepiece

        self.kind: Kind = kind
        self.form: Form = form
        self.lowercase = lowercase
        self._model, self._reserved = model, tuple(reserved)
        try:
            check_model(model)
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            pieces = self._processor.id_to_piece(list(range(self._processor.get_piece_size())))
            self.vocabulary = Vocabulary([*pieces, PAD], silent=reserved)
            sound = all(piece in self.vocabulary for piece in BYTE_PIECES)
            first = Vocabulary.UNK + 1
            sound = sound and self.vocabulary.pieces[first : first + len(reserved)] == tuple(reserved)
            sound = sound and all(map(self._processor.is_control, range(first, first + len(reserved))))
            # Damage that still parses, such as a changed flag, shows in a round trip.
            sound = sound and self.decode(self.encode(_PROBE)) == self.normalise(_PROBE)
        except (RuntimeError, ValueError, KeyError, IndexError) as error:
            raise TextError(f"not a sentencepiece model ({_first_line(error)})") from None
        if not sound:
            raise TextError("not a sentencepiece model with byte fallback that gives a text back as it was")

    def __reduce__(self) -> tuple[Callable[..., "SubwordTokenizer"], tuple[Any, ...]]:
        return SubwordTokenizer, (self._model, self.kind, self.form, self.lowercase, self._reserved)

    def normalise(self, text: str) -> str:
        return normalise(text, self.form, self.lowercase)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._processor.encode(self.normalise(text))
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return self._segment([self.normalise(text) for text in texts])

    def packer(self) -> "Packer":
        from regard.text.packed import WordPacker, pack

        # Not for unigram: it sums scores over the whole line, and rounding decides between equally good segmentations.
        if self.kind == "bpe" and not any(SPACE_MARK in piece[1:] for piece in self.vocabulary.pieces):
            return WordPacker(self._segment, self.form, self.lowercase)
        return lambda texts: pack(self.encode_batch(texts))

    def decode(self, ids: Sequence[int]) -> str:
        return self.vocabulary.text(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        return self.vocabulary.words(ids)

    def drop(self, ids: Sequence[int], probability: float, generator: "np.random.Generator") -> list[int]:
        return self._dropout(ids, probability, generator) if self.kind == "bpe" else list(ids)

    def _segment(self, lines: list[str]) -> list[list[int]]:
        if len(lines) <= _FEW:
            return [self._processor.encode(line) for line in lines]
        rows: list[list[int]] = self._processor.encode(lines, num_threads=1)
        return rows

    def files(self) -> dict[str, bytes]:
        return {".spm": self._model}

    @cached_property
    def _dropout(self) -> "BpeDropout":
        from regard.text.dropout import BpeDropout

        scores = [self._processor.get_score(index) for index in range(self._processor.get_piece_size())]
        return BpeDropout(self.vocabulary, scores)


def learn_subword(config: OneTextConfig, words: Mapping[str, int], lines: Iterable[str]) -> SubwordTokenizer:
    """A tokeniser learned from the counted words of normalised lines (bpe), or from the lines themselves (unigram)."""
    import sentencepiece

    reserved = config.reserved.names
    size = max(config.vocabulary, SMALLEST)
    in_bytes = _characters_in_bytes(words, config.character_coverage, size - FIXED_PIECES - len(reserved))
    # BPE only needs word counts; unigram needs whole lines.
    counted = config.kind == "bpe"
    names = _names(reserved)
    training_lines = _word_count_lines(words, in_bytes, names) if counted else _training_lines(lines, in_bytes, names)
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=training_lines,
            input_format="tsv" if counted else "text",
            model_writer=model,
            model_type=config.kind,
            vocab_size=size,
            hard_vocab_limit=False,  # a small corpus gives fewer pieces instead of an error
            character_coverage=1.0,  # rare characters are already cut out of the training lines
            required_chars=SPACE_MARK,
            pretokenization_delimiter=_BOUNDARY,
            max_sentence_length=_LONGEST * len(UNKNOWN),  # in bytes
            eos_id=Vocabulary.EOS,
            unk_id=Vocabulary.UNK,
            bos_id=-1,
            pad_id=-1,
            control_symbols=list(reserved),
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=True,
            num_threads=_THREADS,
            minloglevel=3,
        )
    except RuntimeError as error:
        raise TextError(
            f"sentencepiece cannot learn {config.kind} from this corpus of {sum(words.values())} words "
            f"({_first_line(error)}); give it more text, or set kind = 'char'"
        ) from None
    return SubwordTokenizer(model.getvalue(), config.kind, config.form, config.lowercase, reserved)


def _names(reserved: Sequence[str]) -> re.Pattern[str]:
    """The fixed and the reserved pieces, which no learned piece may equal."""
    return re.compile("|".join([FIXED_NAMES.pattern, *map(re.escape, sorted(reserved, key=len, reverse=True))]))


def _word_count_lines(words: Mapping[str, int], in_bytes: set[str], names: re.Pattern[str]) -> Iterator[str]:
    """`word<TAB>count` lines, sentencepiece's input format "tsv"."""
    for word, count in words.items():
        for part in _training_lines([word], in_bytes, names):
            # The tab separates the count here. sentencepiece also takes its own <unk> as a boundary.
            yield f"{part.replace(_BOUNDARY, UNKNOWN)}\t{count}"


def _training_lines(lines: Iterable[str], in_bytes: set[str], names: re.Pattern[str]) -> Iterator[str]:
    """Lines for sentencepiece's trainer: short enough, with a boundary that no piece may cross around characters in bytes."""
    table = dict.fromkeys(map(ord, in_bytes), _BOUNDARY)
    for line in lines:
        rest = line.translate(table) if not in_bytes.isdisjoint(line) else line
        if "<" in rest:
            rest = names.sub(lambda match: f"{match[0][0]}{_BOUNDARY}{match[0][1:]}", rest)
        while len(rest) > _LONGEST:
            space = rest.rfind(" ", 1, _LONGEST + 1)
            cut = space if space > 0 else _LONGEST
            yield rest[:cut]
            rest = rest[cut:].removeprefix(" ")
        if rest:
            yield rest


def _characters_in_bytes(words: Mapping[str, int], coverage: float, room: int) -> set[str]:
    """The rare characters that are spelled in bytes instead of getting a piece.

    `coverage` decides how many. If not all characters fit, the most frequent get half of the room; the other half is
    left for longer pieces.
    """
    characters: set[str] = set().union(*words)
    fit = len(characters) + 1 < room  # the space has a piece too
    if coverage == 1.0 and fit:
        return {RESERVED_BLOCK}
    limit = len(characters) if fit else room // 2
    return (characters - set(frequent_characters(words, coverage, limit))) | {RESERVED_BLOCK}


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].strip()
