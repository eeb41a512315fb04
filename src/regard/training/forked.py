"""Data-parallel training in forked processes: one single-threaded worker per core, with the weights in shared memory.

Small networks consist of many small operations. Threads synchronise after each of them; these processes synchronise three times a step.
With the same number of workers, results are reproducible to the last bit.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Self, TypeVar

import torch
from torch import nn

from regard.data.examples import Numbers
from regard.errors import TrainError
from regard.training.ahead import STEPS_AHEAD, Preparer
from regard.training.children import can_fork, end_child, start_child
from regard.training.objective import StepInfo
from regard.training.shared import shared
from regard.training.worker import Sums, Worker

MOST = 8
Result = TypeVar("Result")


def team_size(device: torch.device) -> int:
    """One worker for each thread that torch may use; 1 if processes cannot be forked safely."""
    return min(MOST, torch.get_num_threads()) if device.type == "cpu" and can_fork() else 1


def share_weights(network: nn.Module) -> None:
    """Move a network's weights to shared memory."""
    parameters = list(network.parameters())
    for parameter, place in zip(parameters, shared([p.detach() for p in parameters]), strict=True):
        parameter.data = place


class ForkedTeam:
    """The workers of a run on one machine: the first in this process, the others in child processes."""

    first = True  # the loop runs in this process alone

    def __init__(self, workers: list[Worker]) -> None:
        self.size = len(workers)
        self._here, *others = workers
        self._away: list[_Process] = []
        self._preparer: Preparer | None = None
        try:
            self._preparer = _preparer(workers)
            for worker in others:
                self._away.append(_Process(worker))
        except OSError as error:
            self.__exit__()
            raise TrainError(
                f"cannot start training process {len(self._away) + 2} of {self.size}: {error.strerror}; "
                "set OMP_NUM_THREADS to a smaller number"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._preparer is not None:
            self._preparer.close()
        for process in self._away:
            process.close()

    @property
    def steps_ahead(self) -> int:
        """The number of coming steps that `prepare` is worth calling for."""
        return 0 if self._preparer is None else STEPS_AHEAD

    def prepare(self, info: StepInfo, batches: list[Numbers]) -> None:
        """Make the batches of a coming step in the background."""
        if self._preparer is not None:
            self._preparer.order(info, batches)

    def agree(self, stop: bool) -> bool:
        """`stop` itself: only this process runs the loop."""
        return stop

    def from_first(self, compute: Callable[[], Result]) -> Result:
        """The result of `compute`: this is the first process."""
        return compute()

    def gradient(self, info: StepInfo, batches: list[Numbers]) -> Sums:
        """Compute the gradient of the loss, summed over the outputs of these batches. Returns the sums of all workers."""
        if self._preparer is not None:
            self._preparer.reached(info.step)
        examples, seed = self._here.objective.examples, self._here.train.seed
        parts = [examples.split(batch, self.size, seed, info.epoch) for batch in batches]
        shares = [[part[number] for part in parts] for number in range(self.size)]
        return Sums.of(self._each(Worker.gradient, [(info, share) for share in shares]))

    def norm(self) -> float:
        """Add up the workers' gradients and return the norm of the sum."""
        return math.sqrt(sum(self._each(Worker.combine, [()] * self.size)))

    def update(self, learning_rate: float, scale: float) -> None:
        """Update the weights with the gradient times `scale`."""
        self._each(Worker.update, [(learning_rate, scale)] * self.size)

    def _each(self, phase: Callable[..., Result], arguments: list[tuple[Any, ...]]) -> list[Result]:
        """Run a phase in every worker and wait for all results."""
        mine, *theirs = arguments
        with _single_threaded() if self._away else nullcontext():
            for process, given in zip(self._away, theirs, strict=True):
                process.begin(phase, given)
            return [phase(self._here, *mine), *(process.end() for process in self._away)]


def _preparer(workers: list[Worker]) -> Preparer | None:
    """The process that makes batches ahead, if a batch takes long enough to make and processes can be forked."""
    first = workers[0]
    if not getattr(first.objective.examples, "costly", False) or not can_fork():
        return None
    preparer = Preparer(first.objective.examples, first.train.seed, len(workers))
    for worker, delivery in zip(workers, preparer.deliveries, strict=True):
        worker.delivery = delivery
    return preparer


class _Process:
    """A worker in a child process, controlled through a pipe."""

    def __init__(self, worker: Worker) -> None:
        self._pipe, its_pipe = get_context("fork").Pipe()
        self._process = start_child(_serve, worker, its_pipe, self._pipe)
        its_pipe.close()

    def begin(self, phase: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        try:
            self._pipe.send((phase, arguments))
        except OSError:
            raise self._death() from None

    def end(self) -> Any:
        try:
            result = self._pipe.recv()
        except (EOFError, OSError):
            raise self._death() from None
        if isinstance(result, Exception):
            raise result
        return result

    def close(self) -> None:
        self._pipe.close()
        end_child(self._process)

    def _death(self) -> TrainError:
        self._process.join(timeout=5)
        return TrainError(
            f"a training process ended unexpectedly (exit code {self._process.exitcode}; -9 means killed, often for want of memory); "
            f"run the same command again to resume, with a smaller train.batch_tokens in a new run if it happens again"
        )


def _serve(worker: Worker, pipe: Connection, other_end: Connection) -> None:
    """The main loop of a child process."""
    other_end.close()
    with suppress(EOFError, OSError):  # the parent has gone
        while True:
            phase, arguments = pipe.recv()
            pipe.send(_result(phase, worker, arguments))


def _result(phase: Callable[..., Any], worker: Worker, arguments: tuple[Any, ...]) -> Any:
    """The result of the phase, or the exception that it raised, in a form that can be pickled."""
    try:
        return phase(worker, *arguments)
    except Exception as error:
        return error if isinstance(error, OSError | ValueError | LookupError) else RuntimeError(repr(error))


@contextmanager
def _single_threaded() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
