"""The interface between the training loop and its data-parallel workers, on one machine or several.

Either every member runs the loop, or the first runs it and controls the others. All members have the same weights after every step. Only
the first locks the directory, logs and saves. All members stop at the same step, and the failure of one ends all.
"""

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

from regard.data.examples import Numbers
from regard.training.objective import StepInfo
from regard.training.worker import Sums

Result = TypeVar("Result")


class Team(Protocol):
    """The data-parallel workers of a run. A context manager, which ends the processes that it started."""

    @property
    def size(self) -> int:
        """The number of members."""
        ...

    @property
    def first(self) -> bool:
        """Whether this process validates, logs and saves."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def agree(self, stop: bool) -> bool:
        """Whether any member wants to stop; every member gets the same answer."""
        ...

    def from_first(self, compute: Callable[[], Result]) -> Result:
        """Call `compute` in the first member only, and return its result in every member."""
        ...

    def gradient(self, info: StepInfo, batches: list[Numbers]) -> Sums:
        """Compute the gradient of the loss, summed over the outputs of these batches. Returns the sums of all members."""
        ...

    @property
    def steps_ahead(self) -> int:
        """The number of coming steps that `prepare` is worth calling for; 0 if it does nothing."""
        ...

    def prepare(self, info: StepInfo, batches: list[Numbers]) -> None:
        """Tell the batches of a coming step, to be made in the background. A hint: the step may be another one, or never come."""
        ...

    def norm(self) -> float:
        """Add up the members' gradients and return the norm of the sum."""
        ...

    def update(self, learning_rate: float, scale: float) -> None:
        """Update the weights with the gradient times `scale`."""
        ...
