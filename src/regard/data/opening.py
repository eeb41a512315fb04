"""Opens the inputs that users give: files, pipes and standard input, also .gz, within the limits of docs/data.md.

What never ends is refused: a device, a .gz that unpacks to many times its size, a line without end, a pipe that nobody writes to. It does
not know what the bytes mean.
"""

import gzip
import hashlib
import io
import os
import stat
import sys
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, TextIO, cast

from regard.errors import DataError
from regard.foreign import UNBLOCKED, refuse_exhausted

REFUSED_LINE = 16 << 20
"""Bytes of a line of a corpus. A longer one is refused: a line is read whole."""
ENDLESS_LINE = 1 << 30
"""Bytes of a line of which only the beginning is read. A longer one is refused."""
MOST_RATIO, FREE_BYTES = 100, 16 << 20
"""A .gz may unpack to so many times its size, and to so many bytes in any case. Text unpacks to 3 to 50 times its size."""
CHANGED = "{name}: its content has changed while it was read; run the same command again when nothing writes to it"
PIPE_SECONDS = 5.0
"""How long a named pipe is waited for until somebody writes to it."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """The next `size` bytes, or fewer at the end."""
        ...

    def read1(self, size: int, /) -> bytes:
        """The next bytes that are there, at most `size`; none at the end."""
        ...


@contextmanager
def open_input(
    path: str | Path | None, name: str, longest_line: int | None = None, digest: str | None = None
) -> Iterator[Readable]:
    """An input, opened for reading bytes; None is standard input, and .gz is unpacked. A `DataError` calls it `name`.

    longest_line: a longer line is refused with its number. digest: the SHA-256 that the (unpacked) content must have; other content is
    refused when its end has been read.
    """
    with _read_errors(name), _opened(path, name) as file:
        content = cast(Readable, file)
        if str(path).endswith(".gz"):
            packed = _Counted(file)
            content = _Unpacked(packed, name)
        yield content if longest_line is None and digest is None else _Checked(content, name, longest_line, digest)


def checked_lines(file: Readable, name: str) -> Readable:
    """A stream that refuses a line that is too long."""
    return _Checked(file, name, REFUSED_LINE, None)


@contextmanager
def _read_errors(name: str) -> Iterator[None]:
    """Turn what the system, or gzip, says about a file into a `DataError`."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{name}: no such file; check the path") from None
    except IsADirectoryError:
        raise DataError(f"{name}: a directory; give a text file") from None
    except PermissionError:
        raise DataError(f"{name}: not permitted to read; change its permissions or copy it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{name}: damaged gzip file ({' '.join(str(error).split())}); copy it again") from None
    except OSError as error:
        refuse_exhausted(Path(name), error)
        raise DataError(f"{name}: cannot be read: {error.strerror or error}; check the path") from None


@contextmanager
def _opened(path: str | Path | None, name: str) -> Iterator[BinaryIO]:
    if path is None:
        if sys.stdin is None:
            raise DataError(f"{name}: closed; open it, or give a file in place of '-'")
        handle = _handle_of(sys.stdin)
        if handle is not None:
            _require_end(handle, name)
        yield sys.stdin.buffer
        return
    mode = os.stat(path).st_mode
    if stat.S_ISSOCK(mode):
        raise DataError(f"{name}: a socket; give a file, or pipe it into standard input")
    wait = stat.S_ISFIFO(mode)  # all else is opened without waiting
    handle = _open_pipe(path, name) if wait else os.open(path, os.O_RDONLY | UNBLOCKED)
    try:
        _require_end(handle, name)
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(handle, True)
        file = os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise
    with file:
        yield file


def _handle_of(stream: TextIO) -> int | None:
    """The file descriptor of a stream; None for one of the caller's that is no file."""
    try:
        return stream.fileno()
    except (AttributeError, io.UnsupportedOperation, ValueError):
        return None


def _require_end(handle: int, name: str) -> None:
    """Refuse what has no end, or none that matters: devices, but for terminals and /dev/null."""
    status = os.fstat(handle)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if stat.S_ISBLK(status.st_mode):
        raise DataError(f"{name}: a block device; give a file")
    if stat.S_ISCHR(status.st_mode) and not os.isatty(handle) and status.st_rdev != os.stat(os.devnull).st_rdev:
        raise DataError(f"{name}: a character device, which need not end; give a file")


def _open_pipe(path: str | Path, name: str) -> int:
    """The handle of a pipe that somebody writes to. Opening waits for a writer; a daemon thread does, which no exit waits for."""
    opened: Future[int] = Future()
    threading.Thread(target=_open_into, args=(opened, path), daemon=True).start()
    try:
        return opened.result(PIPE_SECONDS)
    except TimeoutError:
        if not opened.cancel():  # it was opened at the last moment
            return opened.result()
        raise DataError(
            f"{name}: a pipe that nobody writes to; start its writer first, or give a file (waited {PIPE_SECONDS:g} s)"
        ) from None
    finally:
        if opened.cancel():
            with suppress(OSError):  # a writer for a moment, so that the thread ends; not everybody may be one
                os.close(os.open(path, os.O_WRONLY | UNBLOCKED))


def _open_into(opened: "Future[int]", path: str | Path) -> None:
    """Open a pipe for whoever waits for `opened`. If nobody does any more, close it."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        with suppress(InvalidStateError):
            opened.set_exception(error)
        return
    try:
        opened.set_result(handle)
    except InvalidStateError:
        os.close(handle)


class _Counted:
    """A file that counts the bytes that were read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.bytes = 0

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self.bytes += len(block)
        return block


class _Unpacked:
    """The content of a .gz file. One that unpacks to far more than text does is refused."""

    def __init__(self, packed: _Counted, name: str) -> None:
        self._packed, self._name, self._bytes = packed, name, 0
        self._content = gzip.GzipFile(fileobj=cast(BinaryIO, packed))

    def read(self, size: int) -> bytes:
        return self._seen(self._content.read(size))

    def read1(self, size: int) -> bytes:
        return self._seen(self._content.read1(size))

    def _seen(self, block: bytes) -> bytes:
        self._bytes += len(block)
        if self._bytes > FREE_BYTES and self._bytes > MOST_RATIO * self._packed.bytes:
            raise DataError(
                f"{self._name}: unpacks to more than {MOST_RATIO} times its size, which text does not; "
                "if you trust it, unpack it yourself (gunzip)"
            )
        return block


class _Checked:
    """A stream that refuses a line that is too long, and other content than that of a SHA-256."""

    def __init__(self, file: Readable, name: str, longest_line: int | None, digest: str | None) -> None:
        self._file, self._name, self._longest, self._expected = file, name, longest_line, digest
        self._digest = hashlib.sha256()
        self._lines, self._line_bytes = 0, 0  # complete lines, and the bytes of the one after them

    def read(self, size: int) -> bytes:
        return self._seen(self._file.read(size))

    def read1(self, size: int) -> bytes:
        return self._seen(self._file.read1(size))

    def _seen(self, block: bytes) -> bytes:
        if self._longest is not None:
            self._check_lines(block, self._longest)
        if self._expected is not None:
            self._digest.update(block)
            if not block and self._digest.hexdigest() != self._expected:
                raise DataError(CHANGED.format(name=self._name))
        return block

    def _check_lines(self, block: bytes, longest: int) -> None:
        """Refuse a line that is longer, where it is first seen. A block is no longer than a line may be."""
        end = block.find(b"\n")
        self._line_bytes += len(block) if end < 0 else end
        if self._line_bytes > longest:
            raise DataError(
                f"{self._name}:{self._lines + 1}: a line of more than {longest:,} bytes; "
                "break it into lines, or check that this is a text"
            )
        if end >= 0:
            self._lines += block.count(b"\n")
            self._line_bytes = len(block) - block.rfind(b"\n") - 1
