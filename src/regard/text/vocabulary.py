"""Vocabularies: pieces, their ids, and decoding.

All tokenisers share the same conventions: the end mark is 0, the unknown mark is 1, padding is last; `▁` is a space; `<0x00>` to
`<0xFF>` are single bytes of UTF-8. Decoding is therefore the same for all. The names of the marks are `</s>`, `<unk>` and `<pad>`; an
imported vocabulary may have others, further pieces without text, and spellings of its own. It does not know how text is segmented.
"""

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

from regard.errors import TextError
from regard.text.normalise import SPACE_MARK, is_dropped, tidy
from regard.text.reserved import Reserved, found_in

END, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
FIXED_NAMES = re.compile(r"<(/s|unk|pad|0x[0-9A-F]{2})>")  # the same pieces, where they occur in ordinary text


class Marks(NamedTuple):
    """The pieces of the ids 0, 1 and the last."""

    end: str = END
    unknown: str = UNKNOWN
    pad: str = PAD


_SPELLINGS = {piece: chr(byte) if byte < 0x80 else chr(0xDC00 + byte) for byte, piece in enumerate(BYTE_PIECES)} | {
    END: "",
    PAD: "",
    UNKNOWN: "\ufffd",
}
"""The text of the pieces that are not their own text; a byte above 0x7F is a surrogate escape."""


class Vocabulary:
    """The pieces of a tokeniser; a piece's index is its id."""

    EOS = 0
    UNK = 1

    def __init__(
        self,
        pieces: Sequence[str],
        marks: Marks = Marks(),  # noqa: B008
        silent: Collection[str] = (),
        spellings: Sequence[str] | None = None,
    ) -> None:
        """silent: pieces that are no text, such as reserved ones; they are decoded to nothing.

        spellings: the text of each piece, where the conventions above do not hold.
        """
        self.pieces = tuple(pieces)
        self.marks = marks
        self._ids = {piece: index for index, piece in enumerate(self.pieces)}
        if self.pieces[:2] != marks[:2] or self.pieces[-1] != marks.pad:
            raise TextError(
                f"a vocabulary starts with {marks.end} and {marks.unknown} and ends with {marks.pad}, not {self.pieces[:2]}"
            )
        if len(self._ids) != len(self.pieces):
            twice = next(piece for index, piece in enumerate(self.pieces) if self._ids[piece] != index)
            raise TextError(f"piece {twice!r} is twice in the vocabulary")
        self.silent = frozenset(silent)
        usual = ("" if piece in self.silent else _SPELLINGS.get(piece, piece) for piece in self.pieces)
        self._spellings = list(usual if spellings is None else spellings)

    @property
    def pad(self) -> int:
        """The id of padding: the last."""
        return len(self.pieces) - 1

    def __len__(self) -> int:
        return len(self.pieces)

    def __contains__(self, piece: str) -> bool:
        return piece in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.pieces == other.pieces

    def __hash__(self) -> int:
        return hash(self.pieces)

    def id_of(self, piece: str) -> int:
        """The id of a piece; a `KeyError` if there is none, since every text can be spelled in bytes."""
        return self._ids[piece]

    def ids_of(self, pieces: Sequence[str]) -> tuple[int, ...]:
        """The id of each piece."""
        ids = self._ids
        return tuple([ids[piece] for piece in pieces])

    def piece(self, index: int) -> str:
        """The piece of an id."""
        if not 0 <= index < len(self.pieces):
            raise IndexError(f"id {index} is outside of the vocabulary of {len(self.pieces)} pieces")
        return self.pieces[index]

    def spelling(self, index: int) -> str:
        """The text of an id, with the space mark for a space; empty for marks and silent pieces."""
        return self._spellings[index]

    def bytes_of(self, text: str) -> list[int]:
        """The ids that spell `text` in bytes."""
        return [self._ids[BYTE_PIECES[byte]] for byte in text.encode("utf-8")]

    @cached_property
    def reserved(self) -> Reserved:
        """The ids of the mask, sentinels, languages and placeholders that it has."""
        return found_in(self.pieces, self.silent)

    @cached_property
    def special(self) -> tuple[int, ...]:
        """The ids that no text is spelled with: the marks and every silent piece, in order."""
        silent = {index for index, piece in enumerate(self.pieces) if piece in self.silent}
        return tuple(sorted(silent | {self.EOS, self.UNK, self.pad}))

    @cached_property
    def newline(self) -> int | None:
        """The id of the line break; None: there is none."""
        return self._spellings.index("\n") if "\n" in self._spellings else None

    def exact(self, ids: Sequence[int]) -> str:
        """The text of `ids` with its spaces and line breaks as they are. Invalid UTF-8 becomes U+FFFD."""
        return self._joined(ids).encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def text(self, ids: Sequence[int]) -> str:
        """The text of `ids` on one line, without end mark and padding. Invalid UTF-8 becomes U+FFFD."""
        joined = self._joined(ids)
        if joined.isprintable():  # neither surrogates nor anything that `tidy` drops, as most texts
            return " ".join(joined.replace(SPACE_MARK, " ").split())
        joined = joined.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return tidy(joined.replace(SPACE_MARK, " "))

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of the word of `text(ids).split(" ")` that it belongs to.

        An id without visible text (a lone space mark, a control byte) belongs to the following word; at the end of the
        line (the end mark, padding) to the last word; and to 0 if the text is empty.
        """
        # Each byte of the line gets the index of its word, or None if it is not visible. Invalid bytes are decoded as
        # one surrogate each, so that bytes can be counted; U+FFFD may stand for several.
        lengths = [len(self._spellings[index].encode("utf-8", "surrogateescape")) for index in ids]
        line = self._joined(ids).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        owners: list[int | None] = []
        word, between = -1, True
        for character in line:
            width = len(character.encode("utf-8", "surrogateescape"))
            if character == SPACE_MARK or character.isspace():
                between = True
                owners.extend([None] * width)
            elif is_dropped(character):
                owners.extend([None] * width)
            else:
                word += between
                between = False
                owners.extend([word] * width)
        return _words_of_tokens(lengths, owners, last=max(word, 0))

    def _joined(self, ids: Sequence[int]) -> str:
        if len(ids) and min(ids) < 0:
            raise IndexError(f"id {min(ids)} is outside of the vocabulary of {len(self.pieces)} pieces")
        spellings = self._spellings
        return "".join([spellings[index] for index in ids])


def _words_of_tokens(lengths: Sequence[int], owners: Sequence[int | None], last: int) -> list[int]:
    """The word of each token, from the words of its bytes. A token without visible bytes gets the word after it."""
    words: list[int] = []
    end, following = len(owners), last
    for length in reversed(lengths):
        shown = [owner for owner in owners[end - length : end] if owner is not None]
        following = shown[0] if shown else following
        words.append(following)
        end -= length
    return words[::-1]
