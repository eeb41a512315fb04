"""Ctrl-C and SIGTERM: the first asks the loop to save and stop, the second ends the process at once."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """A function that tells whether a stop was asked for. Outside the main thread, where no signal arrives, it says no."""
    asked: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        if asked:
            os._exit(128 + number)
        asked.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
