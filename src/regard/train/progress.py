"""How far a run has come: everything of a checkpoint that is not a tensor. It is written as JSON and read back exactly."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from regard.train.config import TrainConfig


@dataclass(slots=True)
class Progress:
    """Counters of the loop."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are behind
    seconds: float = 0.0  # training time: no preparation, validation or pause
    tokens: int = 0  # real target tokens trained on
    best: float | None = None  # the best validation so far, larger is better
    best_step: int = 0
    stale: int = 0  # validations since then
    validated: int = 0  # the step of the last validation

    def share(self, config: TrainConfig, batches: int) -> float:
        """How much of the run is behind, 0 to 1, by whichever limit is nearest; `batches` are those of this epoch."""
        shares = [0.0]
        if config.max_steps is not None:
            shares.append(self.step / config.max_steps)
        if config.epochs is not None:
            shares.append((self.epoch + self.batch / batches) / config.epochs)
        if config.minutes is not None:
            shares.append(self.seconds / (60.0 * config.minutes))
        return min(1.0, max(shares))

    def reached(self, config: TrainConfig, batches: int) -> str | None:
        """The limit that ends the run here, if one does."""
        if config.max_steps is not None and self.step >= config.max_steps:
            return "max_steps"
        if config.epochs is not None and self.epoch + self.batch / batches >= config.epochs:
            return "max_epochs"
        if config.minutes is not None and self.seconds >= 60.0 * config.minutes:
            return "minutes"
        if config.patience and self.stale >= config.patience:
            return "patience"
        return None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Progress":
        return cls(**{field.name: values[field.name] for field in fields(cls)})
