"""Checks of settings that several tasks share. The error names the setting, the value and the fix."""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, get_args

from regard.bundle.precision import PRECISIONS
from regard.errors import ConfigError, InputTypeError
from regard.metrics.scores import with_added
from regard.models.config import ModelConfig

Engine = Literal["auto", "torch", "ct2"]
ENGINES: tuple[Engine, ...] = get_args(Engine)


def check_texts(texts: Sequence[str], what: str = "texts") -> None:
    """Refuse one text in place of a list, and a list with something else than texts. `what`: the plural, such as "prompts"."""
    singular = what.removesuffix("s")
    if isinstance(texts, str):
        raise InputTypeError(f"expected a list of {what}, not one {singular}: write [{texts[:20]!r}]")
    if isinstance(texts, bytes | bytearray | Mapping) or not (
        hasattr(texts, "__len__") and hasattr(texts, "__getitem__")
    ):
        raise InputTypeError(f"expected a list of {what}, not {_type_name(texts)}: give a list of str")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputTypeError(
                f"{what}[{number}] is {_type_name(text)}, not a {singular}: give a str at each of the {len(texts)} positions"
            )


def check_text(text: str, what: str = "text") -> None:
    """Refuse what is not one text."""
    if not isinstance(text, str):
        raise InputTypeError(f"expected one {what}, not {_type_name(text)}: give a str")


def check_path(path: object, what: str) -> None:
    """Refuse what is not a path. `what`: what the path is of, such as "a bundle or run"."""
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"expected the path of {what}, not {_type_name(path)}: give a str or a Path")


def check_list(values: object, what: str, form: str) -> None:
    """Refuse what is not a list or another collection. `form`: how to write one."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Collection):
        raise InputTypeError(f"{what} = {values!r}: must be a list: write {form}")


def _type_name(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def check_copies(model: ModelConfig, consistency: float) -> None:
    """Refuse R-Drop for a network that copies: its loss compares distributions of the vocabulary alone."""
    if model.copies and consistency:
        raise ValueError(
            f"train.consistency {consistency:g} compares what is written, not what is copied, and model.copy is true; leave one of them out"
        )


def check_kind(model: ModelConfig, table: Mapping[str, type[ModelConfig]], task: str) -> None:
    """Refuse a kind of network that the task does not have."""
    if type(model) not in table.values():
        able = " or ".join(map(repr, table))
        kind = getattr(model, "kind", type(model).__name__)
        raise ValueError(f"model.kind {kind!r} cannot do task {task!r}; set model.kind to {able}")


def check_select(select: str, task: str) -> None:
    """Refuse a `train.select` that the task does not measure in validation."""
    choices = select_names(task)
    if select in choices:
        return
    if select == "bleu":
        raise ValueError(f"train.select 'bleu' is for translations, not for task {task!r}; leave it out")
    raise ValueError(f"train.select {select!r} is not measured for task {task!r}; choose one of {', '.join(choices)}")


def select_names(task: str) -> tuple[str, ...]:
    """The values of `train.select` for a task."""
    from regard.tasks.table import TASKS

    return ("auto", "loss", *with_added(TASKS[task].validated))


def check_replay(replay: object, start: str | None) -> None:
    """Refuse replay without a base: there is nothing to forget."""
    if replay is not None and start is None:
        raise ValueError(
            "data.replay needs train.start (--start DIR): it is text that the base must not forget; "
            "to mix corpora from the beginning, use [[data.corpora]]"
        )


def check_positions(reach: int | None, max_length: int, marks: Sequence[str]) -> None:
    """Refuse learned positions that do not reach the end of the longest example. `marks`: the tokens added to each example."""
    if reach is not None and reach < max_length + len(marks):
        raise ValueError(
            f"model.max_positions {reach} is shorter than the longest example, data.max_length "
            f"{max_length} and {' and '.join(marks)}; raise the one or lower the other"
        )


def torch_only(engine: str, precision: str) -> None:
    """Refuse CTranslate2 and its precisions, which only translators support."""
    check_engine(engine, precision)
    if engine == "ct2" or precision not in ("auto", "float32"):
        raise ConfigError(
            f"engine = {engine!r}, precision = {precision!r}: only translators have other engines than torch, in float32; leave them out"
        )


def check_engine(engine: str, precision: str) -> None:
    """Refuse an unknown engine or precision."""
    if engine not in ENGINES:
        raise ConfigError(f"engine = {engine!r}: not one of {', '.join(ENGINES)}")
    if precision not in ("auto", *PRECISIONS):
        raise ConfigError(f"precision = {precision!r}: not one of auto, {', '.join(PRECISIONS)}")
