"""Reads a bundle from a zip file: `regard export DIR model.zip --to zip` makes one.

A zip file may come from a stranger. Every name, size and kind of entry is checked before a byte is written, and every byte that is
unpacked is counted. The bundle is unpacked into the cache, under the SHA-256 of the zip file.
"""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from io import BufferedReader
from pathlib import Path, PurePosixPath

from regard.activity import activity
from regard.bundle.manifest import MANIFEST, verify_manifest
from regard.cache import locked_entry, mark_used, new_entry, prune, remove_stale
from regard.errors import BundleError, FileError
from regard.files import cache_directory, disk_errors, remove_whole
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
TIMES, FREE_BYTES = 20, 64 << 20
"""The largest ratio of what is unpacked to the size of the file, and the bytes to which no ratio applies."""
_CHUNK = 1 << 20
_MEND = "do not trust this file; ask for another one"


@dataclass(frozen=True)
class Archive:
    """A zip file whose entries were checked."""

    path: Path
    file: zipfile.ZipFile
    entries: Sequence[zipfile.ZipInfo]
    """The regular files."""

    def unpack(self, names: Sequence[str], directory: Path, below: str = "") -> None:
        """Write entries into a directory, without `below` at the beginning of their names."""
        for name in names:
            place = directory / name.removeprefix(below)
            with disk_errors(directory):
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as output:
                    for chunk in self._chunks(name):
                        output.write(chunk)

    def _chunks(self, name: str) -> Iterator[bytes]:
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

    def damaged(self, reason: str) -> BundleError:
        return BundleError(f"{self.path}: not a zip file of a model that can be read: {reason}; {_MEND}")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """A zip file whose directory, names, kinds and sizes were checked; a `BundleError` says what is refused."""
    try:
        stream = open_regular(path)
    except FileError as error:
        raise BundleError(f"{error}; give a bundle") from None
    except OSError as error:
        refuse_exhausted(path, error)
        raise BundleError(f"{path}: cannot be read: {error.strerror}") from None
    with stream:
        size = _check_directory(path, stream)
        try:
            file = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError) as error:
            raise BundleError(f"{path}: damaged: not a readable zip file ({error}); {_MEND}") from None
        with file:
            entries = [entry for entry in file.infolist() if not entry.is_dir()]
            archive = Archive(path, file, entries)
            _check_entries(archive, size)
            yield archive


def is_archive(path: Path) -> bool:
    """Whether a file begins like a zip file."""
    try:
        with open_regular(path) as stream:
            return stream.read(4) in MAGIC
    except (OSError, FileError):
        return False


def unpacked(path: Path) -> Path:
    """The directory of the bundle in a zip file. It is in the cache, and stays as it is."""
    home = archives()
    with open_archive(path) as archive:
        names, below = _bundle_of(archive)
        assert archive.file.fp is not None
        archive.file.fp.seek(0)
        entry = home / file_digest(archive.file.fp, "sha256").hexdigest()[:32]  # type: ignore[arg-type]
        with locked_entry(entry, "waiting for another process that unpacks the model"):
            if not _is_sound(entry):
                remove_whole(entry)
                remove_stale(home)
                with activity("unpacking the model"), ExitStack() as writing, new_entry(entry, writing) as staging:
                    archive.unpack(names, staging, below)
                    _verify(archive, staging)
                prune(home, keep=entry)
            mark_used(entry)
    return entry


def archives() -> Path:
    """The directory of the cache with unpacked zip files."""
    return cache_directory() / "archives"


def _bundle_of(archive: Archive) -> tuple[list[str], str]:
    """(the entries of the bundle, the folder that they are in)."""
    names = [entry.filename for entry in archive.entries]
    manifests = [name for name in names if PurePosixPath(name).name == MANIFEST and name.count("/") <= 1]
    if len(manifests) != 1:
        count = "no" if not manifests else f"{len(manifests)}"
        raise BundleError(
            f"{archive.path}: {count} {MANIFEST} at its top, so it is not one bundle; "
            "make it with `regard export DIR OUT.zip --to zip`, or read other formats with `regard import`"
        )
    below = manifests[0].removesuffix(MANIFEST)
    return [name for name in names if name.startswith(below)], below


def _verify(archive: Archive, directory: Path) -> None:
    try:
        verify_manifest(directory)
    except BundleError as error:
        raise BundleError(str(error).replace(str(directory), str(archive.path))) from None


def _is_sound(entry: Path) -> bool:
    try:
        verify_manifest(entry)
    except BundleError:
        return False
    return True


def _check_directory(path: Path, stream: BufferedReader) -> int:
    """The size of the file. Refused is a directory of entries that is too large to be read into memory."""
    size = stream.seek(0, 2)
    first = max(0, size - _LONGEST_COMMENT - _END_BYTES - _LOCATOR64_BYTES - _END64_BYTES)
    stream.seek(first)
    tail = stream.read()
    stream.seek(0)
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < _END_BYTES:
        raise BundleError(f"{path}: damaged: not a zip file, or cut off; copy it again")
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
            raise BundleError(f"{path}: damaged: the directory of the zip file is not where it states; {_MEND}")
        entries, length = struct.unpack("<Q", record[32:40])[0], struct.unpack("<Q", record[40:48])[0]
    if entries > MOST_ENTRIES or length > DIRECTORY_BYTES:
        raise BundleError(
            f"{path}: {entries:,} entries in a directory of {length:,} bytes; a model has at most {MOST_ENTRIES:,} files; {_MEND}"
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
    if total > min(MOST_BYTES, max(FREE_BYTES, TIMES * size)):
        raise archive.damaged(f"{total:,} bytes unpacked from a file of {size:,}")
