"""The progress of a run: its counters and its limits. A checkpoint stores it as JSON."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import NonNegativeFloat, NonNegativeInt

from regard.data.examples import ExampleSet
from regard.settings import Record
from regard.training.config import TrainConfig

FEW_STEPS = 100
"""Steps below which a run that is limited by epochs is worth a note: in so few a network learns next to nothing."""


class ProgressRecord(Record):
    """The counters of `Progress` as a checkpoint stores them."""

    step: NonNegativeInt
    epoch: NonNegativeInt
    batch: NonNegativeInt
    seconds: NonNegativeFloat
    tokens: NonNegativeInt
    best: float | None
    best_step: NonNegativeInt
    validations_without_improvement: NonNegativeInt
    validated: NonNegativeInt


@dataclass(slots=True)
class Progress:
    """Counters of the training loop."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    seconds: float = 0.0  # training time, without preparation, validation and pauses
    tokens: int = 0  # target tokens trained on, without padding
    best: float | None = None  # the best validation value so far, larger is better
    best_step: int = 0
    validations_without_improvement: int = 0  # for early stopping
    validated: int = 0  # the step of the last validation

    def share(self, config: TrainConfig, batches: int) -> float:
        """The share of the run that is done, 0 to 1, by the nearest limit. `batches`: the number of batches in this epoch."""
        shares = [0.0]
        if config.max_steps is not None:
            shares.append(self.step / config.max_steps)
        if config.epochs is not None:
            shares.append((self.epoch + self.batch / batches) / config.epochs)
        if config.minutes is not None:
            shares.append(self.seconds / (60.0 * config.minutes))
        return min(1.0, max(shares))

    def reached(self, config: TrainConfig, batches: int) -> str | None:
        """The limit that ends the run now, or None. Early stopping is in `training/early_stopping.py`."""
        if config.max_steps is not None and self.step >= config.max_steps:
            return "max_steps"
        if config.epochs is not None and self.epoch + self.batch / batches >= config.epochs:
            return "max_epochs"
        if config.minutes is not None and self.seconds >= 60.0 * config.minutes:
            return "minutes"
        return None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: ProgressRecord) -> "Progress":
        return cls(**record.model_dump())


def note_on_few_steps(config: TrainConfig, examples: ExampleSet) -> str | None:
    """A note if the epochs of a run are fewer than `FEW_STEPS` steps; None if they are not, or if the user limits the steps."""
    epochs = config.epochs
    if epochs is None or config.max_steps is not None:
        return None
    if (
        epochs * len(examples) / config.batch_tokens / config.accumulate > FEW_STEPS
    ):  # a batch has no more examples than tokens
        return None
    batches = len(examples.plan(config.batch_tokens, config.seed, 0))
    a_pass = math.ceil(batches / config.accumulate)
    steps = int(epochs) * a_pass + math.ceil((epochs - int(epochs)) * batches / config.accumulate)
    if steps >= FEW_STEPS:
        return None
    return (
        f"this run has only {steps} steps ({epochs:g} epochs of {a_pass}), and a network hardly learns in fewer than {FEW_STEPS}; "
        f"raise train.max_epochs ({epochs:g}) or lower train.batch_tokens ({config.batch_tokens})"
    )
