"""Ctrl-C and SIGTERM during training: the first signal makes the loop save and stop, the second ends the process at once."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

LOST = b"\nended at once: the steps since the last checkpoint are lost; the same command goes on from that checkpoint\n"


@contextmanager
def stop_requests(announce: Callable[[], None]) -> Iterator[list[int]]:
    """The list of SIGINT and SIGTERM received so far. It stays empty outside the main thread, which receives no signals.

    announce: called at the first signal, in the middle of whatever the main thread is doing.
    """
    signals: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        if signals:
            with suppress(OSError):  # a closed stderr
                os.write(2, LOST)
            os._exit(128 + number)
        signals.append(number)
        announce()

    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
