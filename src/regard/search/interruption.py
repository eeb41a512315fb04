"""`Interruption`: ends a search early, by a time limit or by a stop signal. Every search looks at it between its steps.

The time limit cuts: the search returns what it has so far, and marks it (`Hypothesis.timed_out`). The stop signal raises
`SearchStopped`: nobody wants the result any more. No torch.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from regard.errors import SearchError
from regard.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    from torch import Tensor

StopSignal = Callable[[], bool]
"""Whether the search should stop now, such as `threading.Event().is_set`. It is called often, so it must be quick."""


@dataclass(frozen=True)
class BetweenBatches:
    """A stop signal for which no other engine is chosen: one that cannot stop between tokens looks at it between its batches."""

    stopped: StopSignal

    def __call__(self) -> bool:
        """Whether the search should stop now."""
        return self.stopped()


class SearchStopped(SearchError):  # noqa: N818 (it is no error of the options)
    """The stop signal of a search was set."""

    def __init__(self) -> None:
        super().__init__("the search was stopped before its end")


class Interruption:
    """A time limit, a stop signal, or both, of one call. All batches and engines of the call share it.

    The clock starts at the first batch. Each batch has its own copy (`of_batch`), which states the sentences that were cut.
    """

    def __init__(self, seconds: float | None = None, stopped: StopSignal | None = None) -> None:
        self._seconds, self._stopped = seconds, stopped
        self._end: float | None = None  # of the time; None until it begins
        self._cut: set[int] = set()

    @property
    def waits_for_batches(self) -> bool:
        """Whether batches may run to their end."""
        return self._seconds is None and isinstance(self._stopped, BetweenBatches)

    @classmethod
    def of(cls, seconds: float | None, stopped: StopSignal | None) -> "Interruption | None":
        """The interruption of these limits; None if there are none, which costs a search nothing."""
        return None if seconds is None and stopped is None else cls(seconds, stopped)

    def start(self) -> None:
        """Start the clock, if it has not started yet."""
        if self._end is None and self._seconds is not None:
            self._end = time.monotonic() + self._seconds

    def due(self) -> bool:
        """Whether the clock has started and the time is over. Raises `SearchStopped` if the stop signal is set."""
        if self._stopped is not None and self._stopped():
            raise SearchStopped
        return self._end is not None and time.monotonic() >= self._end

    def of_batch(self) -> "Interruption":
        """The same limits for a batch that is searched now. It states its own cut sentences."""
        self.start()
        own = Interruption(self._seconds, self._stopped)
        own._end = self._end
        return own

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


NOT_BEGUN = Hypothesis(tokens=(), logprob=0.0, score=0.0, finished=False, timed_out=True)
"""The answer to a text whose batch had not begun when the time of its call was over."""


def ends_here(interruption: Interruption | None, step: int, sentences: "Tensor") -> bool:
    """Whether the time limit ends a search before this step; it then ends the search of these sentences. The first step is always made."""
    if interruption is None or not interruption.due() or not step:
        return False
    interruption.cut(sentences.tolist())
    return True
