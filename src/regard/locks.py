"""Locks of open files, by the calls of the system: `flock` on Linux and macOS, `msvcrt` on Windows; where there is neither, none.

Every room may import this module. A lock lasts until the file is closed, or its process is gone.
"""

import errno
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_FLOCK: Any = import_module("fcntl") if find_spec("fcntl") else None
_MSVCRT: Any = None if _FLOCK or not find_spec("msvcrt") else import_module("msvcrt")
_PLACE = 1 << 30  # the byte that Windows locks: behind all content, because nobody else may read a locked byte
_TAKEN = (errno.EACCES, errno.EDEADLK)  # errors of `msvcrt` if another process has the lock


def lock_handle(handle: int, *, shared: bool = False) -> bool:
    """Lock an open file. False: another process has the lock. An `OSError` says that its file system has no locks.

    shared: several processes may have such a lock at a time. Windows has only exclusive ones.
    """
    if _FLOCK is not None:
        try:
            _FLOCK.flock(handle, (_FLOCK.LOCK_SH if shared else _FLOCK.LOCK_EX) | _FLOCK.LOCK_NB)
        except BlockingIOError:
            return False
    elif _MSVCRT is not None:
        before = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _PLACE, os.SEEK_SET)
        try:
            _MSVCRT.locking(handle, _MSVCRT.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
        finally:
            os.lseek(handle, before, os.SEEK_SET)
    return True


def is_lockable(path: Path) -> bool:
    """Whether a file or directory can be opened to be locked. Windows opens no directories."""
    return _FLOCK is not None or not path.is_dir()
