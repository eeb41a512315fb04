"""Data-parallel training in forked processes: one single-threaded worker per core, with the weights in shared memory.

Small networks consist of many small operations. Threads synchronise after each of them; these processes synchronise three times a step.
With the same number of workers, results are reproducible to the last bit.
"""

import ctypes
import math
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from typing import Any, Self, TypeVar

import torch
from torch import nn

from regard.data.examples import Numbers
from regard.errors import TrainError
from regard.training.objective import StepInfo
from regard.training.shared import shared
from regard.training.worker import Sums, Worker

MOST = 8
Result = TypeVar("Result")
_PDEATHSIG = 1  # prctl.h


def team_size(device: torch.device) -> int:
    """One worker for each thread that torch may use; 1 if processes cannot be forked safely."""
    forks = sys.platform.startswith("linux") and not (torch.cuda.is_available() or torch.xpu.is_available())
    forks = forks and not multiprocessing.current_process().daemon  # which may have no children
    return min(MOST, torch.get_num_threads()) if device.type == "cpu" and forks else 1


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
        try:
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
        for process in self._away:
            process.close()

    def agree(self, stop: bool) -> bool:
        """`stop` itself: only this process runs the loop."""
        return stop

    def from_first(self, compute: Callable[[], Result]) -> Result:
        """The result of `compute`: this is the first process."""
        return compute()

    def gradient(self, info: StepInfo, batches: list[Numbers]) -> Sums:
        """Compute the gradient of the loss, summed over the outputs of these batches. Returns the sums of all workers."""
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


class _Process:
    """A worker in a child process, controlled through a pipe."""

    def __init__(self, worker: Worker) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, its_pipe = context.Pipe()
        parent = os.getpid()
        self._process = context.Process(target=_serve, args=(worker, its_pipe, self._pipe, parent), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads: the child uses none of theirs
            self._process.start()
        its_pipe.close()
        # If a team is never closed: at exit multiprocessing would send SIGTERM, which the child ignores, and wait for ever.
        Finalize(self, self._process.kill, exitpriority=0)

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
        self._process.kill()
        self._process.join()

    def _death(self) -> TrainError:
        self._process.join(timeout=5)
        return TrainError(
            f"a training process ended unexpectedly (exit code {self._process.exitcode}; -9 means killed, often for want of memory); "
            f"run the same command again to resume, with a smaller train.batch_tokens in a new run if it happens again"
        )


def _serve(worker: Worker, pipe: Connection, other_end: Connection, parent: int) -> None:
    """The main loop of a child process. It ends with its parent and ignores SIGINT and SIGTERM."""
    other_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    torch.set_num_threads(1)
    with suppress(EOFError, OSError):  # the parent has gone
        while os.getppid() == parent:
            phase, arguments = pipe.recv()
            pipe.send(_result(phase, worker, arguments))
    os._exit(0)


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
