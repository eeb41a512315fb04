"""The exceptions of regard for mistakes of the user, and `shown`: how text of others appears in a message.

Every room may import this module. The command line prints the message of a `RegardError` and exits with code 2. Any
other exception that escapes is a bug.
"""

import re

LONGEST_SHOWN = 500
"""Characters of a name, value or sentence in a table, a bar or a line."""
LONGEST_MESSAGE = 1500
"""Characters of a whole message, warning or line of progress."""

_UNSAFE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters, C0 and C1: newline, tab, escape sequences of a terminal
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of direction
    "\u2028\u2029"  # line and paragraph separator
    "\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # invisible; joiners are not among them
    "\ud800-\udfff"  # lone surrogates, which no encoding can write
    "]"
)

_ALLOCATION = re.compile(r"allocat|out of memory|not enough memory|bad_alloc|failed to map segment", re.IGNORECASE)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that the memory is full: a `MemoryError`, or the complaint of a library or its loader."""
    complaint = isinstance(error, RuntimeError | ImportError) and bool(_ALLOCATION.search(str(error)))
    return isinstance(error, MemoryError) or complaint


def shown(text: object, limit: int = LONGEST_SHOWN) -> str:
    """The text as one line that is safe to print: no control or bidirectional character, at most `limit` characters.

    A character that could move the cursor, reorder or hide text is escaped as in Python (`\\x1b`, `\\u202e`). A long text
    loses its middle, because a message ends in its fix.
    """
    whole = str(text)
    if len(whole) <= limit and len(escaped := _escaped(whole)) <= limit:
        return escaped
    cut = f" [.. {len(whole):,} characters ..] "
    room = max(0, limit - len(cut))
    head = _escaped(whole[:room])[: room - room // 3]
    tail = _escaped(whole[len(whole) - room :])
    return head + cut + tail[len(tail) - room // 3 :]


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class RegardError(ValueError):
    """A mistake that the user can fix. The message names the file, line or key, the value, and the fix.

    The message is one line, safe to print whatever names and values it repeats: see `shown`.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(shown(message, LONGEST_MESSAGE))


class ConfigError(RegardError):
    """A setting that does not exist, has the wrong type or is out of range."""


class FileError(RegardError):
    """A file that is not a regular one, too large, or not valid JSON or TOML."""


class DataError(RegardError):
    """A corpus that is missing, empty, unequal, or not UTF-8."""


class DocumentError(RegardError):
    """A document to translate that is damaged, too large, hostile or of another format."""


class TextError(RegardError):
    """A tokeniser that cannot be learned or read."""


class InputTypeError(RegardError, TypeError):
    """An argument of the API that has the wrong type, such as one text in place of a list, or a name that does not exist."""


class BundleError(RegardError):
    """A model directory that is missing, incomplete, damaged or of another format."""


class EngineError(BundleError):
    """A bundle that one engine cannot run and another may."""


class SearchError(RegardError):
    """A decoding option that is out of range or that no output can satisfy."""


class TrainError(RegardError):
    """A run that cannot start, continue or be resumed."""


class DiskError(RegardError):
    """A write that failed: the disk is full, read-only or not permitted."""


class ResourceError(RegardError):
    """A file that may be sound and cannot be read now: too many files are open, or the memory is full."""


class ExtensionError(RegardError):
    """A user's own file (`--extension`) that cannot be used."""
