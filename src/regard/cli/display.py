"""Shows what a command is doing: one bar at the bottom of the terminal, for every verb. Elsewhere it shows nothing.

The bar is gone before results are written, and it is never there while the user types or results appear line by line.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from regard.activity import Activity, watched_by
from regard.cli.bar import Bar, clock
from regard.errors import shown

DELAY = 1.0
"""Seconds until an activity is shown; 0: at once."""


class Display:
    """A watcher that draws the current activity. A timer opens the bar, so all methods take the lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._current: Activity | None = None
        self._bar: Bar | None = None
        self._timer: threading.Timer | None = None
        self._hidden = False

    def __call__(self, current: Activity | None) -> None:
        with self._lock:
            self._current = current
            if current is None or self._hidden:
                self.close()
            elif self._bar is not None:
                self._bar.update(*_described(current))
            elif DELAY <= 0:
                self._open()
            elif self._timer is None:
                self._timer = threading.Timer(DELAY, self._open)
                self._timer.daemon = True
                self._timer.start()

    def print(self, line: str) -> bool:
        """Print a line above the bar. False: there is no bar."""
        with self._lock:
            if self._bar is None:
                return False
            self._bar.print(line)
            return True

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """No bar during the block."""
        before, self._hidden = self._hidden, True
        self(self._current)
        try:
            yield
        finally:
            self._hidden = before

    def close(self) -> None:
        """Remove the bar."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    def _open(self) -> None:
        with self._lock:
            self._timer = None
            if self._current is not None and self._bar is None and not self._hidden:
                self._bar = Bar(*_described(self._current))


_display: Display | None = None  # of the running command, if stderr is a terminal


@contextmanager
def shown_activities() -> Iterator[None]:
    """Show the activities of the block if stderr is a terminal."""
    global _display
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    display = _display = Display()
    try:
        with watched_by(display):
            yield
    finally:
        display.close()
        _display = None


@contextmanager
def hidden_bar() -> Iterator[None]:
    """No bar during the block: the user types, or results appear on the terminal."""
    if _display is None:
        yield
        return
    with _display.hidden():
        yield


def print_above_bar(line: str) -> bool:
    """Print a line above the bar. False: there is no bar, and nothing was printed."""
    return _display is not None and _display.print(line)


def _described(current: Activity) -> tuple[str, float | None, str]:
    """The title, the share that is done, and the text behind the bar."""
    return shown(": ".join(_titles(current))), current.fraction, shown(_text(current))


def _titles(current: Activity | None) -> list[str]:
    return [] if current is None else [*_titles(current.outer), current.doing]


def _text(current: Activity) -> str:
    if current.note is not None:
        return current.note
    if current.total is None:
        return ""
    counts = f"{min(current.done, current.total):,} of {current.total:,} {current.unit}".rstrip()
    if not current.fraction:
        return counts
    return f"{counts}  {clock(current.seconds * (1.0 - current.fraction) / current.fraction)} left"
