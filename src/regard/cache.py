"""Entries of a cache: directories that are written aside, used by several processes, and removed when the cache is full.

Every room may import this module. A lock on a directory says that its writer, or its reader, lives; no clock does. The system releases the
lock of a process that was killed. What an entry holds is the matter of its room.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from regard.errors import ConfigError
from regard.files import STAGING_MARK, disk_errors, remove_whole, whole_directory

QUOTA_VARIABLE = "REGARD_CACHE_GB"
"""The environment variable with the quota of each cache: prepared corpora, and converted weights."""
QUOTA_GB = 20.0
_LARGEST_GB = 1e6
_LOCK_SUFFIX = ".lock"  # of a file beside an entry


def quota() -> int:
    """The most bytes that each cache keeps: $REGARD_CACHE_GB gigabytes, else `QUOTA_GB`."""
    given = os.environ.get(QUOTA_VARIABLE)
    try:
        size = QUOTA_GB if given is None else float(given)
    except ValueError:
        size = -1.0
    if not 0.0 <= size <= _LARGEST_GB:
        raise ConfigError(f"{QUOTA_VARIABLE} = {given!r}: must be a number of gigabytes from 0 to {_LARGEST_GB:,.0f}")
    return int(size * 1e9)


@contextmanager
def new_entry(path: Path, lock: ExitStack) -> Iterator[Path]:
    """A staging directory, which becomes `path` at the end of the block: `files.whole_directory`, locked until `lock` is closed."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as writing:
        with held(path.parent):  # so that nobody takes the new directory for a leftover before it is locked
            staging = writing.enter_context(whole_directory(path))
            lock.enter_context(held(staging))
        yield staging


@contextmanager
def new_file(path: Path) -> Iterator[None]:
    """An empty file at `path`, which is locked while the block lasts and removed at its end."""
    with ExitStack() as lock:
        with disk_errors(path), held(path.parent):
            path.touch()
            lock.enter_context(held(path))
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def held(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Lock a file or directory for the time of the block; waits for others. A file system without locks does without."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system that has no locks
            fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _is_free(path: Path) -> bool:
    """Whether no process holds a lock on a file or directory."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def remove_dead(cache: Path) -> None:
    """Delete the unfinished files and directories of writers that were killed."""
    if not cache.is_dir():
        return
    with held(cache):
        for path in cache.glob(f"*{STAGING_MARK}*"):
            if path.is_symlink() or not _is_free(path):
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):  # another user's
                    path.unlink()


def mark_used(entry: Path) -> None:
    """Note that an entry is used now, which saves it from `prune` for longer."""
    with suppress(OSError):  # a cache that may only be read
        os.utime(entry)


def prune(cache: Path, keep: Path) -> None:
    """Delete the entries that were not used for longest until the cache is within its quota. `keep`, and what is in use, stays."""
    most = quota()
    with held(cache):
        entries = {path: _size_of(path) for path in cache.iterdir() if _is_entry(path)}
        total = sum(entries.values())
        for path in sorted(entries, key=_last_use):
            if total <= most:
                break
            lock = path.with_name(f"{path.name}{_LOCK_SUFFIX}")
            if path != keep and _is_free(path) and (not lock.exists() or _is_free(lock)):
                remove_whole(path)
                lock.unlink(missing_ok=True)
                total -= entries[path]


def _is_entry(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and STAGING_MARK not in path.name


def _last_use(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _size_of(entry: Path) -> int:
    """The bytes of all files of an entry; what vanishes meanwhile has none."""
    total = 0
    for folder, _, names in os.walk(entry):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return total
