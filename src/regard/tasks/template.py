"""The commented TOML file of a task's settings, with every setting of one kind of model. `regard init` prints it.

Meanings, defaults and allowed values come from the settings classes. It knows no setting by name.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from regard.errors import ConfigError
from regard.settings import OneOf, choice_of, descriptions
from regard.tasks.checks import select_names
from regard.tasks.table import TASKS

BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}  # as pydantic names them
TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def kinds_of(task: str) -> list[str]:
    """The values of `model.kind` that a task has, the default first."""
    field = TASKS[task].run.model_fields["model"]
    choice = choice_of(field)
    if choice is not None:
        return list(choice.table)
    kind = _groups(field)[0].model_fields.get("kind")
    return [] if kind is None else [str(kind.default)]


def settings_template(task: str, kind: str | None = None) -> str:
    """The settings of a task with this kind of model, the default kind if None. It can be trained with as it is.

    Defaults are comments. A setting that must be given has its first example (`Field(examples=..)`) in place of a default.
    """
    if task not in TASKS:
        raise ConfigError(f"--task {task}: not one of {', '.join(TASKS)}")
    kinds = kinds_of(task)
    if kind is not None and kind not in kinds:
        others = [name for name in TASKS if kind in kinds_of(name)]
        fix = f"; it is one of --task {' or '.join(others)}" if others else ""
        raise ConfigError(f"--kind {kind}: task {task!r} has {' or '.join(kinds) or 'one kind of model'}{fix}")
    given = {} if task == next(iter(TASKS)) else {"task": task}
    if kind is not None and kind != kinds[0]:
        given["model.kind"] = kind
        given |= getattr(TASKS[task], "goes_with", lambda _: {})(kind)
    allowed = {"task": _one_of(TASKS), "train.select": _one_of(select_names(task))}
    for name, field in TASKS[task].run.model_fields.items():
        choice = choice_of(field)
        if choice is not None:
            allowed[f"{name}.kind"] = _one_of(choice.table)
    return _table(TASKS[task].run, "", given, allowed)


def _table(group: type[BaseModel], path: str, given: Mapping[str, str], allowed: Mapping[str, str]) -> str:
    """The lines of a group and of the tables within it. given: settings that are no comments; allowed: what a class does not tell."""
    lines: list[str] = []
    tables: list[str] = []
    described = descriptions(group)
    for name, field in group.model_fields.items():
        key = f"{path}{name}"
        if inner := _group(field, given.get(f"{key}.kind")):
            meaning = f"# {_first_line(inner)}\n" if inner.__doc__ else ""
            tables.append(f"\n{meaning}[{key}]\n{_table(inner, f'{key}.', given, allowed)}")
        elif inner := _optional_group(field):  # a table that may be left out: any of its settings brings it in
            meanings = descriptions(inner)
            for part, own in inner.model_fields.items():
                lines += _setting(f"{name}.{part}", own, meanings.get(part), None, allowed.get(f"{key}.{part}"))
        else:
            lines += _setting(name, field, described.get(name), given.get(key), allowed.get(key))
    return "\n".join(lines) + "\n" + "".join(tables)


def _setting(name: str, field: FieldInfo, meaning: str | None, given: str | None, allowed: str | None) -> Iterator[str]:
    """The lines of one setting: its meaning, and its default as a comment unless it is given."""
    if meaning is not None:
        yield f"# {meaning}"
    default = field.get_default(call_default_factory=True, validated_data={})
    unset = default is None or default is PydanticUndefined
    value = given or (field.examples[0] if field.examples else None)
    stated = value if value is not None else None if unset else default
    shown = f"{name} =" if stated is None else f"{name} = {json.dumps(stated, ensure_ascii=False)}"
    notes = [allowed or _allowed(field)]
    notes += ["must be given"] if field.examples or default is PydanticUndefined else ["not set"] if unset else []
    yield f"{'' if value is not None else '# '}{shown}  # {'; '.join(filter(None, notes))}"


def _group(field: FieldInfo, kind: str | None) -> type[BaseModel] | None:
    """The group of settings that a field holds: of the given kind, else its default; None if it holds a value."""
    groups = _groups(field)
    choice = choice_of(field)
    if choice is not None and kind is not None:
        return choice.table[kind]
    return groups[0] if groups else None


def _optional_group(field: FieldInfo) -> type[BaseModel] | None:
    """The group of a table that may be left out; None: the field holds something else."""
    kinds = get_args(field.annotation)
    groups = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return groups[0] if NoneType in kinds and groups else None


def _groups(field: FieldInfo) -> list[type[BaseModel]]:
    default = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, BaseModel):
        return [type(default)]
    return [kind for kind in [field.annotation] if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _first_line(group: type[BaseModel]) -> str:
    """The first paragraph of a group's docstring, on one line."""
    return " ".join((group.__doc__ or "").split("\n\n")[0].split())


def _allowed(field: FieldInfo) -> str:
    """The values that a setting may have."""
    table = next((item.table for item in field.metadata if isinstance(item, OneOf)), None)
    if table is not None:
        return _one_of(table)
    parts = [kind for kind in get_args(field.annotation) or [field.annotation] if kind is not NoneType]
    if get_origin(field.annotation) is Literal:
        return _one_of(parts)
    if get_origin(field.annotation) is tuple:
        inner = get_args(field.annotation)[0]
        return "a list of tables" if isinstance(inner, type) and issubclass(inner, BaseModel) else "a list"
    inner = [value for kind in parts if get_origin(kind) is Literal for value in get_args(kind)]
    if inner:
        return _one_of(inner)
    names = [TYPES[kind] for kind in parts if kind in TYPES]
    bounds = [_bound(item) for item in field.metadata]
    return ", ".join(filter(None, [" or ".join(names), " and ".join(filter(None, bounds))]))


def _bound(item: Any) -> str:
    """A bound of a number in words; empty if `item` is none."""
    values = ((words, getattr(item, name, None)) for name, words in BOUNDS.items())
    return " and ".join(f"{words} {value}" for words, value in values if isinstance(value, int | float))


def _one_of(values: Iterable[Any]) -> str:
    *most, last = (json.dumps(value, ensure_ascii=False) for value in values)
    return " or ".join(filter(None, [", ".join(most), last]))
