"""`Task`: the interface of a task. Tasks import torch inside their methods, so that importing this is fast."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from regard.bundle.config import BundleSettings
from regard.bundle.opened import OpenBundle
from regard.training.config import RunSettings

if TYPE_CHECKING:
    import torch

    from regard.training.objective import Evaluation, Fitted, Trained

PreparationListener = Callable[[str, int], None]
"""Called with (the current activity, the number of lines so far)."""

TestFlags = Mapping[str, Any]
"""The flags of `regard evaluate` that name a test set, by name. The value of a missing flag is None. `refs` has every `--ref`."""


@dataclass(frozen=True)
class EvaluationFiles:
    """The files that `regard evaluate` needs for a task."""

    flags: tuple[str, ...]
    """The flags that name them, of `src`, `ref`, `text` and `data`. All are needed."""
    model: str
    """A model of the task, such as "a translator", for error messages."""
    optional: tuple[str, ...] = ()
    """Further flags that may be given with them."""


@dataclass(frozen=True)
class ResultFile:
    """The results file of a finished run, beside metrics.json: the outputs that were scored."""

    name: str
    """The file name, such as `translations.jsonl`."""
    columns: tuple[str, str, str] | None
    """The keys of source, reference and hypothesis in each line; None: lines cannot be compared one by one."""
    size: tuple[str, str]
    """The size of the test set: its key in metrics.json, and its unit, such as `sentences`."""


class Task(Protocol):
    """A task that models can be trained for.

    It may also have `goes_with(kind)`: the settings beside `model.kind` that such a network needs, for `regard init`.
    """

    @property
    def name(self) -> str:
        """The name of the task in the settings."""
        ...

    @property
    def run(self) -> type[RunSettings]:
        """The class of a run's settings."""
        ...

    @property
    def bundle(self) -> type[BundleSettings]:
        """The class of a bundle's config.json."""
        ...

    @property
    def scores(self) -> tuple[str, ...]:
        """The scores, of `metrics/scores.py`, that compare finished runs."""
        ...

    @property
    def validated(self) -> tuple[str, ...]:
        """The scores of a validation. `train.select` may name one of them; `auto` uses the first."""
        ...

    @property
    def results(self) -> ResultFile:
        """The results file of a finished run."""
        ...

    @property
    def advice(self) -> str:
        """The commands for a model of this task, for error messages."""
        ...

    @property
    def evaluation_files(self) -> EvaluationFiles:
        """The files of a test set. A task of an extension may leave this out; its `test_set` then checks the flags."""
        ...

    def objective(self, settings: Any, base: OpenBundle | None, listener: PreparationListener) -> "Trained | Fitted":
        """Prepare the data of a run and return its training objective. `base`: the model to fine-tune."""
        ...

    def load(self, bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str) -> Any:
        """The model of a bundle, ready to serve."""
        ...

    def test_set(self, served: Any, flags: TestFlags) -> Any:
        """The test set of the flags of `regard evaluate`. The flags of `evaluation_files` are there."""
        ...

    def evaluate(self, served: Any, test: Any) -> "Evaluation":
        """Score a model on a test set, for the end of training, `regard evaluate` and the report."""
        ...

    def shown(self, metrics: Mapping[str, Any]) -> str:
        """The scores as `regard evaluate` prints them."""
        ...
