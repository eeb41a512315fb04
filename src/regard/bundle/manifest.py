"""`manifest.json`: the SHA-256 of every file of a directory, to detect damage before reading.

The manifest has a SHA-256 of itself too, so that damage in it is not blamed on another file. It does not know what the files mean.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from regard.errors import BundleError
from regard.files import disk_errors, sha256_of, to_json

MANIFEST = "manifest.json"
FORMAT = 1
MEND = "restore it or use another checkpoint"


@dataclass(frozen=True)
class FileCheck:
    """The state of one file of the manifest."""

    path: Path
    name: str
    size: int | None
    """The size in bytes; None if the file is missing."""
    sha256: str
    """The SHA-256 in the manifest."""
    state: Literal["intact", "damaged", "missing"]

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
        return None


def write_manifest(directory: Path) -> None:
    """List every file of `directory` in its manifest. Call it after writing all other files."""
    with disk_errors(directory):
        paths = sorted(path for path in directory.rglob("*") if path.is_file() and path != directory / MANIFEST)
        files = {path.relative_to(directory).as_posix(): sha256_of(path) for path in paths}
        content = {"format": FORMAT, "files": files}
        (directory / MANIFEST).write_text(to_json({**content, "sha256": _digest(content)}), encoding="utf-8")


def identity(directory: Path) -> str:
    """The SHA-256 of the manifest, which identifies the model."""
    with disk_errors(directory):
        return sha256_of(directory / MANIFEST)


def read_manifest(directory: Path) -> dict[str, str]:
    """File name -> SHA-256, as the manifest lists them."""
    path = directory / MANIFEST
    values = read_bundle_json(path)
    stated = values.pop("sha256", None)
    if stated != _digest(values):
        raise BundleError(f"{path}: content does not match its own SHA-256; the file is damaged; {MEND}")
    if values.get("format") != FORMAT:
        raise BundleError(f"{path}: format {values.get('format')!r} is not known, only {FORMAT}; update regard")
    files: dict[str, str] = values["files"]
    for name in files:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise BundleError(f"{path}: lists {name!r}, which is outside of the directory; do not trust this bundle")
    return files


def check_files(directory: Path) -> list[FileCheck]:
    """The state of every file that the manifest lists."""
    checks = []
    for name, expected in read_manifest(directory).items():
        path = directory / name
        if not path.is_file():
            checks.append(FileCheck(path, name, None, expected, "missing"))
            continue
        try:
            size, actual = path.stat().st_size, sha256_of(path)
        except OSError as error:
            raise BundleError(f"{path}: cannot be read: {error.strerror}") from None
        checks.append(FileCheck(path, name, size, expected, "intact" if actual == expected else "damaged"))
    return checks


def require_listed(directory: Path, names: Collection[str], listed: Collection[str] | None = None) -> None:
    """Refuse a directory whose manifest does not list all of these names."""
    listed = read_manifest(directory) if listed is None else listed
    for name in names:
        if name not in listed:
            raise BundleError(f"{directory / name}: not listed in {MANIFEST}; the bundle is incomplete; {MEND}")


def verify_manifest(directory: Path, required: Collection[str] = (), may_lack: Collection[str] = ()) -> None:
    """Refuse a directory with a missing or changed file, or whose manifest does not list all `required` files.

    may_lack: files that may be missing though the manifest lists them. Damage in them is refused as in all others.
    """
    checks = check_files(directory)
    require_listed(directory, required, {check.name for check in checks})
    for check in checks:
        left_out = check.state == "missing" and check.name in may_lack
        if check.problem is not None and not left_out:
            raise BundleError(check.problem)


def read_bundle_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a bundle."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise BundleError(f"{path}: missing; {MEND}") from None
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # bytes that are not UTF-8, or text that is not JSON
        raise BundleError(f"{path}: damaged: not valid JSON ({error}); {MEND}") from None
    if not isinstance(values, dict):
        raise BundleError(f"{path}: damaged: expected a JSON object, found {type(values).__name__}; {MEND}")
    return values


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
