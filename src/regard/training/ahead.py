"""Batches made ahead: a process of low priority makes the batches of coming steps, while the workers compute.

It is a convenience, never a condition. A batch is a function of its examples, the seed and the epoch, so a worker that finds its batch not
ready makes it itself and gets the same one. No step waits for this process, and a run does not depend on it.
"""

import os
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import torch

from regard.data.batches import Batch
from regard.data.examples import ExampleSet, Numbers
from regard.training.children import end_child, start_child
from regard.training.objective import StepInfo
from regard.training.shared import shared

STEPS_AHEAD = 4
"""Steps whose batches are made or waiting to be made. More would be made in vain when the run stops."""
LOWEST_PRIORITY = 19

Key = tuple[int, int, bytes]
"""What a batch is a function of, beside the seed: epoch, readings, and the numbers of its examples."""


def key_of(info: StepInfo, numbers: Numbers) -> Key:
    return info.epoch, info.readings, numbers.tobytes()


class Preparer:
    """The process that makes batches, and one `Delivery` for each worker. Create it before the workers are forked."""

    def __init__(self, examples: ExampleSet, seed: int, workers: int) -> None:
        context = get_context("fork")
        [self._now] = shared([torch.zeros(1, dtype=torch.int64)])
        pipes = [context.Pipe(duplex=False) for _ in range(workers)]
        orders, self._orders = context.Pipe(duplex=False)
        self._ordered = -1
        self._process = start_child(_prepare, examples, seed, orders, [there for _, there in pipes], self._now)
        self.deliveries = [Delivery(here) for here, _ in pipes]
        for end in (orders, *(there for _, there in pipes)):
            end.close()

    def order(self, info: StepInfo, batches: Sequence[Numbers]) -> None:
        """Ask for the batches of a coming step. An order that was given before is not given again."""
        if info.step > self._ordered:
            self._ordered = info.step
            with suppress(OSError):  # it has died: the workers make their batches themselves
                self._orders.send((info, list(batches)))

    def reached(self, step: int) -> None:
        """Tell that a step has begun: what is not made for it by now comes too late."""
        self._now[0] = step

    def close(self) -> None:
        self._orders.close()
        end_child(self._process)


class Delivery:
    """The batches that were made for one worker. A thread of its process receives them, so that it never waits for them."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._ready: deque[tuple[int, Key, dict[str, Any]]] = deque()
        self._thread: threading.Thread | None = None
        self.made_ahead = self.made_here = 0
        """Batches by where they were made."""

    def take(self, info: StepInfo, numbers: Numbers) -> Batch | None:
        """The batch of these examples, if it is ready. Batches of earlier steps are dropped."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._receive, daemon=True)
            self._thread.start()
        key = key_of(info, numbers)
        while self._ready and self._ready[0][0] <= info.step:
            _, ready, parts = self._ready.popleft()
            if ready == key:
                self.made_ahead += 1
                return _unpacked(parts)
        self.made_here += 1
        return None

    def _receive(self) -> None:
        with suppress(EOFError, OSError):  # the preparer has ended
            while True:
                self._ready.append(self._pipe.recv())


def _prepare(examples: ExampleSet, seed: int, orders: Connection, workers: list[Connection], now: torch.Tensor) -> None:
    """The main loop of the process."""
    os.nice(LOWEST_PRIORITY)
    with suppress(EOFError, OSError):  # the team has ended
        while True:
            info, batches = orders.recv()
            if info.step <= int(now):
                continue
            for batch in batches:
                parts = examples.split(batch, len(workers), seed, info.epoch)
                for worker, numbers in zip(workers, parts, strict=True):
                    if len(numbers):
                        made = examples.batch(numbers, seed, info.epoch, info.readings)
                        worker.send((info.step, key_of(info, numbers), _packed(made)))


def _packed(batch: Batch) -> dict[str, Any]:
    """The fields of a batch with arrays for tensors, which a pipe carries as plain bytes."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return {name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in values.items()}


def _unpacked(values: dict[str, Any]) -> Batch:
    tensors: dict[str, Any] = {
        name: torch.from_numpy(value) if hasattr(value, "dtype") else value for name, value in values.items()
    }
    return Batch(**tensors)
