"""Runs commands of regard in forked children of one warm process: each has its own limits, streams and time.

    python -m hostile.server < requests > replies

A request and its reply are a JSON object on one line. The process has imported everything and has used nothing, so that a
child starts in milliseconds and nothing is shared but code. `hostile.verbs` is the other end.
"""

import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

WARM = (
    "torch",
    "torch._dynamo",  # any optimiser imports it
    "torch.utils.tensorboard",
    "ctranslate2",
    "sentencepiece",
    "sacrebleu",
    "rich.progress",
    "regard.api",
    "regard.cli.main",
    "regard.explain.explain",
    "regard.explain.run_report",
    "regard.explain.figures",
    "regard.tasks.load",
)


def serve() -> None:
    """Answer requests until standard input ends."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for name in WARM:
        importlib.import_module(name)
    _use_one_thread()
    replies.write("ready\n")
    replies.flush()
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for line in requests:
        replies.write(json.dumps(_handle(json.loads(line))) + "\n")
        replies.flush()


def _use_one_thread() -> None:
    """Threads that were started before a fork do not exist after it."""
    import torch

    torch.set_num_threads(1)


def _handle(request: dict[str, Any]) -> dict[str, Any]:
    ready, begin = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ready)
        _run(request, begin)
    os.close(begin)
    os.read(ready, 1)  # the child is about to run the command; from here on it may be sent signals
    os.close(ready)
    began = time.monotonic()
    ended = _wait(child, began + request["seconds"], [(began + delay, number) for delay, number in request["signals"]])
    if not ended:
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    leftover = _kill_group(child)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "timed_out": not ended,
        "leftover": leftover,
        "seconds": time.monotonic() - began,
        "peak_mb": usage.ru_maxrss // 1024,
    }


def _wait(child: int, deadline: float, signals: list[tuple[float, int]]) -> bool:
    """Send the signals at their moments; whether the child ends before the deadline."""
    handle = os.pidfd_open(child)
    try:
        for moment, number in [*sorted(signals), (deadline, 0)]:
            if select.select([handle], [], [], max(0.0, moment - time.monotonic()))[0]:
                return True
            if number:
                os.kill(child, number)
        return False
    finally:
        os.close(handle)


def _kill_group(child: int) -> bool:
    """End what the child has left running. True: there was something."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _run(request: dict[str, Any], begin: int) -> None:
    """In the child: become the command, and end as an interpreter ends."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(request["directory"])
        os.environ.update(request["environment"])
        _open_streams(request)
        _set_limits(request)
        sys.argv = ["regard", *request["arguments"]]
        if request["fault"]:
            name, *values = request["fault"]
            getattr(importlib.import_module("hostile.faults"), name)(*values)
        code = _exit_code(begin)
    except BaseException:
        if sys.stderr is not None:
            traceback.print_exc()
    finally:
        os._exit(code)


def _exit_code(begin: int) -> int:
    """Run the entry point; the code with which the interpreter would end, and what it would print.

    `begin` is closed when the entry point has its handler of signals: before that a signal is Python's matter.
    """
    from regard.cli import entry

    def imported() -> Callable[[], None]:
        os.close(begin)
        return original()

    original, entry._imported = entry._imported, imported
    code = 0
    try:
        entry.run()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        code = 1
        if sys.stderr is not None:
            traceback.print_exc()
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except OSError as error:
        os.write(2, f"Exception ignored in {sys.stdout!r}: {error}\n".encode())
        code = 120
    return code


def _open_streams(request: dict[str, Any]) -> None:
    """Standard streams as at the start of an interpreter: None where the descriptor is closed."""
    modes = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_APPEND, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number, (path, mode) in enumerate(zip(request["streams"], modes, strict=True)):
        if path is None:
            os.close(number)
        else:
            handle = os.open(path, mode, 0o600)
            os.dup2(handle, number)
            os.close(handle)
    texts = [
        None
        if path is None
        else open(number, "r" if number == 0 else "w", encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        for number, (path, errors) in enumerate(
            zip(request["streams"], ("surrogateescape", "surrogateescape", "backslashreplace"), strict=True)
        )
    ]
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = texts  # type: ignore[assignment,misc]
    if sys.stderr is not None:
        sys.stderr.reconfigure(line_buffering=True)


def _set_limits(request: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if request["memory"]:
        with open("/proc/self/statm", encoding="ascii") as pages:
            now = int(pages.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + request["memory"],) * 2)
    if request["file_size"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as an interpreter does at its start
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_size"],) * 2)
    if request["open_files"] is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (request["open_files"],) * 2)


if __name__ == "__main__":
    serve()
