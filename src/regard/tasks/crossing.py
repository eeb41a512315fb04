"""A base model of another task, or with another kind of network: which settings it fills in, and which it refuses. No torch.

Which weights are taken: `tasks/transfer.py`. A base of the same task and kind of network: `tasks/fine_tuning.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regard.bundle.opened import OpenBundle
from regard.data.objectives import OBJECTIVES
from regard.errors import ConfigError
from regard.models.config import (
    MIXER_TRAITS,
    SIZES,
    BagConfig,
    ClassifierTransformerConfig,
    LanguageTransformerConfig,
    ModelConfig,
    PrefixConfig,
    RecurrentBase,
    TransformerBase,
)
from regard.settings import choice_of
from regard.tasks.table import TASKS
from regard.training.config import RunSettings

OF_TEXT = ("translate", "generate", "classify", "pretrain")
"""The tasks between which weights can be taken over."""
DEPTHS = ("layers", "encoder_layers", "decoder_layers")
MIXERS = ("mixer", "encoder_mixer", "decoder_mixer")
OWN = ("kind", "preset", "dropout", "tie", "output_bias", "pooling", "pooler", "causal", "source_end", *DEPTHS, *MIXERS)
"""Settings of `model` in which a network may differ from its base: blocks that the base has not are new."""


def crosses(task: str, network: type[ModelConfig], base: OpenBundle) -> bool:
    """Whether a run is of another task than its base, or has another kind of network."""
    return task != base.config.task or network is not type(base.config.model)


def family(network: type[ModelConfig]) -> str | None:
    """The family of networks whose parts fit each other; None: weights of this one fit no other."""
    if issubclass(network, TransformerBase):
        return "transformer"
    return "recurrent" if issubclass(network, RecurrentBase) else None


def wanted_network(task: str, values: Mapping[str, Any], base: OpenBundle) -> tuple[str, type[ModelConfig]] | None:
    """The kind of network that a run will have: as set, or the one most like the base. None: there is no such kind, or no such task."""
    table = _kinds(task)
    own = type(base.config.model)
    given = _kind(values, "model")
    if given is not None:
        return (given, table[given]) if given in table else None
    objective = _kind(values, "objective") if task == "pretrain" else None
    choices: Sequence[str] = list(table) if objective is None else _networks(objective)
    like = [kind for kind in choices if table.get(kind) is own] or [
        kind for kind in choices if kind in table and family(table[kind]) == family(own)
    ]
    kind = next(iter(like or choices), None)
    return None if kind is None or kind not in table else (kind, table[kind])


def filled_settings(task: str, wanted: tuple[str, type[ModelConfig]], base: OpenBundle) -> dict[str, Any]:
    """The settings of the task, kind of network and vocabulary that a base of another one fills in."""
    kind, network = wanted
    text = base.config.settles(base.codecs).get("text", {})
    fields = getattr(TASKS[task].run.model_fields["text"].annotation, "model_fields", {})
    single = {"joint": True} if "joint" in fields else {}
    return {
        "task": task,
        "text": {**{name: value for name, value in text.items() if name in fields}, **single},
        "model": {"kind": kind, **dict(_filled_model(network, base.config.model))},
    }


def refuse_unfit(
    task: str, wanted: tuple[str, type[ModelConfig]] | None, values: Mapping[str, Any], base: OpenBundle, start: str
) -> None:
    """Refuse a base that has nothing which the network could take, and a preset of other sizes."""
    model = base.config.model
    if task not in OF_TEXT or base.config.task not in OF_TEXT:
        raise ConfigError(
            f"train.start = {start!r}: a model for task {base.config.task!r}, which has nothing in common with one for {task!r}; "
            f"start from one for the same task{f', or for {_listed(OF_TEXT)}' if task in OF_TEXT else ''}"
        )
    if base.config.counted or isinstance(model, BagConfig):
        what = (
            "a Markov model, which has counts and no weights that a network could take"
            if base.config.counted
            else "a bag of words, which has nothing but a weight for each word and label"
        )
        raise ConfigError(f"train.start = {start!r}: {what}; start from a model with an embedding")
    if wanted is not None and (family(wanted[1]) is None or family(wanted[1]) != family(type(model))):
        own = getattr(model, "kind", type(model).__name__)
        raise ConfigError(
            f"model.kind = {wanted[0]!r}: {start} is a model of kind {own!r}, which has nothing in common with it; leave it out"
        )
    table = values.get("model")
    preset = table.get("preset") if isinstance(table, Mapping) else None
    if preset is not None and preset != getattr(model, "preset", None):
        raise refusal(start, "model.preset", preset, getattr(model, "preset", None))


def refuse_contradictions(settings: RunSettings, base: OpenBundle) -> None:
    """Refuse settings with which the weights or the vocabulary of the base could not be used."""
    start, model = str(settings.train.start), base.config.model
    refuse_unfit(settings.task, (getattr(settings.model, "kind", ""), type(settings.model)), {}, base, start)
    ours, theirs = (one.model_dump(mode="json") for one in (settings.model, model))
    free = {*OWN, *(() if model.reach is not None else ("max_positions",))}
    for name, value in ours.items():
        if name in theirs and name not in free and value != theirs[name]:
            raise refusal(start, f"model.{name}", value, theirs[name])
    if isinstance(settings.model, TransformerBase) and isinstance(model, TransformerBase):
        for mixers, before in _stacks(settings.model, model):
            if any(one != other for one, other in zip(mixers, before, strict=False)):
                raise refusal(start, "model.mixer", list(mixers), list(before))
    expected = filled_settings(settings.task, ("", type(settings.model)), base)["text"]
    text = getattr(settings, "text").model_dump(mode="json")  # noqa: B009 (only some tasks have it)
    for name, value in expected.items():
        if text[name] != value:
            raise ConfigError(
                f"text.{name} = {text[name]!r}: training starts from {start}, whose vocabulary has {value!r}; leave it out"
            )


def refusal(start: str, name: str, value: Any, expected: Any) -> ConfigError:
    """The error for a setting that contradicts the base."""
    return ConfigError(f"{name} = {value!r}: training starts from {start}, where it is {expected!r}; leave it out")


def _filled_model(network: type[ModelConfig], base: ModelConfig) -> Iterator[tuple[str, Any]]:
    fields = network.model_fields
    own = base.model_dump(mode="json")
    for name, value in own.items():
        if name in fields and name not in ("kind", "preset", *DEPTHS, *MIXERS):
            yield name, value
    preset = getattr(base, "preset", None)
    sizes = {name for name in SIZES if preset in getattr(network, "presets", {}) and name in network.presets[preset]}  # type: ignore[attr-defined]
    if preset in getattr(network, "presets", {}) and sizes <= fields.keys():
        yield "preset", preset
    encoder, decoder = base.depth  # type: ignore[attr-defined]
    yield "layers", encoder or decoder
    if "encoder_layers" in fields and encoder:
        yield "encoder_layers", encoder
    if "decoder_layers" in fields and decoder:
        yield "decoder_layers", decoder
    if isinstance(base, TransformerBase):
        yield from _filled_mixers(network, base)
    if network is ClassifierTransformerConfig and type(base) is LanguageTransformerConfig:
        yield "causal", True


def _filled_mixers(network: type[ModelConfig], base: TransformerBase) -> Iterator[tuple[str, Any]]:
    encoder, decoder = base.mixers
    every = {*encoder, *decoder}
    new_decoder = "decoder_mixer" in network.model_fields and not decoder
    if new_decoder and not all(MIXER_TRAITS[name].causal for name in every):
        yield "encoder_mixer", list(encoder)
    elif len(every) == 1:
        yield "mixer", every.pop()
    elif "encoder_mixer" in network.model_fields:
        yield from ((name, list(names)) for name, names in zip(MIXERS[1:], (encoder, decoder), strict=True) if names)
    elif not (encoder and decoder):
        yield "mixer", list(encoder or decoder)
    else:
        read = network is not LanguageTransformerConfig and not issubclass(network, PrefixConfig)
        yield "mixer", list(encoder if read else decoder)


def _stacks(ours: TransformerBase, base: TransformerBase) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The mixers of each stack of the network, and of the stack of the base that it would take."""
    (encoder, decoder), (their_encoder, their_decoder) = ours.mixers, base.mixers
    if encoder:
        yield encoder, their_encoder or (their_decoder if isinstance(base, PrefixConfig) or not decoder else ())
    if decoder:
        yield decoder, their_decoder or (() if encoder else their_encoder)


def _kinds(task: str) -> Mapping[str, type[ModelConfig]]:
    choice = choice_of(TASKS[task].run.model_fields["model"])
    return {} if choice is None else choice.table  # type: ignore[return-value]


def _kind(values: Mapping[str, Any], table: str) -> str | None:
    given = values.get(table)
    kind = given.get("kind") if isinstance(given, Mapping) else None
    return kind if isinstance(kind, str) else None


def _networks(objective: str) -> Sequence[str]:
    return OBJECTIVES[objective].networks if objective in OBJECTIVES else ()


def _listed(names: Sequence[str]) -> str:
    *most, last = map(repr, names)
    return f"{', '.join(most)} or {last}"
