"""Text normalisation: Unicode form, no control characters, single spaces. It takes linear time, whatever the text.

Normalised text has no surrogate, no U+2581 (the space mark of the pieces) and no white space but single spaces between
words. Everything downstream relies on this. It knows no tokeniser.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

Form = Literal["nfc", "nfkc", "none"]

SPACE_MARK = "▁"  # U+2581, sentencepiece's visible space
LONGEST_RUN = 256
"""Combining marks in a row that are put in order. Ordering takes time with the square of their number; no language has so many."""

_LEADING_MARKS = frozenset(
    "\u0f73\u0f75\u0f81\uff9e\uff9f"
)  # no marks themselves, but their decompositions begin with one

# Control characters are dropped, except those that are white space (tab, line breaks, U+001C..U+001F, U+0085), and so
# is the byte order mark. Format characters such as the joiners of emoji and Persian stay.
_DROPPED = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff"
_UNWANTED = re.compile(f"[{_DROPPED}]")
_FOREIGN = re.compile(f"[{_DROPPED}\ud800-\udfff]")


def normalise(text: str, form: Form = "nfc", lowercase: bool = False) -> str:
    """The normalised text. Idempotent."""
    return " ".join(_respelled(text, form, lowercase).split())


def words_with_text_ends(texts: Sequence[str], form: Form = "nfc", lowercase: bool = False) -> list[str]:
    """The normalised words of all texts in one list, with a space mark after each text."""
    if not texts:
        return []
    text_end = f" {SPACE_MARK} "
    return (text_end.join([_respelled(text, form, lowercase) for text in texts]) + text_end).split()


def tidy(text: str) -> str:
    """`text` on one line: control characters dropped, white space collapsed. For generated text."""
    return " ".join(_UNWANTED.sub("", text).split())


def is_dropped(character: str) -> bool:
    """Whether `tidy` removes this character."""
    return _UNWANTED.match(character) is not None


def _respelled(text: str, form: Form, lowercase: bool) -> str:
    """`normalise` without collapsing white space."""
    if not text.isprintable() and _FOREIGN.search(
        text
    ):  # a fast test: most texts are printable, and none of these characters is
        # Before the Unicode form: a letter and its accent compose only when nothing stands between them.
        text = _FOREIGN.sub(_replaced, text)
    text = _formed(text, form)
    if lowercase:
        text = _formed(text.lower(), form)  # "H" + U+0331 has no composed form, "h" + U+0331 has
    return text.replace(SPACE_MARK, "_")


def _replaced(match: re.Match[str]) -> str:
    """U+FFFD for a surrogate, nothing for a control character."""
    return "\ufffd" if "\ud800" <= match.group() <= "\udfff" else ""


def _formed(text: str, form: Form) -> str:
    if form == "none" or text.isascii():
        return text
    name: Literal["NFC", "NFKC"] = "NFC" if form == "nfc" else "NFKC"
    if len(text) > LONGEST_RUN:
        if unicodedata.is_normalized(name, text):  # takes linear time: it stops where marks are out of order
            return text
        text = _shorten_runs(text)
    return unicodedata.normalize(name, text)


def decomposed(text: str) -> str:
    """The NFD form, in linear time: of many combining marks in a row the first `LONGEST_RUN` are kept."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFD", text if len(text) <= LONGEST_RUN else _shorten_runs(text))


def _shorten_runs(text: str) -> str:
    """The text with at most `LONGEST_RUN` combining marks in a row; the others are dropped."""
    if all(len(word) <= LONGEST_RUN for word in text.split()):
        return text
    if not any(map(unicodedata.combining, text)) and _LEADING_MARKS.isdisjoint(text):
        return text
    kept: list[str] = []
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) or character in _LEADING_MARKS else 0
        if run <= LONGEST_RUN:
            kept.append(character)
    return "".join(kept)
