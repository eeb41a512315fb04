"""Notices input that is hardly in the language a translator reads, by its vocabulary alone. It warns once.

Four signs: most characters of a line have no piece; the target's vocabulary needs far fewer pieces than the source's; the text so far is
cut into far smaller pieces than the validation text; hardly a word of the first lines is a piece. docs/decoding.md has the false alarms.
"""

import re
from collections.abc import Sequence

from regard.bundle.config import Languages
from regard.engine.input_length import MAX_CHARACTERS
from regard.tasks.translate.translation import Source
from regard.text.build import TokenizerPair
from regard.text.normalise import SPACE_MARK
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import BYTE_PIECES, END, PAD, UNKNOWN

MOST = 0.5  # share of a line's characters without a piece
LEAST_CHARACTERS = 8  # a shorter line may be an emoji or a name
TIMES = 1.5  # source pieces for each target piece; text of the source language has at most 1.2
LEAST_PIECES = 8
PIECE_SHARE = 0.5  # characters a piece, beside the mean of the validation text
LEAST_LETTERS = 15  # a shorter text may be one rare name
COMPARED_LINES = 1000  # lines that the target's tokenizer reads too
WHOLE_WORDS = 2000  # pieces that are whole words or their beginnings: with fewer, few words of any text are pieces
JUDGED_WORDS = 60  # words at the beginning of the input
LARGEST_SHARE = ((4, 0.0), (8, 0.13), (12, 0.2), (20, 0.25))  # (words so far, share of them that are pieces)
_WORD = re.compile(r"[^\W\d_]{2,}")


def characters_per_piece(tokenizer: Tokenizer, texts: Sequence[str]) -> float | None:
    """Mean characters, without spaces, of a piece of these texts. None: there is no text."""
    pieces = sum(map(len, tokenizer.encode_batch(texts)))
    return sum(len(tokenizer.normalise(text).replace(" ", "")) for text in texts) / pieces if pieces else None


class LanguageCheck:
    """Looks at the lines of one input in order, until it has warned."""

    def __init__(self, tokenizers: TokenizerPair, languages: Languages, piece_length: float | None = None) -> None:
        """piece_length: mean characters of a piece of the validation text; None: not known."""
        self._source, self._target = tokenizers.source, None if tokenizers.joint else tokenizers.target
        self._reads = languages.source or "the source language"
        self._writes = languages.target or "the target language"
        unknown = {END, PAD, UNKNOWN, *BYTE_PIECES, *self._source.vocabulary.silent}
        pieces = self._source.vocabulary.pieces
        self._characters = [0 if piece in unknown else len(piece.replace(SPACE_MARK, "")) for piece in pieces]
        starts = sum(len(piece) > 2 and piece[0] == SPACE_MARK and piece[1:].isalpha() for piece in pieces)
        self._judges_words = self._source.kind in ("bpe", "unigram") and starts >= WHOLE_WORDS
        self._piece_length = piece_length if self._source.kind in ("bpe", "unigram") else None
        self._letters = self._pieces = 0
        self._words = self._whole_words = 0
        self._warned = False

    def warning(self, first: int, sources: Sequence[Source]) -> tuple[int, str] | None:
        """The place of the first suspicious line, and the warning; None: nothing to say. `first`: the number of the first line, from 0."""
        for place, source in enumerate(sources):
            if self._warned:
                break
            reason = self._reason(first + place, source)
            if reason is not None:
                self._warned = True
                return place, f"line {first + place + 1}: {reason} (this is told once)"
        return None

    def _reason(self, number: int, source: Source) -> str | None:
        text = self._source.normalise(source.text[:MAX_CHARACTERS])
        size = len(text.replace(" ", ""))
        known = sum(map(self._characters.__getitem__, source.ids))
        if size >= LEAST_CHARACTERS and not source.truncated and size - known > MOST * size:
            return f"most of it is unknown to the vocabulary; this model reads {self._reads}"
        if number < COMPARED_LINES and self._is_target(source):
            return f"it looks like {self._writes}, which this model writes; it reads {self._reads}"
        if self._piece_length and self._small_pieces(size, len(source.ids), self._piece_length):
            return (
                "the text so far is cut into far smaller pieces than the training text: another language or subject? "
                f"This model reads {self._reads}"
            )
        if self._judges_words and self._words < JUDGED_WORDS and self._few_words(text):
            return f"hardly a word of the text so far is in the vocabulary; this model reads {self._reads}"
        return None

    def _is_target(self, source: Source) -> bool:
        """Whether the target's vocabulary needs far fewer pieces than the source's. A joint vocabulary cannot tell."""
        if self._target is None or source.truncated or len(source.ids) < LEAST_PIECES:
            return False
        return len(source.ids) >= TIMES * len(self._target.encode(source.text))

    def _small_pieces(self, letters: int, pieces: int, expected: float) -> bool:
        """Whether the pieces of the input so far, up to this line, are far shorter than expected."""
        self._letters += letters
        self._pieces += pieces
        return self._letters >= LEAST_LETTERS and self._letters < PIECE_SHARE * expected * self._pieces

    def _few_words(self, text: str) -> bool:
        """Whether hardly a word of the input so far, up to this line, is a piece."""
        words = _WORD.findall(text)
        self._words += len(words)
        self._whole_words += sum(SPACE_MARK + word in self._source.vocabulary for word in words)
        shares = [share for least, share in LARGEST_SHARE if self._words >= least]
        return bool(shares) and self._whole_words <= shares[-1] * self._words
