"""`manifest.json`: the SHA-256 of every file of a directory, to detect damage before reading.

The manifest has a SHA-256 of itself too, so that damage in it is not blamed on another file. It does not know what the files mean.
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from regard.errors import BundleError, ConfigError, FileError
from regard.files import disk_errors, sha256_of, to_json
from regard.foreign import RECORD_BYTES, open_regular, parse_json, read_bytes, refuse_exhausted
from regard.settings import Record, json_type

MANIFEST = "manifest.json"
FORMAT = 1
MEND = "restore it or use another checkpoint"

RecordT = TypeVar("RecordT", bound=Record)


class _ManifestRecord(Record):
    """The content of manifest.json."""

    files: dict[str, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]]


@dataclass(frozen=True)
class FileCheck:
    """The state of one file of the manifest."""

    path: Path
    name: str
    size: int | None
    """The size in bytes; None if the file is missing."""
    sha256: str
    """The SHA-256 in the manifest."""
    state: Literal["intact", "damaged", "missing", "refused"]
    """`refused`: not a regular file, or a link that leads out of the directory."""
    reason: str = ""
    """Why it is refused."""

    @property
    def problem(self) -> str | None:
        """The error message of a missing or damaged file; None if it is intact."""
        if self.state == "missing":
            return f"{self.path}: missing, though {MANIFEST} lists it; {MEND}"
        if self.state == "damaged":
            return (
                f"{self.path}: content does not match its SHA-256 in {MANIFEST} ({self.size} bytes found); "
                f"the file is damaged; {MEND}"
            )
        return f"{self.reason}; {MEND}" if self.state == "refused" else None


def write_manifest(directory: Path) -> None:
    """List every file of `directory` in its manifest. Call it after writing all other files."""
    with disk_errors(directory):
        paths = sorted(path for path in directory.rglob("*") if path.is_file() and path != directory / MANIFEST)
        files = {path.relative_to(directory).as_posix(): sha256_of(path) for path in paths}
        content = {"format": FORMAT, "files": files}
        (directory / MANIFEST).write_text(to_json({**content, "sha256": _digest(content)}), encoding="utf-8")


def identity(directory: Path) -> str:
    """The SHA-256 of the manifest, which identifies the model."""
    return open_manifest(directory).identity


@dataclass(frozen=True)
class Manifest:
    """The files of a directory and their SHA-256s. A file is read only if it is listed, from the bytes that were hashed."""

    directory: Path
    digests: Mapping[str, str]
    """Name -> SHA-256."""
    identity: str
    """The SHA-256 of the manifest itself, which identifies the model."""

    def read(self, name: str, limit: int = RECORD_BYTES) -> bytes:
        """The content of a listed file, which has the listed SHA-256."""
        path, digest = self.directory / name, self._digest(name)
        with reading(path):
            content = read_bytes(path, limit, root=self.directory)
        _refuse_damage(path, name, digest, content)
        return content

    def read_whole(self, name: str, size: int) -> bytearray:
        """The content of a listed file of exactly `size` bytes, in memory that tensors may use."""
        path, digest = self.directory / name, self._digest(name)
        content = bytearray(size)
        with reading(path), open_regular(path, root=self.directory) as file:
            if file.readinto(content) != size or file.read(1):
                raise FileError(f"{path}: its size has changed while it was read")
        _refuse_damage(path, name, digest, content)
        return content

    def read_json(self, name: str) -> dict[str, Any]:
        """The object in a listed JSON file."""
        return json_object(self.read(name), self.directory / name)

    def read_record(self, name: str, kind: type[RecordT]) -> RecordT:
        """The record in a listed JSON file; a `BundleError` names the key that is wrong."""
        return _record(self.read_json(name), self.directory / name, kind)

    def require(self, names: Collection[str]) -> None:
        """Refuse a manifest that does not list all of these names."""
        for name in names:
            self._digest(name)

    def check(self) -> list[FileCheck]:
        """The state of every listed file."""
        return [self._check(name, digest) for name, digest in self.digests.items()]

    def verify_file(self, name: str) -> None:
        """Refuse a file that is not listed, missing or changed."""
        problem = self._check(name, self._digest(name)).problem
        if problem is not None:
            raise BundleError(problem)

    def verify(
        self,
        required: Collection[str] = (),
        may_lack: Collection[str] = (),
        hashed_when_read: Collection[str] = (),
    ) -> None:
        """Refuse a missing or changed file, and a manifest that does not list all `required` files.

        may_lack: files that may be missing though they are listed. Damage in them is refused as in all others.
        hashed_when_read: files that are not looked at, because the caller reads them through this manifest next.
        """
        checks = [self._check(name, digest) for name, digest in self.digests.items() if name not in hashed_when_read]
        self.require(required)
        for check in checks:
            left_out = check.state == "missing" and check.name in may_lack
            if check.problem is not None and not left_out:
                raise BundleError(check.problem)

    def _digest(self, name: str) -> str:
        if name not in self.digests:
            raise BundleError(f"{self.directory / name}: not listed in {MANIFEST}; the bundle is incomplete; {MEND}")
        return self.digests[name]

    def _check(self, name: str, expected: str) -> FileCheck:
        path = self.directory / name
        try:
            with open_regular(path, root=self.directory) as file:
                size = os.fstat(file.fileno()).st_size
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except (FileNotFoundError, NotADirectoryError):
            return FileCheck(path, name, None, expected, "missing")
        except FileError as error:
            return FileCheck(path, name, None, expected, "refused", str(error))
        except OSError as error:
            refuse_exhausted(path, error)
            raise BundleError(f"{path}: cannot be read: {error.strerror}") from None
        return FileCheck(path, name, size, expected, "intact" if actual == expected else "damaged")


def open_manifest(directory: Path) -> Manifest:
    """The manifest of a directory, read and checked against its own SHA-256."""
    path = directory / MANIFEST
    with reading(path):
        content = read_bytes(path, RECORD_BYTES, root=directory)
    values = json_object(content, path)
    stated = values.pop("sha256", None)
    if stated != _digest(values):
        raise BundleError(f"{path}: content does not match its own SHA-256; the file is damaged; {MEND}")
    if values.get("format") != FORMAT:
        raise BundleError(f"{path}: format {values.get('format')!r} is not known, only {FORMAT}; update regard")
    files = _record(values, path, _ManifestRecord).files
    for name in files:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\0" in name:
            raise BundleError(f"{path}: lists {name!r}, which is outside of the directory; do not trust this bundle")
    return Manifest(directory, files, hashlib.sha256(content).hexdigest())


def verify_manifest(directory: Path, required: Collection[str] = (), may_lack: Collection[str] = ()) -> Manifest:
    """The manifest of a directory whose files were verified as `Manifest.verify` does."""
    manifest = open_manifest(directory)
    manifest.verify(required, may_lack)
    return manifest


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn the failure to read a file of a bundle into a `BundleError`, or into a `ResourceError` if the file may be sound."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise BundleError(f"{path}: missing; {MEND}") from None
    except FileError as error:
        raise BundleError(f"{error}; {MEND}") from None
    except OSError as error:
        refuse_exhausted(path, error)
        raise BundleError(f"{path}: cannot be read: {error.strerror}") from None


def json_object(content: bytes, path: Path) -> dict[str, Any]:
    """The object in the content of a JSON file of a bundle."""
    try:
        values = parse_json(content.decode("utf-8"), f"{path}: damaged")
    except UnicodeDecodeError as error:
        raise BundleError(f"{path}: damaged: not valid JSON: {error}; {MEND}") from None
    except FileError as error:
        raise BundleError(f"{error}; {MEND}") from None
    if not isinstance(values, dict):
        raise BundleError(f"{path}: damaged: expected a JSON object, found {json_type(values)}; {MEND}")
    return values


def _record(values: Mapping[str, Any], path: Path, kind: type[RecordT]) -> RecordT:
    try:
        return kind.parse(values, str(path))
    except ConfigError as error:
        raise BundleError(f"{error}; {MEND}") from None


def _refuse_damage(path: Path, name: str, digest: str, content: bytes | bytearray) -> None:
    if hashlib.sha256(content).hexdigest() != digest:
        raise BundleError(str(FileCheck(path, name, len(content), digest, "damaged").problem))


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
