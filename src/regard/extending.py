"""Adds the rows of an extension to the tables of the rooms, all or none. A room whose table gets no row is not imported."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regard.errors import ExtensionError
from regard.extensions import note_rows

if TYPE_CHECKING:
    from regard.metrics.scores import Metric
    from regard.tasks.interface import Task


@dataclass
class _Rows:
    """The rows to add. Nothing is added before all of them are checked."""

    where: str
    """The call, with the file that it is in, for error messages."""
    labels: list[str] = field(default_factory=list)
    rows: list[tuple[dict[Any, Any], Any, Any]] = field(default_factory=list)  # table, name, row

    def add(self, what: str, table: dict[str, Any], name: str, row: Any) -> None:
        """A row of a table that shows what there is."""
        label = f"{what} {name}"
        if name in table or label in self.labels:
            raise ExtensionError(f"{self.where}: there is a {what} {name!r} already; choose another name")
        self.labels.append(label)
        self.rows.append((table, name, row))

    def add_beside(self, table: dict[Any, Any], name: Any, row: Any) -> None:
        """A row that belongs to one of another table."""
        self.rows.append((table, name, row))

    def insert(self) -> None:
        for table, name, row in self.rows:
            table[name] = row

    def remove(self) -> None:
        for table, name, _ in self.rows:
            table.pop(name, None)


def add_rows(
    file: str | None,
    *,
    tasks: "Sequence[Task]",
    models: Sequence[tuple[str, type, Callable[..., Any]]],
    mixers: Mapping[str, Callable[..., Any]],
    scores: Mapping[str, type[Any]],
    metrics: "Sequence[Metric]",
    optimizers: Mapping[str, tuple[float, Callable[..., Any]]],
) -> None:
    """Add every row, or none: an `ExtensionError` names a row whose name is taken. `file`: the file that adds them."""
    rows = _Rows("regard.extend" if file is None else f"{file}: regard.extend")
    if metrics:
        from regard.metrics.scores import METRICS

        for metric in metrics:
            rows.add("metric", METRICS, metric.name, metric)
    if tasks:
        from regard.tasks.table import TASKS

        for task in tasks:
            rows.add("task", TASKS, task.name, task)
    for name, build in mixers.items():
        from regard.layers.mixers import MIXERS
        from regard.models.config import MIXER_TRAITS, MixerTraits

        rows.add("mixer", MIXERS, name, build)
        rows.add_beside(MIXER_TRAITS, name, MixerTraits(causal=bool(getattr(build, "causal", False))))
    for name, score in scores.items():
        from regard.layers.scores import SCORES
        from regard.models.config import SCORE_TRAITS, ScoreTraits

        rows.add("score", SCORES, name, score)
        flags = ("reads_rotary", "equally_wide")
        traits = ScoreTraits(**{flag: bool(getattr(score, flag, False)) for flag in flags})
        rows.add_beside(SCORE_TRAITS, name, traits)
    for name, (rate, make) in optimizers.items():
        from regard.training.config import RATES
        from regard.training.optimizer import OPTIMIZERS

        rows.add("optimizer", OPTIMIZERS, name, make)
        rows.add_beside(RATES, name, rate)
    for task_name, config, build in models:
        _add_model(rows, task_name, config, build)
    rows.insert()
    note_rows(rows.labels, file, rows.remove)


def _add_model(rows: _Rows, task: str, config: Any, build: Callable[..., Any]) -> None:
    from regard.models.build import CLASSIFIER_NETWORKS, FORECASTER_NETWORKS, LANGUAGE_NETWORKS, TRANSLATOR_NETWORKS
    from regard.models.config import CLASSIFIERS, FORECASTERS, LANGUAGE_MODELS, TRANSLATORS

    tables: dict[str, tuple[dict[str, Any], dict[Any, Any]]] = {
        "translate": (TRANSLATORS, TRANSLATOR_NETWORKS),
        "generate": (LANGUAGE_MODELS, LANGUAGE_NETWORKS),
        "classify": (CLASSIFIERS, CLASSIFIER_NETWORKS),
        "forecast": (FORECASTERS, FORECASTER_NETWORKS),
    }
    if task not in tables:
        raise ExtensionError(f"regard.extend: a model for task {task!r}; there is {', '.join(tables)}")
    configs, networks = tables[task]
    rows.add(f"model to {task}", configs, str(config.model_fields["kind"].default), config)
    rows.add_beside(networks, config, build)
