"""Files and directories that appear whole or not at all, and hashes of what they hold.

Every room may import this module. It knows nothing of what the files mean.
"""

import errno
import hashlib
import json
import math
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from regard.errors import DiskError

_OLD = "-old"  # ends the name of a directory that is being replaced
STAGING_MARK = ".partial-"  # a directory whose name holds this was being written when its writer stopped


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into a `DiskError` that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DiskError(
                f"{path}: no space left to write; free some space and run the same command again"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise DiskError(f"{path}: not permitted to write here; choose another place") from error
        if error.errno == errno.ENOENT:
            raise DiskError(
                f"{path}: no such directory to write into; make it first or choose another place"
            ) from error
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            raise DiskError(
                f"{path}: it, or a part of its path, is a file and not a directory; choose another place"
            ) from error
        if error.errno == errno.EISDIR:
            raise DiskError(f"{path}: a directory is there, not a file; choose another place") from error
        raise


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A staging directory to fill. On success it is synced and renamed to `path`; on failure it is removed."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        staging = _aside(path)
        replaced = path.with_name(f"{staging.name}{_OLD}")
        staging.mkdir()
        try:
            yield staging
            for file in sorted(staging.rglob("*")):
                sync(file)
            sync(staging)
            if path.exists():  # never a moment without a whole copy on disk
                path.rename(replaced)
            staging.rename(path)
            sync(path.parent)
            if replaced.exists():
                shutil.rmtree(replaced)
        except BaseException:
            if replaced.exists() and not path.exists():
                replaced.rename(path)
            shutil.rmtree(staging, ignore_errors=True)
            raise


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file atomically: the old content or the new one is there, never a part."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        staging = _aside(path)
        try:
            staging.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
            sync(staging)
            os.replace(staging, path)
            sync(path.parent)
        except BaseException:
            staging.unlink(missing_ok=True)
            raise


def remove_whole(path: Path) -> None:
    """Delete a directory at one stroke: it is never seen half there, and what an interruption leaves of it is a leftover."""
    doomed = path
    with suppress(OSError):  # a full disk may refuse a new name, and deleting is what it needs
        doomed = path.rename(_aside(path))
    shutil.rmtree(doomed, ignore_errors=True)


def remove_leftovers(directory: Path) -> list[Path]:
    """Delete what interrupted writers left in `directory`, and say what it was.

    A directory that was moved out of the way for one that never came is put back.
    """
    leftovers = list(directory.glob(f"*{STAGING_MARK}*")) if directory.is_dir() else []
    for path in leftovers:
        original = path.with_name(path.name.split(STAGING_MARK)[0])
        if path.name.endswith(_OLD) and not original.exists():
            path.rename(original)
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return leftovers


def _aside(path: Path) -> Path:
    """A name beside `path` that marks what lies there as unfinished."""
    return path.with_name(f"{path.name}{STAGING_MARK}{uuid.uuid4().hex[:8]}")


def cache_directory() -> Path:
    """Where what can be made again lives, prepared corpora and converted weights: $REGARD_CACHE, else the user's cache."""
    home = os.environ.get("REGARD_CACHE")
    return Path(home) if home else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def sync(path: Path) -> None:
    """Force a file's content, or a directory's entries, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_json(value: Any) -> str:
    """JSON as we write it everywhere: UTF-8, two spaces, one final newline; a number that is not finite is null."""
    return json.dumps(_finite(value), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def to_json_line(value: Any) -> str:
    """The same on one line, for .jsonl files."""
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """JSON has no infinity: null says that there is no number to tell."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
