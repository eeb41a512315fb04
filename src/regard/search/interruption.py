"""`Interruption`: ends a search early, by a time limit or by a stop signal. Every search looks at it between its steps.

The time limit cuts: the search returns what it has so far, and marks it (`Hypothesis.timed_out`). The stop signal raises
`SearchStopped`: nobody wants the result any more. No torch.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from regard.errors import SearchError
from regard.search.hypothesis import Hypothesis

StopSignal = Callable[[], bool]
"""Whether the search should stop now, such as `threading.Event().is_set`. It is called often, so it must be quick."""


class SearchStopped(SearchError):  # noqa: N818 (it is no error of the options)
    """The stop signal of a search was set."""

    def __init__(self) -> None:
        super().__init__("the search was stopped before its end")


class Interruption:
    """A time limit that begins now, a stop signal, or both."""

    def __init__(self, seconds: float | None = None, stop: StopSignal | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._stop = stop
        self._cut: set[int] = set()

    @classmethod
    def of(cls, seconds: float | None, stop: StopSignal | None) -> "Interruption | None":
        """The interruption of these limits; None if there are none, which costs a search nothing."""
        return None if seconds is None and stop is None else cls(seconds, stop)

    def due(self) -> bool:
        """Whether the time is over. Raises `SearchStopped` if the stop signal is set."""
        if self._stop is not None and self._stop():
            raise SearchStopped
        return self._end is not None and time.monotonic() >= self._end

    def cut(self, sentences: Iterable[int]) -> None:
        """State the sentences whose search the time limit has ended."""
        self._cut.update(sentences)

    def marked(self, hypotheses: Sequence[Sequence[Hypothesis]]) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, marked where its search was cut."""
        return [
            [replace(hypothesis, timed_out=True) for hypothesis in own] if number in self._cut else list(own)
            for number, own in enumerate(hypotheses)
        ]
