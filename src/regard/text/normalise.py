"""Text normalisation: Unicode form, no control characters, single spaces.

Normalised text has no surrogate, no U+2581 (the space mark of the pieces) and no white space but single spaces between
words. Everything downstream relies on this. It knows no tokeniser.
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
    return unicodedata.normalize("NFC" if form == "nfc" else "NFKC", text)
