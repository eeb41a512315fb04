"""Reads zip files of strangers: a bundle, a package of another program, a corpus of OPUS.

Every name, size and kind of entry is checked before a byte is unpacked, and every byte that is unpacked is counted. It knows nothing of
what the entries mean. Every room may import this module.
"""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from regard.errors import FileError, RegardError
from regard.files import disk_errors
from regard.foreign import open_regular, refuse_exhausted

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_END, _LOCATOR64, _END64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"
_END_BYTES, _LOCATOR64_BYTES, _END64_BYTES = 22, 20, 56
_LONGEST_COMMENT = 65_536
"""As far as `zipfile` looks for the end record."""
DIRECTORY_BYTES = 1 << 20
"""The largest directory of a zip file, which is read into memory."""
MOST_ENTRIES = 1_000
MOST_BYTES = 64 << 30
"""The most bytes that are unpacked."""
_CHUNK = 1 << 20
_MEND = "do not trust this file; ask for another one"


@dataclass(frozen=True)
class ZipKind:
    """The expected content of a zip file, for messages and limits."""

    name: str
    """Such as "a model"."""
    error: type[RegardError]
    """The class of all errors."""
    times: int
    """The largest ratio of what is unpacked to the size of the file .."""
    free_bytes: int
    """.. and the bytes to which no ratio applies."""


@dataclass(frozen=True)
class Archive:
    """A zip file whose entries were checked."""

    path: Path
    file: zipfile.ZipFile
    entries: Sequence[zipfile.ZipInfo]
    """The regular files."""
    kind: ZipKind

    def unpack(self, names: Sequence[str], directory: Path, below: str = "") -> None:
        """Write entries into a directory, without `below` at the beginning of their names."""
        for name in names:
            place = directory / name.removeprefix(below)
            with disk_errors(directory):
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as output:
                    for chunk in self.chunks(name):
                        output.write(chunk)

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of an entry. It has at most the size that its record states."""
        left = self.file.getinfo(name).file_size
        try:
            with self.file.open(name) as entry:
                while chunk := entry.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise self.damaged(f"{name} is larger than it states")
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error) as error:
            raise self.damaged(f"{name}: {error or type(error).__name__}") from None
        if left:
            raise self.damaged(f"{name} is smaller than it states")

    def damaged(self, reason: str) -> RegardError:
        return self.kind.error(f"{self.path}: not a zip file of {self.kind.name} that can be read: {reason}; {_MEND}")


@contextmanager
def open_zip(path: Path, kind: ZipKind) -> Iterator[Archive]:
    """A zip file whose directory, names, kinds and sizes were checked; an error of `kind` says what is refused."""
    try:
        stream = open_regular(path)
    except FileError as error:
        raise kind.error(f"{error}; give a zip file of {kind.name}") from None
    except OSError as error:
        refuse_exhausted(path, error)
        raise kind.error(f"{path}: cannot be read: {error.strerror}") from None
    with stream, _checked(path, stream, kind) as archive:
        yield archive


@contextmanager
def zip_of_bytes(content: bytes, path: Path, kind: ZipKind) -> Iterator[Archive]:
    """`open_zip` of a file in memory. path: its name in messages."""
    with _checked(path, BytesIO(content), kind) as archive:
        yield archive


@contextmanager
def _checked(path: Path, stream: BinaryIO, kind: ZipKind) -> Iterator[Archive]:
    """The zip file of a stream, checked."""
    size = _check_directory(path, stream, kind)
    try:
        file = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError) as error:
        raise kind.error(f"{path}: damaged: not a readable zip file ({error}); {_MEND}") from None
    with file:
        entries = [entry for entry in file.infolist() if not entry.is_dir()]
        archive = Archive(path, file, entries, kind)
        _check_entries(archive, size)
        yield archive


def is_zip(path: Path) -> bool:
    """Whether a file begins like a zip file."""
    try:
        with open_regular(path) as stream:
            return stream.read(4) in MAGIC
    except (OSError, FileError):
        return False


def _check_directory(path: Path, stream: BinaryIO, kind: ZipKind) -> int:
    """The size of the file. Refused is a directory of entries that is too large to be read into memory."""
    size = stream.seek(0, 2)
    first = max(0, size - _LONGEST_COMMENT - _END_BYTES - _LOCATOR64_BYTES - _END64_BYTES)
    stream.seek(first)
    tail = stream.read()
    stream.seek(0)
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < _END_BYTES:
        raise kind.error(f"{path}: damaged: not a zip file, or cut off; copy it again")
    entries, length = (
        struct.unpack("<H", tail[place + 10 : place + 12])[0],
        struct.unpack("<I", tail[place + 12 : place + 16])[0],
    )
    locator = tail[max(0, place - _LOCATOR64_BYTES) : place]
    if locator.startswith(_LOCATOR64):  # sizes of 64 bits, for files of more than 4 GB
        start = place - _LOCATOR64_BYTES - _END64_BYTES  # `zipfile` reads it here, whatever the locator states
        record = tail[max(0, start) : max(0, start) + _END64_BYTES]
        [stated] = struct.unpack("<Q", locator[8:16])
        if start < 0 or stated != first + start or not record.startswith(_END64):
            raise kind.error(f"{path}: damaged: the directory of the zip file is not where it states; {_MEND}")
        entries, length = struct.unpack("<Q", record[32:40])[0], struct.unpack("<Q", record[40:48])[0]
    if entries > MOST_ENTRIES or length > DIRECTORY_BYTES:
        raise kind.error(
            f"{path}: {entries:,} entries in a directory of {length:,} bytes; {kind.name} has at most {MOST_ENTRIES:,} files; {_MEND}"
        )
    return size


def _check_entries(archive: Archive, size: int) -> None:
    """Refuse names outside of the directory, links, devices, other compressions, passwords, and more bytes than such a file can hold."""
    seen: set[str] = set()
    if len(archive.entries) > MOST_ENTRIES:
        raise archive.damaged(f"{len(archive.entries):,} files, {MOST_ENTRIES:,} are the most")
    for entry in archive.entries:
        name, mode = entry.filename, entry.external_attr >> 16
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or set(name) & set("\\:\0") or len(name) > 255:
            raise archive.damaged(f"the name {name!r} leads out of the directory")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise archive.damaged(f"{name} is a link or a device, not a file")
        if entry.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):  # others unpack more than is asked for
            raise archive.damaged(f"{name} is compressed in another way than deflate")
        if entry.flag_bits & 1:
            raise archive.damaged(f"{name} has a password")
        if name.casefold() in seen:
            raise archive.damaged(f"two entries have the name {name!r}")
        seen.add(name.casefold())
    total = sum(entry.file_size for entry in archive.entries)
    if total > min(MOST_BYTES, max(archive.kind.free_bytes, archive.kind.times * size)):
        raise archive.damaged(f"{total:,} bytes unpacked from a file of {size:,}")
