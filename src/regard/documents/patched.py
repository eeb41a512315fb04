"""`TextDocument`: a document of text of which only the segments are written anew. Everything else stays as it is, byte for byte."""

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.documents.markup import Segment
from regard.errors import DocumentError

MOST_BYTES = 32 << 20
"""The largest document."""


@dataclass(frozen=True)
class Encoding:
    """How the bytes of a document became text."""

    codec: str = "utf-8"
    mark: bytes = b""
    """The byte order mark."""
    errors: str = "strict"
    """What becomes of characters that the codec does not have."""

    def encode(self, text: str) -> bytes:
        """The bytes of a text."""
        return self.mark + text.encode(self.codec, self.errors)


@dataclass(frozen=True)
class Slot:
    """A part of the text that is a segment."""

    start: int
    end: int
    segment: Segment
    write: Callable[[Segment], str]
    """The part with another text."""


class TextDocument:
    """A text and its slots, in order and without overlap."""

    def __init__(self, text: str, encoding: Encoding, slots: Sequence[Slot]) -> None:
        self._text, self._encoding, self._slots = text, encoding, slots

    def segments(self) -> list[Segment]:
        """The texts to translate."""
        return [slot.segment for slot in self._slots]

    def write(self, translations: Sequence[Segment | None]) -> bytes:
        """The document with a translation for each segment; None leaves it as it is."""
        parts, place = list[str](), 0
        for slot, translation in zip(self._slots, translations, strict=True):
            if translation is not None:
                parts += (self._text[place : slot.start], slot.write(translation))
                place = slot.end
        return self._encoding.encode("".join([*parts, self._text[place:]]))


def decoded(content: bytes, name: str) -> tuple[str, Encoding]:
    """The text of a document in UTF-8, or in UTF-16 with its mark."""
    check_size(content, name)
    for mark, codec in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if content.startswith(mark):
            return _decoded(content[len(mark) :], Encoding(codec, mark), name)
    return _decoded(content, Encoding(), name)


def check_size(content: bytes, name: str) -> None:
    """Refuse a document that is too large."""
    if len(content) > MOST_BYTES:
        raise DocumentError(f"{name}: {len(content):,} bytes; {MOST_BYTES:,} are the most of a document: split it")


def _decoded(content: bytes, encoding: Encoding, name: str) -> tuple[str, Encoding]:
    try:
        text = content.decode(encoding.codec)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        wrong = content[error.start : error.start + 1].hex()
        raise DocumentError(
            f"{name}:{line}: not {encoding.codec.upper()} (byte 0x{wrong}); convert it to UTF-8, such as by "
            "`iconv -f WINDOWS-1252 -t UTF-8`"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DocumentError(f"{name}:{line}: a character of zero, which no text has; is it of another format?")
    return text, encoding


def line_of(text: str, place: int) -> int:
    """The number of the line, from 1, of a place in a text."""
    return text.count("\n", 0, place) + 1


def line_end(text: str) -> str:
    """The line end that a text uses."""
    match = re.search(r"\r\n|\n|\r", text)
    return "\n" if match is None else match[0]
