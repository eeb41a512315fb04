"""In place of the training loop, for models that are counted: one pass over the corpus. It tells the same events."""

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from regard.bundle.bundle import save_bundle
from regard.bundle.locate import CHECKPOINTS, write_pointer
from regard.metrics.perplexity import perplexity
from regard.models.build import count_model
from regard.models.config import MarkovConfig
from regard.train.events import Event, Saved, Stopped, Validated
from regard.train.generating import Generating, evaluate_corpus

NAME = f"{CHECKPOINTS}/counted"


class Counting:
    """A run of one step."""

    def __init__(self, config: MarkovConfig, objective: Generating, run: Path) -> None:
        self._config, self._objective, self._run = config, objective, run
        self._seconds, self._numbers = 0.0, 0

    def events(self, interrupted: Callable[[], bool]) -> Generator[Event, None, None]:
        """Count, measure and save; the last event is always `Stopped`."""
        objective, started = self._objective, time.perf_counter()
        corpus = objective.prepared.train
        network = count_model(self._config, corpus.ids, corpus.begins, objective.bundle.vocabulary.target).eval()
        self._seconds = time.perf_counter() - started
        if interrupted():
            yield Stopped(0, self._seconds, "interrupted")
            return
        loss = float(evaluate_corpus(objective.writer(network), objective.prepared.valid)["nats_per_token"])
        measured = objective.measure(network, loss)
        yield Validated(
            step=1,
            seconds=self._seconds,
            loss=loss,
            perplexity=perplexity(loss, 1),
            scores=measured.scores,
            samples=measured.samples,
            best=True,
        )
        tables = network.tables()
        self._numbers = sum(table.numel() for table in tables.values())
        save_bundle(self._run / NAME, tables, objective.bundle, objective.tokenizers)
        write_pointer(self._run, "latest", NAME)
        write_pointer(self._run, "best", NAME)
        yield Saved(1, self._seconds, NAME)
        yield Stopped(1, self._seconds, "counted")

    def cost(self) -> dict[str, Any]:
        """What it took; its parameters are the numbers in its tables."""
        tokens = self._objective.prepared.train.counts.tokens
        return {"parameters": self._numbers, "tokens": tokens, "seconds": self._seconds, "steps": 1}
