"""Text in one spelling: Unicode form, no control characters, single spaces.

Everything downstream relies on what comes out: it holds no surrogate and no U+2581 (the space mark of the pieces), and
white space is one space between two words and nowhere else. Knows no tokeniser.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

Form = Literal["nfc", "nfkc", "none"]

SPACE_MARK = "▁"  # U+2581, sentencepiece's visible space

# Control characters are dropped, except those that are white space (tab, line breaks, U+001C..U+001F, U+0085), and so
# is the byte order mark. Format characters such as the joiners of emoji and Persian stay.
_DROPPED = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff"
_UNWANTED = re.compile(f"[{_DROPPED}]")
_FOREIGN = re.compile(f"[{_DROPPED}\ud800-\udfff]")


def normalise(text: str, form: Form = "nfc", lowercase: bool = False) -> str:
    """`text` in its one spelling. Applying it twice changes nothing more."""
    return " ".join(_respelled(text, form, lowercase).split())


def words_in_a_row(texts: Sequence[str], form: Form = "nfc", lowercase: bool = False) -> list[str]:
    """The words of `normalise` of each text, one text after the other, with a space mark behind each text."""
    if not texts:
        return []
    behind = f" {SPACE_MARK} "
    return (behind.join([_respelled(text, form, lowercase) for text in texts]) + behind).split()


def tidy(text: str) -> str:
    """Drop control characters and collapse white space: what a model generates, made fit for one line of output."""
    return " ".join(_UNWANTED.sub("", text).split())


def is_dropped(character: str) -> bool:
    """Whether `tidy` removes this character."""
    return _UNWANTED.match(character) is not None


def _respelled(text: str, form: Form, lowercase: bool) -> str:
    """All of `normalise` but white space."""
    if not text.isprintable() and _FOREIGN.search(text):  # what is searched for is not printable, and most texts are
        # Before the Unicode form: a letter and its accent compose only when nothing stands between them.
        text = _FOREIGN.sub(_replaced, text)
    text = _formed(text, form)
    if lowercase:
        text = _formed(text.lower(), form)  # "H" + U+0331 has no composed form, "h" + U+0331 has
    return text.replace(SPACE_MARK, "_")


def _replaced(match: re.Match[str]) -> str:
    """A surrogate is half a character that cannot be written; its place is kept."""
    return "\ufffd" if "\ud800" <= match.group() <= "\udfff" else ""


def _formed(text: str, form: Form) -> str:
    if form == "none" or text.isascii():
        return text
    return unicodedata.normalize("NFC" if form == "nfc" else "NFKC", text)
