"""`Log`: what a server does, one JSON object a line. It has no text of a request, no key and no address, unless texts are asked for."""

import json
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from regard.engine.constraints import ConstraintWarning
from regard.engine.input_length import TruncationWarning
from regard.errors import shown

OF_ANSWERS = (ConstraintWarning, TruncationWarning)
"""Warnings that a translation states too (`unmet`, `truncated`). They may repeat a text of the request."""


class Log:
    """Writes events as JSON lines, whole lines from any thread."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        """write: gets each line; None: stderr."""
        self._write = write
        self._lock = threading.Lock()

    def event(self, event: str, **values: Any) -> None:
        """Write an event. A log that cannot be written stops no request."""
        stated = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": event, **values}
        line = json.dumps(stated, default=str) + "\n"  # ASCII: no character can move a cursor
        try:
            with self._lock:
                if self._write is not None:
                    self._write(line)
                else:
                    sys.stderr.write(line)
                    sys.stderr.flush()
        except (OSError, ValueError):
            pass


@contextmanager
def logged_warnings(log: Log) -> Iterator[None]:
    """Warnings go to the log, but for those of single answers. Enter it once, before any thread works: it is for all threads."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        log.event("warning", message=shown(message))

    with warnings.catch_warnings():
        for category in OF_ANSWERS:
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield
