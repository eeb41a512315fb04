"""Fine-tuning: `train.start` names a run or bundle, the base model, whose weights, architecture and vocabulary a run takes over.

The base model provides the settings that are not given. Settings that contradict it are refused. A base of another task or kind of
network provides fewer of them (`tasks/crossing.py`). No torch.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.bundle.config import BundleSettings
from regard.bundle.locate import find_bundle
from regard.bundle.opened import OpenBundle
from regard.errors import BundleError, ConfigError
from regard.settings import merged
from regard.tasks.bundles import open_bundle
from regard.tasks.crossing import (
    OF_TEXT,
    crosses,
    family,
    filled_settings,
    refusal,
    refuse_contradictions,
    refuse_unfit,
    wanted_network,
)
from regard.tasks.settings import parse_settings, tasks_with
from regard.tasks.table import TASKS, resolved_task
from regard.text.config import OneTextConfig
from regard.training.config import RunSettings

FREE = ("dropout",)  # settings of `model` that may differ from the base model
LEARNING = ("vocabulary", "sample", "character_coverage")  # settings of `text` that learn a vocabulary


def run_settings(values: Mapping[str, Any], where: str = "config") -> RunSettings:
    """Parse the settings of a run. With `train.start`, the base model provides the defaults, and contradictions are refused."""
    values = resolved_task(values)
    train = values.get("train")
    start = train.get("start") if isinstance(train, Mapping) else None
    if not isinstance(start, str):
        settings = parse_settings(values, where)
        _refuse_growth_of_nothing(settings, where)
        return settings
    base = open_bundle(_bundle_of(start), verify=False)
    own = _settled(base)
    if (across := _across(values, base, start)) is not None:
        settings = parse_settings(merged(across, values), where)
        _refuse_others(settings, base)
        return settings
    _refuse_data_of_others(values, start, base.config.task)
    model = values.get("model")
    kind, expected = model.get("kind") if isinstance(model, Mapping) else None, own["model"].get("kind")
    if kind not in (None, expected):  # refused first: the kind decides which settings exist
        raise refusal(start, "model.kind", kind, expected)
    settings = parse_settings(merged(own, values), where)
    _refuse_others(settings, base)
    return settings


def base_of(settings: RunSettings) -> OpenBundle | None:
    """The base model of fine-tuning, verified; None without `train.start`."""
    if settings.train.start is None:
        return None
    base = open_bundle(_bundle_of(settings.train.start))
    _refuse_others(settings, base)
    return base


def remarks_on(settings: RunSettings, bundle: BundleSettings, base: OpenBundle) -> Iterator[str]:
    """Notes for the user on the base model: where it is, and which settings it makes ineffective."""
    text = getattr(settings, "text", None)
    yield f"it starts as {base.directory}, with the model{' and vocabulary' if text is not None else ''} of that"
    if isinstance(text, OneTextConfig):
        yield from ignored_vocabulary_settings(text, len(base.tokenizers.source.vocabulary))
    ours, theirs = bundle.languages, base.config.languages
    if ours != theirs and not getattr(base.config, "directions", ()):
        yield f"that one is from {theirs.source} to {theirs.target}, and the text from {ours.source} to {ours.target}"


def ignored_vocabulary_settings(text: OneTextConfig, size: int) -> Iterator[str]:
    """Notes on vocabulary settings that have no effect: the base model's vocabulary of `size` tokens is used."""
    learning = LEARNING if text.grow is None else LEARNING[:1]
    defaults = {name: OneTextConfig.model_fields[name].default for name in learning}
    for name, default in {**defaults, "vocabulary": size}.items():
        value = getattr(text, name)
        if name in text.model_fields_set and value != default:
            yield f"text.{name} = {value} is not looked at: the vocabulary of {size:,} is taken over, and none is learned"


def _refuse_growth_of_nothing(settings: RunSettings, where: str) -> None:
    text = getattr(settings, "text", None)
    if isinstance(text, OneTextConfig) and text.grow is not None:
        raise ConfigError(
            f"{where}: text.grow = {text.grow} adds to the vocabulary of a base model; name one with train.start (--start), "
            "or set text.vocabulary"
        )


def _bundle_of(start: str) -> Path:
    try:
        return find_bundle(start)
    except BundleError as error:
        raise BundleError(f"train.start: {error}; a run that has begun from one reads it whenever it goes on") from None


def _across(values: Mapping[str, Any], base: OpenBundle, start: str) -> dict[str, Any] | None:
    """The settings that a base of another task or kind of network fills in. None: it is of the same ones, or the settings name no task."""
    task = values.get("task", base.config.task)
    if not isinstance(task, str) or task not in TASKS:
        return None
    if task != base.config.task:
        wanted = wanted_network(task, values, base) if task in OF_TEXT else None
        refuse_unfit(task, wanted, values, base, start)
        return {"task": task} if wanted is None else filled_settings(task, wanted, base)
    wanted = wanted_network(task, values, base) if task in OF_TEXT else None
    if wanted is None or not crosses(task, wanted[1], base) or family(wanted[1]) != family(type(base.config.model)):
        return None
    refuse_unfit(task, wanted, values, base, start)
    return filled_settings(task, wanted, base)


def _refuse_data_of_others(values: Mapping[str, Any], start: str, task: str) -> None:
    """If no task is named, refuse `data` settings that only other tasks than the base model's have.

    This is checked first, because the task decides which settings exist.
    """
    data = values.get("data")
    if values.get("task") is not None or not isinstance(data, Mapping):
        return
    own = getattr(TASKS[task].run.model_fields.get("data"), "annotation", None)
    for name, value in data.items():
        recognised = own is not None and name in own.model_fields
        others = [] if recognised or value is None else tasks_with(task, ["data", name], values)
        if others:
            raise ConfigError(
                f"train.start = {start!r}: a model for task {task!r}, which does not look at data.{name}; leave it out, "
                f"or set task to {' or '.join(map(repr, others))}"
            )


def _settled(base: OpenBundle) -> dict[str, Any]:
    """The settings that the base model determines, as tables of a run's settings."""
    group = TASKS[base.config.task].run
    tables = base.config.settles(base.codecs)
    settled: dict[str, Any] = {"task": base.config.task}
    for table, values in tables.items():
        annotation = getattr(group.model_fields.get(table), "annotation", None)
        fields = getattr(annotation, "model_fields", {})
        settled[table] = {name: value for name, value in values.items() if table == "model" or name in fields}
    return settled


def _refuse_others(settings: RunSettings, base: OpenBundle) -> None:
    own, start = _settled(base), str(settings.train.start)
    if crosses(settings.task, type(settings.model), base):
        refuse_contradictions(settings, base)
        _refuse_missing_pieces(settings, base, start)
        return
    if base.config.counted:
        raise ConfigError(
            f"train.start = {start!r}: a model that was counted is not trained further; count all of the text"
        )
    given = settings.model_dump(mode="json")
    own["data"] = {name: value for name, value in own.get("data", {}).items() if name in base.config.fixed_data}
    _refuse_missing_pieces(settings, base, start)
    for table in ("data", "text", "model"):
        for name, expected in own.get(table, {}).items():
            if name not in FREE and given[table].get(name) != expected:
                raise refusal(start, f"{table}.{name}", given[table].get(name), expected)


def _refuse_missing_pieces(settings: RunSettings, base: OpenBundle, start: str) -> None:
    """Refuse reserved pieces that the vocabulary of the base model has not."""
    text = getattr(settings, "text", None)
    if isinstance(text, OneTextConfig) and text.grow is None:
        missing = next((name for name in text.reserved.names if name not in base.tokenizers.source.vocabulary), None)
        if missing is not None:
            raise ConfigError(
                f"text.reserved: training starts from {start}, whose vocabulary has no piece {missing!r}; "
                "leave it out, or add it with text.grow = 0"
            )
