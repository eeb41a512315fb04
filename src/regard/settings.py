"""Typed settings: frozen, typo-proof, read from TOML, changed by `a.b=c`.

Every room may import this module. It knows how a setting is read and refused, never what any setting means.
"""

import difflib
import json
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from regard.errors import ConfigError


class Settings(BaseModel):
    """A frozen group of settings. Unknown keys are refused with the nearest valid name."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    @classmethod
    def parse(cls, values: Mapping[str, Any], where: str = "config") -> Self:
        """`values` as settings; a `ConfigError` names `where` and the first offending key."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(f"{where}: {_first_complaint(cls, error)}") from None

    def changed_from(self, older: "Settings") -> list[str]:
        """Every setting whose value differs, as `a.b: old -> new`."""
        mine, theirs = dict(leaves(self.model_dump(mode="json"))), dict(leaves(older.model_dump(mode="json")))
        return [
            f"{key}: {theirs.get(key)!r} -> {mine.get(key)!r}"
            for key in sorted(mine.keys() | theirs.keys())
            if mine.get(key) != theirs.get(key)
        ]


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def read_json(path: Path) -> dict[str, Any]:
    """The settings that a run keeps in its config.json."""
    try:
        values = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: not an object of settings but {type(values).__name__}")
    return values


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such config file; `regard init > run.toml` writes one") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: a directory, not a config file; give a .toml file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as UTF-8 text: {error}") from None


def override(values: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """`values` with each `a.b=c` applied; `c` is TOML where it parses as TOML, else the text itself."""
    result = _copied(values)
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {assignment}: expected KEY=VALUE, for example --set train.max_steps=1000")
        *path, last = key.strip().split(".")
        table = result
        for name in path:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ConfigError(f"--set {assignment}: {name!r} is a value, not a table")
        table[last] = _toml_value(text.strip())
    return result


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with every leaf of `changes` in its place."""
    result = _copied(values)
    for key, value in changes.items():
        inner = result.get(key, {})
        if isinstance(value, Mapping) and not isinstance(inner, dict):
            raise ConfigError(_no_table(key, inner))
        result[key] = merged(inner, value) if isinstance(value, Mapping) else value
    return result


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested tables, by its dotted name."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def last_parts(names: Collection[str]) -> dict[str, str]:
    """Dotted names by their last part, or whole where two share it."""
    last = Counter(name.rpartition(".")[2] for name in names)
    return {name: name if last[name.rpartition(".")[2]] > 1 else name.rpartition(".")[2] for name in names}


def to_toml(group: type[BaseModel], path: str = "") -> str:
    """Every setting of a group with its meaning and default, as TOML in comments: only what is uncommented is set."""
    lines, tables = [], []
    for name, field in group.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        if isinstance(default, BaseModel):
            inner = f"{path}{name}"
            others = [group for group in _groups(field) if group is not type(default)]
            tables.append(f"\n[{inner}]\n{to_toml(type(default), f'{inner}.')}{_other_kinds(field, others)}")
            continue
        lines.append(f"# {field.description}" if field.description else "")
        lines.append(f"# {name} =" if default is None else f"# {name} = {json.dumps(default, ensure_ascii=False)}")
    return "\n".join(line for line in lines if line) + "\n" + "".join(tables)


def _other_kinds(field: FieldInfo, groups: Sequence[type[BaseModel]]) -> str:
    """What else a table may hold, where a key chooses among several groups of settings."""
    key = str(field.discriminator)
    return "".join(
        f"# With {key} = {json.dumps(group.model_fields[key].default)} the settings are others: "
        f"{', '.join(name for name in group.model_fields if name != key)}.\n"
        for group in groups
    )


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copied(value) if isinstance(value, Mapping) else value for key, value in values.items()}


def _first_complaint(root: type[BaseModel], error: ValidationError) -> str:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    key = ".".join(_names(root, path))
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r}; {_suggestion(root, path)}"
    context = first.get("ctx", {})
    if first["type"] == "union_tag_invalid":
        tag = str(context["discriminator"]).strip("'")
        return (
            f"{key}.{tag} = {context['tag']!r}: input should be {str(context['expected_tags']).replace(', ', ' or ')}"
        )
    given = first.get("input")
    if first["type"] == "model_type":
        return _no_table(key, given)
    message = first["msg"].removeprefix("Value error, ")
    shown = "" if isinstance(given, dict) else f" = {given!r}"
    several = not key or message.startswith(f"{key}.")  # settings that do not go together, which the message names
    named = "" if several else f"{key}{shown}: "
    return f"{named}{message[:1].lower()}{message[1:]}"


def _no_table(key: str, value: Any) -> str:
    return f"{key} = {value!r}: expected a table of settings, [{key}], or one of them, {key}.NAME"


def _suggestion(root: type[BaseModel], path: Sequence[str]) -> str:
    """The nearest valid name beside the wrong one, or where else there is such a name, or all that is valid there."""
    *tables, name = path
    shown = _names(root, tables)
    for chooser, value, group in _alternatives(root, tables):
        if name in group.model_fields:
            return f"it needs {'.'.join([*shown, chooser])} = {value!r}"
    beside = list(_level(root, tables).model_fields)
    near = [".".join([*shown, found]) for found in difflib.get_close_matches(name, beside, n=1, cutoff=0.5)]
    elsewhere = [
        f"{table}.{name}"
        for table, field in root.model_fields.items()
        if any(name in group.model_fields for group in _groups(field))
    ]
    if elsewhere and not tables:
        return f"did you mean {elsewhere[0]!r}?"
    return f"did you mean {near[0]!r}?" if near else f"valid here: {', '.join(sorted(beside))}"


def _names(root: type[BaseModel], path: Sequence[str]) -> list[str]:
    """A path of pydantic's as the user writes it: without what names the choice among several groups."""
    return [name for place, name in enumerate(path) if place == 0 or not _chooses(root, path[:place])]


def _chooses(root: type[BaseModel], path: Sequence[str]) -> bool:
    """Whether what follows `path` names a group instead of a key."""
    field = _level(root, path[:-1]).model_fields.get(path[-1])
    return field is not None and field.discriminator is not None


def _alternatives(root: type[BaseModel], path: Sequence[str]) -> Iterator[tuple[str, str, type[BaseModel]]]:
    """The groups among which the end of `path` chose one: the key that chooses, its value, the group."""
    if len(path) < 2 or not _chooses(root, path[:-1]):
        return
    field = _level(root, path[:-2]).model_fields[path[-2]]
    for group in _groups(field):
        key = str(field.discriminator)
        yield key, str(group.model_fields[key].default), group


def _level(root: type[BaseModel], path: Sequence[str]) -> type[BaseModel]:
    """The table of settings that `path` leads to, or as far as it leads."""
    level: type[BaseModel] = root
    steps = iter(path)
    for name in steps:
        field = level.model_fields.get(name)
        groups = [] if field is None else _groups(field)
        if field is None or not groups:
            break
        level = groups[0]
        if field.discriminator is not None:
            chosen = next(steps, None)
            level = next((one for one in groups if one.model_fields[str(field.discriminator)].default == chosen), level)
    return level


def _groups(field: FieldInfo) -> list[type[BaseModel]]:
    """The groups of settings that a field may hold."""
    candidates = [field.annotation, *get_args(field.annotation)]
    return [kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)]
