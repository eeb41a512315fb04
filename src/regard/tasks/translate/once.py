"""`Once`: a value that is computed when it is first asked for."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """A function that computes its value at the first call. Threads that call it meanwhile wait for that value.

    Each instance has its own lock: in Python 3.11, `functools.cached_property` has one for all instances of a class.
    """

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._lock = Lock()
        self._compute: Callable[[], Value] | None = compute
        self._found: list[Value] = []

    def __call__(self) -> Value:
        with self._lock:
            if self._compute is not None:
                self._found.append(self._compute())
                self._compute = None  # and what it needed is free
            return self._found[0]
