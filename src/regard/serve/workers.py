"""`Workers`: a pool of daemon threads, and `ends_when`, by which their work ends early.

The interpreter joins the threads of a `ThreadPoolExecutor` at its end, however long they take.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from regard.activity import Activity, watched_by
from regard.search.interruption import SearchStopped, StopSignal

Result = TypeVar("Result")


class Workers:
    """Threads that call functions in the order of their arrival. A process may end while one of them works."""

    def __init__(self, threads: int, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self.pending = 0
        """The calls that wait or run. Only its user counts them."""
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[[], Result]) -> "Future[Result]":
        """The result of a function, which a thread calls when it is free."""
        future: Future[Result] = Future()
        self._calls.put((future, function))
        return future

    def close(self, seconds: float) -> None:
        """Cancel what has not begun, and wait for the rest, at most so many seconds."""
        end = time.monotonic() + seconds
        try:
            while True:
                call = self._calls.get_nowait()
                if call is not None:
                    call[0].cancel()
        except Empty:
            pass
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
            del call, future, function  # a thread that waits keeps no result


@contextmanager
def ends_when(stopped: StopSignal) -> Iterator[None]:
    """Ends the work of the block between two of its activities, if nobody wants it any more."""

    def look(_: Activity | None) -> None:
        if stopped():
            raise SearchStopped

    with watched_by(look):
        yield
