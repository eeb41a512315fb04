"""Reads what strangers wrote: regular files of bounded size, and JSON and TOML of bounded depth.

Every room may import this module. It knows nothing of what the files mean; `files.py` writes.
"""

import errno
import json
import os
import re
import stat
import tomllib
from collections import Counter
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from regard.errors import FileError, ResourceError

RECORD_BYTES = 16 << 20
"""The largest JSON or TOML file: a config, a manifest, the state of a run."""
LINE_BYTES = 1 << 20
"""The longest line of a log of JSON records."""
DEPTH = 64
"""The deepest nesting of JSON, TOML and dotted keys."""
DIGITS = 100
"""The longest number."""

UNBLOCKED = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags of `os.open`, as far as the system has them: do not wait for a pipe, no child inherits the file, bytes as they are."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)
# Strings are skipped whole, also one that never ends. Possessive repetition: no backtracking on hostile text.
_TOML_TOKENS = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?' r"|'''(?:[^']++|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]++|\\.)*+"?' r"|'[^'\n]*+'?" r"|\#[^\n]*+|[\[\]{}.,=\n]",
    re.DOTALL,
)  # fmt: skip
_LARGEST = 10**DIGITS
_LONG_NUMBER = re.compile(rf"[-+.0-9eE]{{{DIGITS + 1}}}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


class LimitError(FileError):
    """A text that is well formed, so far as it was read, and beyond a limit: too long, too deep, too many digits."""


def read_text(path: Path, limit: int = RECORD_BYTES, *, root: Path | None = None) -> str:
    """The UTF-8 text of a regular file; `read_bytes` says what is refused. Other bytes are a `UnicodeDecodeError`."""
    return read_bytes(path, limit, root=root).decode("utf-8")


def read_bytes(path: Path, limit: int, *, root: Path | None = None) -> bytes:
    """The content of a regular file of at most `limit` bytes.

    A `FileError` refuses a pipe, a device, a socket, a larger file, and with `root` a link that leads out of it. A
    missing file, a directory and other failures of the system stay an `OSError`.
    """
    with open_regular(path, root=root) as file:
        size = min(os.fstat(file.fileno()).st_size, limit)
        content = file.read(size + 1)  # one byte more shows a file that is larger, or grows
    if len(content) > limit:
        raise LimitError(f"{path}: larger than {limit:,} bytes, the most that is read of such a file")
    if len(content) > size:
        raise FileError(f"{path}: it grows while it is read; wait until it is written, and run the same command again")
    return content


def bounded_lines(path: Path, limit: int = LINE_BYTES) -> Iterator[bytes]:
    """The lines of a regular file, with their line ends. A `LimitError` names a line of more than `limit` bytes."""
    with open_regular(path) as file:
        number = 0
        while line := file.readline(limit + 1):
            number += 1
            if len(line) > limit:
                raise LimitError(f"{path}:{number}: a line of more than {limit:,} bytes, the most that is read of one")
            yield line


def refuse_exhausted(path: Path, error: OSError) -> None:
    """Raise a `ResourceError` if the machine, not the file, is the cause of a failed read. Such a file may be sound."""
    if error.errno in _EXHAUSTED:
        raise ResourceError(
            f"{path}: cannot be read now: {os.strerror(error.errno or 0).lower()}; "
            "close other programs or raise the limit (`ulimit -n`, `ulimit -v`), and run the same command again"
        ) from None


def open_regular(path: Path, *, root: Path | None = None, create: bool = False) -> BufferedReader:
    """A regular file, open for reading. It never waits: opening a pipe without a writer would, for ever.

    create: make an empty file if there is none, such as one that processes lock.
    """
    # some file systems lock only what may be written
    return os.fdopen(regular_handle(path, os.O_RDWR | os.O_CREAT if create else os.O_RDONLY, root=root), "rb")


def regular_handle(path: Path, flags: int, *, root: Path | None = None) -> int:
    """The handle of a regular file, opened with `flags` of `os.open`. It never waits, and no device notices it."""
    place = path if root is None else _inside(path, root)
    if not flags & os.O_CREAT or place.exists():
        _require_regular(path, os.stat(place).st_mode)  # before opening, which a device may notice
    handle = os.open(place, flags | UNBLOCKED | (0 if root is None else _NO_LINK), 0o666)
    try:
        _require_regular(path, os.fstat(handle).st_mode)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _require_regular(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "not a file")
        raise FileError(f"{path}: {kind}, not a regular file; it is not read")


def _inside(path: Path, root: Path) -> Path:
    """The path without links; refused outside of `root`, which may be a link itself."""
    if (
        path.parent == root and not path.is_symlink()
    ):  # opened with O_NOFOLLOW; the usual case, without a look at every folder
        return path
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(root)):
        raise FileError(f"{path}: a link that leads out of {root}; it is not followed: copy the file there")
    return real


def parse_json(text: str, where: object, limit: int = RECORD_BYTES) -> Any:
    """The value of a JSON text. A `FileError` names `where`, such as a file or `file:line`.

    Refused: what is not JSON, a text of more than `limit` characters, nesting beyond `DEPTH`, numbers of more than
    `DIGITS` digits, an object with the same key twice, and half of a surrogate pair.
    """
    if len(text) > limit:
        raise LimitError(f"{where}: {len(text):,} characters of JSON, {limit:,} are the most that is read")
    try:
        hooks: dict[str, Any] = {"parse_int": _integer, "parse_float": _decimal} if _LONG_NUMBER.search(text) else {}
        value = json.loads(text, object_pairs_hook=_object, **hooks)
        if text.count("[") + text.count("{") > DEPTH:  # fewer cannot nest deeper
            _check_levels(value)
        if _SURROGATE.search(text):
            _check_values(value)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{where}: not valid JSON: {_first_line(error)}") from None
    return value


def parse_toml(text: str, where: object) -> dict[str, Any]:
    """The tables of a TOML text. A `FileError` names `where`; it refuses the same as `parse_json`."""
    if len(text) > RECORD_BYTES:
        raise LimitError(f"{where}: {len(text):,} characters of TOML, {RECORD_BYTES:,} are the most that is read")
    try:
        if any(text.count(sign) > DEPTH for sign in "[{."):
            _check_depth(text)
        values = tomllib.loads(text)
        _check_values(values)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{where}: not valid TOML: {_first_line(error)}") from None
    except (ValueError, RecursionError) as error:
        raise LimitError(f"{where}: not valid TOML: {_first_line(error)}") from None
    return values


def _check_levels(value: Any) -> None:
    """Refuse lists and objects that nest too deep. `json` itself ends beyond some hundred levels, with a `RecursionError`."""
    level = [value]
    for _ in range(DEPTH):
        inner = (part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list))
        level = [part for parts in inner for part in parts if isinstance(part, dict | list)]
        if not level:
            return
    raise ValueError(f"nested more than {DEPTH} levels deep")


def _check_depth(text: str) -> None:
    """Refuse a TOML text whose brackets, or parts of a dotted key, nest too deep: to parse it could take hours.

    It walks the text once.
    """
    depth = dots = 0
    in_key = True  # a dot in a value is not nesting: it may be a path
    for match in _TOML_TOKENS.finditer(text):
        token = match.group()
        if token in ("[", "{"):
            depth += 1
        elif token in ("]", "}"):
            depth -= 1
        in_key = token != "=" if token in ("=", "\n", ",", "{", "[") else in_key
        dots = dots + in_key if token == "." else dots if token[0] in "\"'" else 0
        if depth > DEPTH or dots > DEPTH:
            raise ValueError(f"nested more than {DEPTH} levels deep, at character {match.start():,}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} is there twice")
    return values


def _integer(digits: str) -> int:
    _check_digits(digits)
    return int(digits)


def _decimal(digits: str) -> float:
    _check_digits(digits)
    return float(digits)


def _check_digits(digits: str) -> None:
    if len(digits) > DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits, {DIGITS} are the most")


def _check_values(value: Any) -> None:
    """Refuse half of a surrogate pair in a string or a key, which no text file can hold, and integers that are too long."""
    if isinstance(value, dict):
        for key, part in value.items():
            _check_values(key)
            _check_values(part)
    elif isinstance(value, list):
        for part in value:
            _check_values(part)
    elif isinstance(value, int) and abs(value) >= _LARGEST:
        raise ValueError(f"a number of more than {DIGITS} digits")
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            half = ord(value[error.start])
            raise ValueError(f"\\u{half:04x} is half of a surrogate pair, not a character") from None


def _first_line(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"nested more than {DEPTH} levels deep"
    if "int_max_str_digits" in str(error):  # Python's own limit, in words for programmers
        return f"a number of more than {DIGITS} digits"
    return (str(error).splitlines() or [type(error).__name__])[0]
