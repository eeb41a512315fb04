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

    def __init__(self, seconds: float | None = None, stopped: StopSignal | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._stopped = stopped
        self._cut: set[int] = set()

    @classmethod
    def of(cls, seconds: float | None, stopped: StopSignal | None) -> "Interruption | None":
        """The interruption of these limits; None if there are none, which costs a search nothing."""
        return None if seconds is None and stopped is None else cls(seconds, stopped)

    def due(self) -> bool:
        """Whether the time is over. Raises `SearchStopped` if the stop signal is set."""
        if self._stopped is not None and self._stopped():
            raise SearchStopped
        return self._end is not None and time.monotonic() >= self._end

    def again(self) -> "Interruption":
        """The same limits for a further search, which states its own cut sentences."""
        further = Interruption(None, self._stopped)
        further._end = self._end
        return further

    def was_cut(self, sentence: int) -> bool:
        """Whether the time limit has ended the search of a sentence."""
        return sentence in self._cut

    def cut(self, sentences: Iterable[int]) -> None:
        """State the sentences whose search the time limit has ended."""
        self._cut.update(sentences)

    def marked(self, hypotheses: Sequence[Sequence[Hypothesis]]) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, marked where its search was cut."""
        return [
            [replace(hypothesis, timed_out=True) for hypothesis in own] if number in self._cut else list(own)
            for number, own in enumerate(hypotheses)
        ]
