"""A team of two members in one process, each with a loop, a network and an optimiser of its own: as processes of several machines are.

They take turns in computing, so that the shared random generator of torch is no matter, and meet at a barrier to exchange numbers.
"""

import math
import threading
from collections.abc import Callable
from typing import Any, Self, TypeVar

import torch

from regard.data.examples import Numbers
from regard.training.loop import TrainingJob
from regard.training.objective import StepInfo
from regard.training.worker import Sums, Worker

Result = TypeVar("Result")
MEMBERS = 2
PATIENCE = 60.0  # seconds that a member waits for the other


class Meeting:
    """The place where two members exchange values; who fails breaks it for the other."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(MEMBERS)
        self.turn = threading.Lock()
        self._values: list[Any] = [None] * MEMBERS

    def exchange(self, number: int, value: Any) -> list[Any]:
        """The values of all members, in their order."""
        self._values[number] = value
        self.barrier.wait(PATIENCE)
        values = list(self._values)
        self.barrier.wait(PATIENCE)
        return values


class PairedTeam:
    """One member of the two."""

    size = MEMBERS
    steps_ahead = 0

    def __init__(self, meeting: Meeting, number: int, job: TrainingJob) -> None:
        self._meeting, self._number, self.first = meeting, number, number == 0
        self._worker = Worker(number, job.settings.train, job.objective, job.network, job.optimizer, [], job.device)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self._meeting.barrier.abort()

    def agree(self, stop: bool) -> bool:
        return any(self._meeting.exchange(self._number, stop))

    def from_first(self, compute: Callable[[], Result]) -> Result:
        value = None
        if self.first:
            with self._meeting.turn:
                value = compute()
        result: Result = self._meeting.exchange(self._number, value)[0]
        return result

    def prepare(self, info: StepInfo, batches: list[Numbers]) -> None:
        """Nothing is made ahead."""

    def gradient(self, info: StepInfo, batches: list[Numbers]) -> Sums:
        examples, seed = self._worker.objective.examples, self._worker.train.seed
        parts = [examples.split(batch, self.size, seed, info.epoch)[self._number] for batch in batches]
        with self._meeting.turn:
            mine = self._worker.gradient(info, parts)
        every = self._meeting.exchange(self._number, (mine, [p.grad.clone() for p in self._worker.parameters]))
        for index, parameter in enumerate(self._worker.parameters):
            parameter.grad = torch.stack([gradients[index] for _, gradients in every]).sum(dim=0)
        return Sums.of([sums for sums, _ in every])

    def norm(self) -> float:
        return math.sqrt(sum(float(p.grad.norm()) ** 2 for p in self._worker.parameters if p.grad is not None))

    def update(self, learning_rate: float, scale: float) -> None:
        for parameter in self._worker.parameters:
            if parameter.grad is not None:
                parameter.grad.mul_(scale)
        self._worker.optimizer.step(learning_rate)
