"""A parallel map over a stream of items, in order, by worker processes.

A worker is a new interpreter connected by two pipes, not a fork. It shares no locks with torch's threads, needs no
`__main__` guard and copies no memory. It exits when its pipe closes, however this process ends, and ignores Ctrl-C.
"""

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, TypeVar

from regard.errors import ConfigError, DataError
from regard.machine import usable_cores

WORKERS_VARIABLE = "REGARD_WORKERS"
MOST = 8  # this one process reads for all workers, and cannot feed more
_WAITING = 2  # items handed out to each worker: the current one and the next

Item = TypeVar("Item")
Result = TypeVar("Result")


def default_workers() -> int:
    """$REGARD_WORKERS, else the number of usable processors, at most `MOST`."""
    wanted = os.environ.get(WORKERS_VARIABLE)
    if wanted is None:
        return min(MOST, usable_cores())
    if not wanted.isdecimal() or int(wanted) < 1:
        raise ConfigError(f"{WORKERS_VARIABLE} = {wanted!r}: must be a number of processes, 1 or more")
    return int(wanted)


def ordered_map(
    make: Callable[[], Callable[[Item], Result]], items: Iterable[Item], workers: int, alone: int
) -> Generator[Result, None, None]:
    """Apply the function that `make()` returns to each item; yield the results in order.

    The first `alone` items are processed here, so that few items start no process; the others by `workers` processes, each
    of which calls `make()`. Exceptions of the function are raised here. Close the iterator to end the processes.
    """
    function = make()
    stream = iter(items)
    yield from map(function, islice(stream, alone))
    if workers < 2 or not _has_interpreter():
        yield from map(function, stream)
        return
    for item in stream:  # only if there are more items
        yield from _by_processes(make, chain([item], stream), workers)


def _by_processes(
    make: Callable[[], Callable[[Item], Result]], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    idle: SimpleQueue[_Worker] = SimpleQueue()

    def work(item: Item) -> Any:
        worker = idle.get()
        try:
            return worker.apply(item)
        finally:
            idle.put(worker)

    with ExitStack() as stack:
        # A thread for each process, because writing to a full pipe blocks. The threads end after the processes.
        threads = stack.enter_context(ThreadPoolExecutor(workers))
        for _ in range(workers):
            idle.put(stack.enter_context(_Worker(make)))
        waiting: deque[Future[Result]] = deque()
        stack.callback(lambda: [future.cancel() for future in waiting])
        for item in items:
            if len(waiting) == workers * _WAITING:
                yield waiting.popleft().result()
            waiting.append(threads.submit(work, item))
        while waiting:
            yield waiting.popleft().result()


class _Worker:
    """A worker process; leaving the context ends it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        start = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._make: Callable[[], Any] | None = make

    def __enter__(self) -> "_Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # a worker has no state to save
        self._process.wait()
        for pipe in (self._answers, self._requests):
            with suppress(BrokenPipeError):  # an item was being sent when the process was killed
                pipe.close()

    def apply(self, item: object) -> Any:
        try:
            pickle.dump((self._make, item), self._requests, pickle.HIGHEST_PROTOCOL)
            self._requests.flush()
            self._make = None
            result, error = pickle.load(self._answers)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            raise DataError(
                f"a process that encodes text has ended (exit code {self._process.wait()}), perhaps for want of memory; "
                f"run the same command again with the environment variable {WORKERS_VARIABLE}=1"
            ) from None
        if error is not None:
            raise error
        return result


def serve() -> None:
    """The main loop of a worker process: make the function, then apply it to each item until the pipe closes."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # exit silently when the reader is gone
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the answers
    function = None
    while True:
        try:
            make, item = pickle.load(requests)
        except EOFError:
            return
        try:
            function = function or make()
            answer: tuple[Any, Exception | None] = function(item), None
        except Exception as error:
            error.add_note(f"In another process:\n{traceback.format_exc()}")
            answer = None, error
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _has_interpreter() -> bool:
    """Whether there is a Python interpreter to start; a frozen program has none."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)
