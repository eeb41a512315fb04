"""What the training loop tells the world. Progress bars, logs and reports listen to these; the loop knows none of them."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened after `step` steps and `seconds` of training."""

    name: ClassVar[str]
    step: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """One object of log.jsonl."""
        return {"event": self.name, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Preparing(Event):
    """The corpus is being read, learned from or encoded; not told where it was prepared before."""

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
    vocabulary: tuple[int, int]
    device: str
    threads: int
    resumed: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step(Event):
    """One update of the weights."""

    name: ClassVar[str] = "step"
    epoch: int
    loss: float
    nll: float
    learning_rate: float
    gradient_norm: float
    tokens: int
    tokens_per_second: float
    progress: float
    alignment: float | None = None
    """Where a head of attention is trained towards alignments: what that costs, before it is weighted and added to the loss."""

    def to_json(self) -> dict[str, Any]:
        """One object of log.jsonl."""
        plain = {"event": self.name, **asdict(self)}
        return {key: value for key, value in plain.items() if key != "alignment" or value is not None}


@dataclass(frozen=True, slots=True)
class PartNorms:
    """Lengths, in one step, of what belongs to one part of the network, such as `encoder.0.attention`."""

    name: str
    gradient: float  # before clipping
    weight: float  # before the step
    update: float
    ratio: float  # update / weight; infinite where the weights were all zero


@dataclass(frozen=True, slots=True)
class Diagnosed(Event):
    """What the step just made did to each part of the network, from the input to the output."""

    name: ClassVar[str] = "diagnosed"
    parts: tuple[PartNorms, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A validation sentence as the model translates it now, or the beginning of a text as it goes on with it."""

    source: str
    reference: str
    hypothesis: str


@dataclass(frozen=True, slots=True)
class Validated(Event):
    """The model as measured on the validation set."""

    name: ClassVar[str] = "validated"
    loss: float
    perplexity: float
    scores: dict[str, float]
    """What the task measures, by name; in the log they stand beside the loss."""
    samples: tuple[Sample, ...]
    best: bool

    def to_json(self) -> dict[str, Any]:
        """One object of log.jsonl."""
        plain = {"event": self.name, **asdict(self)}
        scores = plain.pop("scores")
        return {**plain, **scores}


@dataclass(frozen=True, slots=True)
class Saved(Event):
    """A checkpoint, whole and on disk."""

    name: ClassVar[str] = "saved"
    path: str


@dataclass(frozen=True, slots=True)
class Stopped(Event):
    """The end of the loop, and why: max_steps, max_epochs, minutes, patience or interrupted."""

    name: ClassVar[str] = "stopped"
    reason: str
