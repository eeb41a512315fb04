"""A run that does not start from nothing: it takes over the model of another, its weights, shape and vocabulary, and trains it further."""

from typing import Any

from torch import nn

from regard.bundle.bundle import read_network
from regard.bundle.locate import find_bundle
from regard.bundle.opened import OpenBundle, open_bundle
from regard.errors import ConfigError
from regard.models.config import MarkovConfig, TransformerConfig
from regard.settings import Settings
from regard.text.config import TextConfig
from regard.train.config import RunConfig

FREE = ("dropout",)  # what a run may have of its own


def start_of(config: RunConfig) -> OpenBundle | None:
    """The model that `train.start` names; None where training starts from nothing."""
    if config.train.start is None:
        return None
    bundle = open_bundle(find_bundle(config.train.start))
    if bundle.config.task != config.task:
        raise ConfigError(
            f"train.start = {config.train.start!r}: a model to {bundle.config.task}, not to {config.task}; "
            f"set task = {bundle.config.task!r}, or give another"
        )
    if isinstance(bundle.config.model, MarkovConfig):
        raise ConfigError(
            f"train.start = {config.train.start!r}: a model that was counted cannot be trained further; count all of the text anew"
        )
    return bundle


def taken_over(config: RunConfig, bundle: OpenBundle) -> RunConfig:
    """The settings, with the model and the vocabulary of the bundle; what the user asked for otherwise is refused."""
    tokenizers, where = bundle.tokenizers, str(config.train.start)
    text = TextConfig.model_validate(
        {
            "kind": tokenizers.source.kind,
            "vocabulary": len(tokenizers.target.vocabulary) - 1,
            "joint": tokenizers.joint,
            "form": tokenizers.source.form,
            "lowercase": tokenizers.source.lowercase,
            "dropout": config.text.dropout,
        }
    )
    model, given = bundle.config.model, config.model
    if type(given) is not type(model) and not isinstance(given, TransformerConfig):
        raise _refusal("model.kind", given.kind, where, model.kind)
    _refuse_others("model", given, model, where)
    _refuse_others("text", config.text, text, where)
    own = {name: getattr(given, name) for name in FREE if name in given.model_fields_set}
    values = {
        **config.model_dump(),
        "text": text.model_dump(),
        "model": {**model.model_dump(), **own},
    }
    return RunConfig.parse(values, f"train.start = {where!r}")


def _refuse_others(table: str, given: Settings, taken: Settings, where: str) -> None:
    defaults = type(given)()
    for name, value in given:
        if name not in FREE and value not in (getattr(defaults, name), getattr(taken, name, None)):
            raise _refusal(f"{table}.{name}", value, where, getattr(taken, name, None))


def _refusal(name: str, value: Any, where: str, taken: Any) -> ConfigError:
    return ConfigError(f"{name} = {value!r}: training starts from {where}, where it is {taken!r}; leave it out")


def take_weights(network: nn.Module, bundle: OpenBundle, labels: tuple[str, ...]) -> None:
    """Give a fresh network the weights of the bundle. labels: what a classifier tells apart in the new texts."""
    if labels != bundle.config.labels:
        raise ConfigError(
            f"{bundle.directory}: tells {', '.join(bundle.config.labels)} apart, and the texts have the labels {', '.join(labels)}; "
            "give texts of the same labels, all of them"
        )
    network.load_state_dict(read_network(bundle).state_dict())
