"""What a task makes of a run: the examples it trains on, how a network is measured meanwhile, and what the finished run is judged by.

The loop, its workers, checkpoints and logs know this and no task.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from regard.bundle.config import BundleConfig
from regard.data.examples import ExampleSet
from regard.models.network import Learner
from regard.text.build import TokenizerPair
from regard.train.events import Sample


@dataclass(frozen=True, slots=True)
class Measured:
    """A network on the validation set."""

    value: float
    """What makes a checkpoint the best: larger is better."""
    scores: dict[str, float]
    """By name, beside the loss."""
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Final:
    """What a run is worth."""

    metrics: dict[str, Any]
    """The numbers of metrics.json."""
    rows: list[dict[str, Any]]
    """What they were computed from, or examples of what the model says."""
    file: str
    """The name of the file that the rows are kept in."""


class Objective(Protocol):
    """A task with its data."""

    @property
    def key(self) -> str:
        """What tells one prepared corpus from another."""
        ...

    @property
    def tokenizers(self) -> TokenizerPair: ...

    @property
    def examples(self) -> ExampleSet:
        """What is trained on."""
        ...

    @property
    def left_out(self) -> dict[str, int]:
        """What is not trained on: too_long, empty, held_out, duplicates_of_validation."""
        ...

    @property
    def bundle(self) -> BundleConfig:
        """What the bundles of the run say of themselves."""
        ...

    def begin(self, network: Learner) -> None:
        """What a fresh network is told of the data before its first step."""
        ...

    def loss(self, network: Learner, device: torch.device) -> float:
        """-log p of the validation set, per token."""
        ...

    def measure(self, network: Learner, loss: float) -> Measured:
        """What else is worth knowing of a network with such a loss."""
        ...

    def judge(self, run: Path, device: torch.device) -> Final:
        """The best model of a finished run, on the test set, or on the validation set where there is none."""
        ...
