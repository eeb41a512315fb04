"""Adds the rows of an extension to the tables of the rooms. A room whose table gets no row is not imported."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import ExtensionError
from regard.extensions import note_rows

if TYPE_CHECKING:
    from regard.metrics.scores import Metric
    from regard.tasks.interface import Task


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
    """Add every row; an `ExtensionError` names a row whose name is taken. `file`: the file that adds them."""
    if metrics:
        from regard.metrics.scores import METRICS

        for metric in metrics:
            _add("metric", METRICS, metric.name, metric, file)
    if tasks:
        from regard.tasks.table import TASKS

        for task in tasks:
            _add("task", TASKS, task.name, task, file)
    for name, build in mixers.items():
        from regard.layers.mixers import MIXERS
        from regard.models.config import MIXER_TRAITS, MixerTraits

        _add("mixer", MIXERS, name, build, file)
        MIXER_TRAITS[name] = MixerTraits(causal=bool(getattr(build, "causal", False)))
    for name, score in scores.items():
        from regard.layers.scores import SCORES
        from regard.models.config import SCORE_TRAITS, ScoreTraits

        _add("score", SCORES, name, score, file)
        flags = ("reads_rotary", "equally_wide")
        SCORE_TRAITS[name] = ScoreTraits(**{flag: bool(getattr(score, flag, False)) for flag in flags})
    for name, (rate, make) in optimizers.items():
        from regard.training.config import RATES
        from regard.training.optimizer import OPTIMIZERS

        _add("optimizer", OPTIMIZERS, name, make, file)
        RATES[name] = rate
    for task_name, config, build in models:
        _add_model(task_name, config, build, file)


def _add_model(task: str, config: Any, build: Callable[..., Any], file: str | None) -> None:
    from regard.models.build import CLASSIFIER_NETWORKS, LANGUAGE_NETWORKS, TRANSLATOR_NETWORKS
    from regard.models.config import CLASSIFIERS, LANGUAGE_MODELS, TRANSLATORS

    tables: dict[str, tuple[dict[str, Any], dict[Any, Any]]] = {
        "translate": (TRANSLATORS, TRANSLATOR_NETWORKS),
        "generate": (LANGUAGE_MODELS, LANGUAGE_NETWORKS),
        "classify": (CLASSIFIERS, CLASSIFIER_NETWORKS),
    }
    if task not in tables:
        raise ExtensionError(f"regard.extend: a model for task {task!r}; there is {', '.join(tables)}")
    configs, networks = tables[task]
    _add(f"model to {task}", configs, str(config.model_fields["kind"].default), config, file)
    networks[config] = build


def _add(what: str, table: dict[str, Any], name: str, row: Any, file: str | None) -> None:
    if name in table:
        raise ExtensionError(f"regard.extend: there is a {what} {name!r} already; choose another name")
    table[name] = row
    note_rows([f"{what} {name}"], file)
