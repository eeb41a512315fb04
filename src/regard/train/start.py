"""A run that does not start from nothing: it takes over another model, its weights, shape and vocabulary, and trains it further.

What the base says of itself fills the settings that are not given, so that a run's config is as whole as any other's. No torch.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.bundle.config import BundleConfig, Languages
from regard.bundle.locate import find_bundle
from regard.bundle.opened import OpenBundle, open_bundle
from regard.data.config import DataConfig
from regard.errors import BundleError, ConfigError
from regard.models.config import MarkovConfig, Task
from regard.settings import merged
from regard.text.config import TextConfig
from regard.train.config import MEANINGLESS, RunConfig

FREE = ("dropout",)  # what a run may have of its own
LEARNING = ("vocabulary", "sample", "character_coverage")  # of the text's settings, what a vocabulary is learned by


def run_config(values: Mapping[str, Any], where: str = "config") -> RunConfig:
    """Settings, where nothing else is given those of the model that `train.start` names; what does not fit that is refused."""
    train = values.get("train")
    start = train.get("start") if isinstance(train, Mapping) else None
    if not isinstance(start, str):
        return RunConfig.parse(values, where)
    base = open_bundle(_found(start), verify=False)
    own = _own(base)
    _refuse_another_task(values, start, base.config.task)
    model = values.get("model")
    kind, expected = model.get("kind") if isinstance(model, Mapping) else None, own["model"]["kind"]
    if kind not in (None, expected):  # it decides what settings there are
        raise _refusal(start, "model.kind", kind, expected)
    config = RunConfig.parse(merged(own, values), where)
    _refuse_others(config, base)
    return config


def base_of(config: RunConfig) -> OpenBundle | None:
    """The model that training starts from, verified; None: from nothing."""
    if config.train.start is None:
        return None
    base = open_bundle(_found(config.train.start))
    _refuse_others(config, base)
    return base


def inherited(bundle: BundleConfig, base: BundleConfig | None) -> BundleConfig:
    """What the bundles of a run say of themselves, and what only the base knows: its languages, and how words are aligned best."""
    if base is None:
        return bundle
    ours, theirs = bundle.languages, base.languages
    spoken = Languages(source=ours.source or theirs.source, target=ours.target or theirs.target)
    return bundle.model_copy(update={"languages": spoken, "alignment": bundle.alignment or base.alignment})


def refuse_other_labels(labels: tuple[str, ...], base: OpenBundle) -> None:
    """A classifier has an output for each of its labels, no more and no fewer."""
    if labels != base.config.labels:
        raise ConfigError(
            f"{base.directory}: tells {', '.join(base.config.labels)} apart, and the texts have the labels {', '.join(labels)}; "
            "give texts of the same labels, all of them"
        )


def remarks(config: RunConfig, bundle: BundleConfig, base: OpenBundle) -> Iterator[str]:
    """What a user should know of the start."""
    yield f"it starts as {base.directory}, with the model and vocabulary of that"
    yield from _in_vain(config.text, len(base.tokenizers.source.vocabulary))
    ours, theirs = bundle.languages, base.config.languages
    if ours != theirs:
        yield f"that one is from {theirs.source} to {theirs.target}, and the text from {ours.source} to {ours.target}"


def _in_vain(text: TextConfig, size: int) -> Iterator[str]:
    """Of a vocabulary of `size`: what was asked for and would have made another, had one been learned."""
    defaults = {name: TextConfig.model_fields[name].default for name in LEARNING}
    for name, unsaid in {**defaults, "vocabulary": size}.items():
        value = getattr(text, name)
        if name in text.model_fields_set and value != unsaid:
            yield f"text.{name} = {value} is not looked at: the vocabulary of {size:,} is taken over, and none is learned"


def _found(start: str) -> Path:
    try:
        return find_bundle(start)
    except BundleError as error:
        raise BundleError(f"train.start: {error}; a run that has begun from one reads it whenever it goes on") from None


def _refuse_another_task(values: Mapping[str, Any], start: str, task: Task) -> None:
    """Told before all else, for the task decides what settings there are. One that is not named shows in the data that it reads."""
    asked, data, fields = values.get("task"), values.get("data"), DataConfig.model_fields
    if isinstance(asked, str) and asked != task and asked in MEANINGLESS:
        raise _another_task(start, task, asked)
    if asked is not None or not isinstance(data, Mapping):
        return
    for name, value in data.items():
        if f"data.{name}" in MEANINGLESS[task] and value != fields[name].default:
            raise ConfigError(
                f"train.start = {start!r}: a model for task {task!r}, which does not look at data.{name}; leave it out, "
                "or start from a model for a task that does"
            )


def _another_task(start: str, task: Task, asked: str) -> ConfigError:
    return ConfigError(
        f"train.start = {start!r}: a model for task {task!r}, not for {asked!r}; start from one for the same task"
    )


def _own(base: OpenBundle) -> dict[str, Any]:
    """What the base settles."""
    config, tokenizer = base.config, base.tokenizers.source
    texts = config.texts
    data: dict[str, Any] = {}
    if texts is not None:
        data = {"documents": texts.documents, "max_length": texts.context}
    elif config.task == "classify":
        data = {"labels_of": config.labels_of}
    return {
        "task": config.task,
        "data": data,
        "text": {
            "kind": tokenizer.kind,
            "joint": base.tokenizers.joint,
            "form": tokenizer.form,
            "lowercase": tokenizer.lowercase,
        },
        "model": config.model.model_dump(mode="json"),
    }


def _refuse_others(config: RunConfig, base: OpenBundle) -> None:
    own, start = _own(base), str(config.train.start)
    if config.task != base.config.task:
        raise _another_task(start, base.config.task, config.task)
    if isinstance(base.config.model, MarkovConfig):
        raise ConfigError(
            f"train.start = {start!r}: a model that was counted is not trained further; count all of the text"
        )
    given = config.model_dump(mode="json")
    own["data"] = {name: value for name, value in own["data"].items() if name == "labels_of"}
    for table in ("data", "text", "model"):
        for name, expected in own[table].items():
            if name not in FREE and given[table].get(name) != expected:
                raise _refusal(start, f"{table}.{name}", given[table].get(name), expected)


def _refusal(start: str, name: str, value: Any, expected: Any) -> ConfigError:
    return ConfigError(f"{name} = {value!r}: training starts from {start}, where it is {expected!r}; leave it out")
