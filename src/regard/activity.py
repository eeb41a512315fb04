"""`activity`: states what a long piece of work is doing and how far it is. The command line shows it.

Every room may import this module. Without a watcher nothing happens. A watcher sees the work of its own thread only.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Activity:
    """A piece of work that a person may have to wait for. Activities nest."""

    def __init__(self, doing: str, total: int | None = None, unit: str = "", outer: "Activity | None" = None) -> None:
        """`doing`: such as "translating"; `total`: how many `unit` there are, such as 1,014 sentences."""
        self.doing, self.total, self.unit, self.outer = doing, total, unit, outer
        self.began = time.monotonic()
        self.done = 0
        self.note: str | None = None
        """A text that replaces the counts."""
        self._fraction: float | None = None

    @property
    def fraction(self) -> float | None:
        """The share that is done; None if it is not known."""
        if self._fraction is None and self.total:
            return min(1.0, self.done / self.total)
        return self._fraction

    @property
    def seconds(self) -> float:
        """The seconds since it began."""
        return time.monotonic() - self.began

    def advance(self, count: int = 1) -> None:
        """Count `count` more units as done."""
        self.done += count
        _tell(self)

    def report(self, fraction: float | None, note: str) -> None:
        """State the share that is done, and a text in place of the counts."""
        self._fraction, self.note = fraction, note
        _tell(self)


Watcher = Callable[[Activity | None], None]
"""Called with the innermost activity whenever something changes; None: nothing is going on."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_CURRENT: ContextVar[Activity | None] = ContextVar("activity", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Tell a watcher of all activities of this thread."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


@contextmanager
def activity(doing: str, total: int | None = None, unit: str = "") -> Iterator[Activity]:
    """The time of the block is spent on this. A generator must not yield inside of it."""
    outer = _CURRENT.get()
    current = Activity(doing, total, unit, outer)
    token = _CURRENT.set(current)
    _tell(current)
    try:
        yield current
    finally:
        _CURRENT.reset(token)
        _tell(outer)


def is_under_way(doing: str) -> bool:
    """Whether this thread does this now, or a part of it."""
    current = _CURRENT.get()
    while current is not None and current.doing != doing:
        current = current.outer
    return current is not None


def _tell(current: Activity | None) -> None:
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(current)
