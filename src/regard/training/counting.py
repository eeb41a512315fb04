"""The run of a model that is fitted by counting: one pass over the corpus, with the same events as the training loop."""

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from regard.activity import activity
from regard.bundle.bundle import save_bundle
from regard.bundle.locate import CHECKPOINTS, write_pointer
from regard.metrics.perplexity import perplexity
from regard.training.events import Event, Saved, Stopped, Validated
from regard.training.objective import Fitted

NAME = f"{CHECKPOINTS}/counted"


class Counting:
    """Fits a model by counting, as a run of one step."""

    def __init__(self, objective: Fitted, run: Path) -> None:
        self._objective, self._run = objective, run
        self._seconds, self._numbers = 0.0, 0

    def events(self, interrupted: Callable[[], bool]) -> Generator[Event, None, None]:
        """Count, validate and save. The last event is always `Stopped`."""
        objective, started = self._objective, time.perf_counter()
        with activity("counting"):
            network = objective.fit()
        self._seconds = time.perf_counter() - started
        if interrupted():
            yield Stopped(0, self._seconds, "interrupted")
            return
        with activity("validating"):
            measured = objective.validate(network.eval())
        yield Validated(
            step=1,
            seconds=self._seconds,
            loss=measured.loss,
            perplexity=perplexity(measured.loss, 1),
            scores=measured.scores,
            samples=measured.samples,
            best=True,
        )
        tables = network.tables()
        self._numbers = sum(table.numel() for table in tables.values())
        save_bundle(self._run / NAME, tables, objective.bundle, objective.codecs)
        write_pointer(self._run, "latest", NAME)
        write_pointer(self._run, "best", NAME)
        yield Saved(1, self._seconds, NAME)
        yield Stopped(1, self._seconds, "counted")

    def cost(self) -> dict[str, Any]:
        """The cost of the run, for metrics.json. Its parameters are the numbers in its tables."""
        tokens = self._objective.counted_tokens
        return {"parameters": self._numbers, "tokens": tokens, "seconds": self._seconds, "steps": 1}
