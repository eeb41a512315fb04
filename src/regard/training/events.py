"""The events of the training loop. Progress bars, logs and reports listen to them; the loop knows no listener."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Event:
    """An event after `step` steps and `seconds` of training."""

    name: ClassVar[str]
    step: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """One object of log.jsonl."""
        return {"event": self.name, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Preparing(Event):
    """The corpus is being read, tokenized or encoded. There is no such event if it comes from the cache."""

    name: ClassVar[str] = "preparing"
    doing: str
    pairs: int


@dataclass(frozen=True, slots=True)
class Started(Event):
    """The data is ready and the model built or resumed."""

    name: ClassVar[str] = "started"
    parameters: int
    examples: int
    too_long: int
    empty: int
    held_out: int
    duplicates_of_validation: int
    vocabulary: tuple[int, ...]
    device: str
    threads: int
    precision: str
    """float32 or bfloat16, and in brackets why `auto` chose it; empty for a model that is fitted by counting."""
    resumed: bool
    notes: tuple[str, ...]


MEASURED_PARTS = ("nll", "squared")
"""The parts of a loss that validation measures too, without smoothing and quantiles."""


@dataclass(frozen=True, slots=True)
class Step(Event):
    """One update of the weights."""

    name: ClassVar[str] = "step"
    epoch: int
    loss: float
    parts: dict[str, float]
    """Parts of the loss by name, such as `nll`, -log p of the reference. In log.jsonl they are keys beside `loss`."""
    learning_rate: float
    gradient_norm: float
    tokens: int
    tokens_per_second: float
    progress: float

    @property
    def nll(self) -> float:
        """The part of the loss that validation measures too: -log p or squared errors; the loss itself if it has no such part."""
        return next((self.parts[name] for name in MEASURED_PARTS if name in self.parts), self.loss)

    def to_json(self) -> dict[str, Any]:
        """One object of log.jsonl."""
        plain = {"event": self.name, **asdict(self)}
        return {**plain, **plain.pop("parts")}


@dataclass(frozen=True, slots=True)
class PartNorms:
    """Norms of one part of the network, such as `encoder.0.mixer`, in one step."""

    name: str
    gradient: float  # before clipping
    weight: float  # before the step
    update: float
    ratio: float  # update / weight; infinite where the weights were all zero


@dataclass(frozen=True, slots=True)
class Diagnosed(Event):
    """The norms of each part of the network in the last step, from the input to the output."""

    name: ClassVar[str] = "diagnosed"
    parts: tuple[PartNorms, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A validation example with its reference and the model's current output."""

    source: str
    reference: str
    hypothesis: str


@dataclass(frozen=True, slots=True)
class Validated(Event):
    """The results of a validation."""

    name: ClassVar[str] = "validated"
    loss: float
    perplexity: float | None
    """exp(loss); None if the loss is no -log p."""
    scores: dict[str, float]
    """The scores of the task by name. In log.jsonl they are keys beside `loss`."""
    samples: tuple[Sample, ...]
    best: bool
    by: str | None = None
    """The name of the score, or `loss`, that decides which validation is the best."""

    def to_json(self) -> dict[str, Any]:
        """One object of log.jsonl."""
        plain = {"event": self.name, **asdict(self)}
        scores = plain.pop("scores")
        return {**plain, **scores}


@dataclass(frozen=True, slots=True)
class Saved(Event):
    """A checkpoint was written."""

    name: ClassVar[str] = "saved"
    path: str


@dataclass(frozen=True, slots=True)
class Stopping(Event):
    """A signal asks the run to stop during a validation, which comes to its end first. Listeners get it at once, from another thread."""

    name: ClassVar[str] = "stopping"


@dataclass(frozen=True, slots=True)
class Stopped(Event):
    """The end of training. The reason is max_steps, max_epochs, minutes, patience (early stopping), counted or interrupted."""

    name: ClassVar[str] = "stopped"
    reason: str
