"""Atomic writing of files and directories, SHA-256 hashes, and JSON.

Every room may import this module. It knows nothing of what the files mean.
"""

import errno
import hashlib
import json
import math
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from regard.errors import DiskError

_ON_WINDOWS = os.name == "nt"
_OLD = "-old"  # ends the name of a directory that is being replaced
CACHE_VARIABLE = "REGARD_CACHE"  # the environment variable that names the cache
STAGING_MARK = ".partial-"  # part of the name of every unfinished file or directory


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `DiskError` whose message says what to do."""
    try:
        yield
    except OSError as error:
        elsewhere = "choose another place"
        if path.is_relative_to(cache_directory()):
            elsewhere = f"set {CACHE_VARIABLE}, which names the cache, to a directory that can be written"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DiskError(
                f"{path}: no space left to write; free some space and run the same command again"
            ) from error
        if error.errno == errno.ENAMETOOLONG:
            raise DiskError(f"{path}: the name is too long; choose a shorter one") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise DiskError(f"{path}: not permitted to write here; {elsewhere}") from error
        if error.errno == errno.ENOENT:
            raise DiskError(f"{path}: no such directory to write into; make it first or {elsewhere}") from error
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            raise DiskError(f"{path}: it, or a part of its path, is a file and not a directory; {elsewhere}") from error
        if error.errno == errno.EISDIR:
            raise DiskError(f"{path}: a directory is there, not a file; {elsewhere}") from error
        raise


def check_place(path: Path) -> None:
    """Refuse a file that cannot be written, before the work that would fill it."""
    with disk_errors(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, str(path))
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, str(folder))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, str(folder))
        probe = folder / _staging_path(path).name  # some file systems say no only when asked, and names may be too long
        probe.touch()
        probe.unlink()


def refuse_taken(path: Path) -> None:
    """Refuse to write where something is."""
    with disk_errors(path):
        taken = path.exists() or path.is_symlink()
    if taken:
        raise DiskError(f"{path}: it is there already; choose another place, or delete it")


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A staging directory to fill. On success it is synced and renamed to `path`; on failure it is removed."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        staging = _staging_path(path)
        replaced = path.with_name(f"{staging.name}{_OLD}")
        staging.mkdir()
        try:
            yield staging
            for file in sorted(staging.rglob("*")):
                sync(file)
            sync(staging)
            if path.exists():  # a whole copy is on disk at every moment
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


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The path of a file to write. On success it is synced and renamed to `path`; on failure it is removed."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        staging = _staging_path(path)
        try:
            yield staging
            sync(staging)
            os.replace(staging, path)
            sync(path.parent)
        except BaseException:
            staging.unlink(missing_ok=True)
            raise


@contextmanager
def scratch_directory(beside: Path) -> Iterator[Path]:
    """An empty directory beside a path, which is removed at the end of the block."""
    with disk_errors(beside):
        beside.parent.mkdir(parents=True, exist_ok=True)
        scratch = _staging_path(beside)
        scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file atomically: the old content or the new one is there, never a part."""
    with whole_file(path) as staging:
        staging.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def follow_umask(path: Path) -> None:
    """Give a file the permissions of a new file in its directory; some libraries write files that only the user may read."""
    with disk_errors(path):
        new = _staging_path(path)
        new.touch()
        try:
            path.chmod(stat.S_IMODE(new.stat().st_mode))
        finally:
            new.unlink()


def remove_whole(path: Path) -> bool:
    """Delete a directory atomically: rename it first, so that nobody sees it half deleted. Returns whether all of it is gone.

    `remove_leftovers` deletes the rest if this is interrupted.
    """
    doomed = path
    with suppress(OSError):  # a full disk may refuse the rename; then delete in place
        doomed = path.rename(_staging_path(path))
    shutil.rmtree(doomed, ignore_errors=True)
    return not doomed.exists()


def remove_leftovers(directory: Path) -> list[Path]:
    """Delete the staging files of interrupted writers in `directory`; return their paths.

    A directory that was renamed for a replacement which never came gets its name back.
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


def _staging_path(path: Path) -> Path:
    """A new staging path beside `path`; its name holds `STAGING_MARK`."""
    return path.with_name(f"{path.name}{STAGING_MARK}{uuid.uuid4().hex[:8]}")


def cache_directory() -> Path:
    """The directory of prepared corpora and converted weights: $REGARD_CACHE, else `regard` in the user's cache."""
    home = os.environ.get(CACHE_VARIABLE)
    return Path(home) if home else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def sync(path: Path) -> None:
    """Force a file's content, or a directory's entries, to the disk. Windows opens no directories, and syncs only what may be written."""
    if _ON_WINDOWS and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if _ON_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_json(value: Any) -> str:
    """`value` as JSON: UTF-8, indented by two spaces, one final newline. Infinity and NaN become null."""
    return json.dumps(_finite(value), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def to_json_line(value: Any) -> str:
    """`value` as one line of a .jsonl file. Infinity and NaN become null."""
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """`value` with None for every infinity and NaN, which JSON cannot hold."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
