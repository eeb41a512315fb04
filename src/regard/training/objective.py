"""The interface between tasks and training: the examples, the loss of a batch, and validation.

The training loop, its workers, checkpoints and logs use only this. They know no task.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from typing_extensions import TypeIs

from regard.bundle.config import BundleSettings
from regard.training.events import Sample

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.data.examples import ExampleSet


@dataclass(frozen=True, slots=True)
class StepInfo:
    """The position of a step in the run. `readings`: forward passes of each example, 2 with R-Drop and else 1."""

    step: int
    epoch: int
    readings: int


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a batch, summed over its outputs without padding."""

    total: "Tensor"
    """The tensor to differentiate."""
    parts: dict[str, float]
    """Sums for the log by name, such as `nll`."""
    count: int
    """The number of outputs in the sum."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a validation."""

    loss: float
    """The loss per output: -log p, or squared errors. If it is not finite, nothing else was measured."""
    value: float
    """The value that selects the best checkpoint and drives early stopping: larger is better."""
    scores: dict[str, float]
    """Other scores by name."""
    samples: tuple[Sample, ...]
    by: str | None = None
    """The name of the score, or `loss`, that `value` is."""
    is_likelihood: bool = True
    """Whether the loss is -log p, so that its exponential is a perplexity."""
    codecs: Any = None
    """What the bundle of these weights stores in place of the objective's codecs, if validation adds to them."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The scores of a finished model on the test set."""

    metrics: dict[str, Any]
    """The numbers of metrics.json."""
    rows: list[dict[str, Any]]
    """The lines of the results file: the outputs that were scored, or samples."""


class Objective(Protocol):
    """A task with its data: what is common to models trained by gradients and models fitted by counting.

    It may also have `notes`, remarks on the data that are told when training starts.
    """

    @property
    def key(self) -> str:
        """The hash of the prepared corpus. A run is resumed only with the same one."""
        ...

    @property
    def codecs(self) -> Any:
        """The tokenizers, or what else a bundle stores beside the weights."""
        ...

    @property
    def bundle(self) -> BundleSettings:
        """The config.json of the run's bundles."""
        ...

    @property
    def vocabulary(self) -> tuple[int, ...]:
        """The sizes of the vocabularies, for the event `Started`."""
        ...

    @property
    def left_out(self) -> dict[str, int]:
        """Counts of examples that are not trained on: too_long, empty, held_out, duplicates_of_validation."""
        ...

    @property
    def test(self) -> Any:
        """The test set, as the task's `evaluate` takes it."""
        ...

    def validate(self, network: "nn.Module") -> Measured:
        """Validate a network, which is in evaluation mode."""
        ...


class Trained(Objective, Protocol):
    """An objective whose network is trained by gradients."""

    @property
    def examples(self) -> "ExampleSet":
        """The training examples."""
        ...

    def begin(self, network: "nn.Module") -> None:
        """Initialise from the training data what a new network needs before its first step."""
        ...

    def loss(self, network: "nn.Module", batch: Any, step: StepInfo) -> Loss:
        """The loss of a batch. It runs in forked workers: keep no state, and draw only from torch's seeded generator."""
        ...


class StartingWeights(Protocol):
    """Weights that a new network takes from a base model of another shape, task or vocabulary."""

    @property
    def whole(self) -> bool:
        """Whether the network is that of the base, but for its vocabulary: it is then validated as step 0."""
        ...

    @property
    def fresh(self) -> tuple[str, ...]:
        """The tensors of the new network that the base does not have, or not all rows of. LoRA trains them in full."""
        ...

    def fill(self, network: "nn.Module") -> None:
        """Put them into a new network, whose other weights stay as they are."""
        ...


class Fitted(Objective, Protocol):
    """An objective whose model is fitted by counting, in one pass."""

    @property
    def counted_tokens(self) -> int:
        """The number of tokens in the training text."""
        ...

    @property
    def counted_examples(self) -> int:
        """The number of examples, for the event `Started`."""
        ...

    def fit(self) -> "CountedNetwork":
        """Count the corpus and return the model."""
        ...


class CountedNetwork(Protocol):
    """A model that consists of tables of counts or probabilities."""

    def tables(self) -> "dict[str, Tensor]":
        """The tables by name, as a bundle stores them."""
        ...

    def eval(self) -> Any:
        """Switch to evaluation mode and return the model."""
        ...


def is_fitted(objective: "Trained | Fitted") -> TypeIs[Fitted]:
    """Whether the network of an objective is fitted by counting."""
    return callable(getattr(objective, "fit", None))
