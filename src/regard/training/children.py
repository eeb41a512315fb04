"""Child processes of training: forked, deaf to Ctrl-C, and gone with their parent."""

import ctypes
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from typing import Any

import torch

_PDEATHSIG = 1  # prctl.h


def can_fork() -> bool:
    """Whether this process may fork children that compute: not beside an accelerator's threads, nor as a child itself."""
    safe = sys.platform.startswith("linux") and not (torch.cuda.is_available() or torch.xpu.is_available())
    return safe and not multiprocessing.current_process().daemon  # which may have no children


def start_child(work: Callable[..., object], *arguments: Any) -> BaseProcess:
    """Run `work(*arguments)` in a forked process with one thread."""
    process = multiprocessing.get_context("fork").Process(
        target=_child, args=(os.getpid(), work, arguments), daemon=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads: the child uses none of theirs
        process.start()
    # If it is never ended: at exit multiprocessing would send SIGTERM, which the child ignores, and wait for ever.
    Finalize(process, process.kill, exitpriority=0)
    return process


def end_child(process: BaseProcess) -> None:
    """Kill a child and wait until it is gone."""
    process.kill()
    process.join()


def _child(parent: int, work: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    """The child ends with its parent and ignores SIGINT and SIGTERM: the parent decides when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    torch.set_num_threads(1)
    if os.getppid() == parent:
        work(*arguments)
    os._exit(0)
