"""Entries of a cache: directories that are written aside, used by several processes, and removed when the cache is full.

Every room may import this module. A lock on a directory says that its writer, or its reader, lives; no clock does. The system releases the
lock of a process that was killed. What an entry holds is the matter of its room.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from regard.activity import activity
from regard.errors import ConfigError, DiskError, FileError
from regard.files import CACHE_VARIABLE, STAGING_MARK, disk_errors, remove_whole, whole_directory
from regard.foreign import UNBLOCKED, regular_handle
from regard.locks import is_lockable, lock_handle

QUOTA_VARIABLE = "REGARD_CACHE_GB"
"""The environment variable with the quota of each cache: prepared corpora, and converted weights."""
QUOTA_GB = 20.0
_LARGEST_GB = 1e6
LONGEST_WAIT = 600.0
"""Seconds to wait for a lock that another process has. It is held while an entry is made, listed or removed."""
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
    """A staging directory, which becomes `path` at the end of the block: `files.whole_directory`, locked until `lock` is closed.

    A malformed quota is refused here, before the work: `prune` follows it.
    """
    quota()
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as writing:
        with locked(path.parent):  # so that nobody takes the new directory for a leftover before it is locked
            staging = writing.enter_context(whole_directory(path))
            lock.enter_context(locked(staging))
        yield staging


@contextmanager
def new_file(path: Path) -> Iterator[None]:
    """An empty file at `path`, which is locked while the block lasts and removed at its end."""
    with ExitStack() as lock:
        with disk_errors(path), locked(path.parent):
            path.touch()
            lock.enter_context(locked(path))
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def locked_entry(path: Path, waiting: str) -> Iterator[None]:
    """Lock an entry that may not exist yet, by a file beside it. `waiting`: see `locked`."""
    lock = _lock_file(path)
    with disk_errors(lock):
        lock.parent.mkdir(parents=True, exist_ok=True)
    with locked(lock, waiting=waiting, open_handle=_lock_handle):
        yield


@contextmanager
def locked(
    path: Path,
    *,
    shared: bool = False,
    waiting: str = "waiting for another process that uses the cache",
    open_handle: Callable[[Path], int] | None = None,
) -> Iterator[None]:
    """Lock a file or directory for the time of the block. Another process is waited for; after `LONGEST_WAIT` a `DiskError` names it.

    waiting: the activity while it waits. open_handle: opens the file; by default it must exist, or it is a `FileNotFoundError`.
    """
    open_handle = open_handle or _handle
    handle = try_lock(path, open_handle, shared=shared)
    if handle is None:
        with activity(waiting):
            handle = _wait_for(path, open_handle, shared)
    try:
        yield
    finally:
        os.close(handle)


def try_lock(path: Path, open_handle: Callable[[Path], int], *, shared: bool = False) -> int | None:
    """The handle of a file or directory that is locked now, until the handle is closed; None: another process has the lock.

    A file that was removed or renamed before it was locked is opened again: such a lock keeps nobody out. A file system without locks
    does without, and so do directories on Windows.
    """
    if not is_lockable(path):
        return os.open(os.devnull, os.O_RDONLY)
    while True:
        handle = open_handle(path)
        with suppress(OSError):  # a file system that has no locks
            if not lock_handle(handle, shared=shared):
                os.close(handle)
                return None
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)


def _wait_for(path: Path, open_handle: Callable[[Path], int], shared: bool) -> int:
    deadline = time.monotonic() + LONGEST_WAIT
    while (handle := try_lock(path, open_handle, shared=shared)) is None:
        if time.monotonic() > deadline:
            raise DiskError(
                f"{path}: another process has held this lock for {LONGEST_WAIT:g} seconds; end it, or set {CACHE_VARIABLE}, "
                "which names the cache, to another directory"
            )
        time.sleep(0.05)
    return handle


def _handle(path: Path) -> int:
    return os.open(path, os.O_RDONLY | UNBLOCKED)


def _lock_file(entry: Path) -> Path:
    return entry.with_name(f"{entry.name}{_LOCK_SUFFIX}")


def _lock_handle(path: Path) -> int:
    """The handle of a lock file, which is made if there is none."""
    with disk_errors(path):
        try:
            return regular_handle(path, os.O_RDWR | os.O_CREAT)  # some file systems lock only what may be written
        except FileError as error:
            raise DiskError(f"{error}; delete it") from None


@contextmanager
def _if_unused(path: Path) -> Iterator[bool]:
    """Whether no other process uses a file or directory, which is then locked for the time of the block. Without permission: False."""
    handle = None
    with suppress(OSError):
        handle = try_lock(path, _handle)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def remove_stale(cache: Path) -> None:
    """Delete the unfinished files and directories of writers that were killed."""
    if not cache.is_dir():
        return
    with locked(cache):
        for path in cache.glob(f"*{STAGING_MARK}*"):
            if path.is_symlink():
                continue
            with _if_unused(path) as unused:
                if unused and path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                elif unused:
                    with suppress(OSError):  # another user's
                        path.unlink()


def mark_used(entry: Path) -> None:
    """Note that an entry is used now, which saves it from `prune` for longer."""
    with suppress(OSError):  # a cache that may only be read
        os.utime(entry)


def prune(cache: Path, keep: Path) -> None:
    """Delete the entries that were not used for longest until the cache is within its quota. `keep`, and what is in use, stays.

    What cannot be deleted stays too: the command that fills the cache goes on.
    """
    most = quota()
    with suppress(OSError, DiskError), locked(cache):
        entries = {path: _size_of(path) for path in cache.iterdir() if _is_entry(path)}
        total = sum(entries.values())
        for path in sorted(entries, key=_last_use):
            if total <= most:
                break
            if path != keep and _remove_unused(path):
                total -= entries[path]


def _remove_unused(entry: Path) -> bool:
    """Delete an entry and its lock file, unless another process uses it. Returns whether it is gone."""
    lock = _lock_file(entry)
    with ExitStack() as locks:
        for path in (lock, entry) if lock.exists() else (entry,):
            if not locks.enter_context(_if_unused(path)):
                return False
        if not remove_whole(entry):
            return False
        with suppress(OSError):  # while it is locked: who waits for it sees that it is gone
            lock.unlink(missing_ok=True)
    return True


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
