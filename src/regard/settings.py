"""Typed settings: frozen pydantic models that refuse unknown keys, read from TOML or JSON, overridden by `a.b=c`.

Every room may import this module. It knows how settings are parsed, never what any of them means.
"""

import ast
import difflib
import inspect
import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from regard.errors import ConfigError, FileError
from regard.foreign import DEPTH, LimitError, parse_json, parse_toml
from regard.foreign import read_text as read_foreign_text

MEANINGLESS = "meaningless"
"""The pydantic error type of a setting that exists, but not for this task."""


class Settings(BaseModel):
    """A frozen group of settings. Unknown keys are refused with the nearest valid name."""

    # Not `use_attribute_docstrings`: it searches the source of every class when it is imported. Schemas are built at their first use.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @classmethod
    def parse(cls, values: Mapping[str, Any], where: str = "config") -> Self:
        """Validate `values`; a `ConfigError` names `where` and the first offending key."""
        if not isinstance(values, Mapping):
            raise ConfigError(f"{where}: expected an object, found {json_type(values)}")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(f"{where}: {first_error(cls, error)}") from None

    def changed_from(self, older: "Settings") -> list[str]:
        """Every setting whose value differs, as `a.b: old -> new`."""
        return differences(self.model_dump(mode="json"), older.model_dump(mode="json"))


class Record(Settings):
    """A frozen group of values that a program stored as JSON. Keys that it does not know are ignored."""

    model_config = ConfigDict(extra="ignore")


def descriptions(group: type[BaseModel]) -> dict[str, str]:
    """Name -> the text below each setting of a group in its source, those of its bases included."""
    found: dict[str, str] = {}
    for base in reversed(group.__mro__):
        if base is BaseModel or not issubclass(base, BaseModel):
            continue
        try:
            [tree] = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError, SyntaxError):  # made in an interpreter: there is no source
            continue
        assert isinstance(tree, ast.ClassDef)
        for setting, below in zip(tree.body, [*tree.body[1:], None], strict=True):
            if isinstance(setting, ast.AnnAssign) and isinstance(setting.target, ast.Name):
                found.pop(setting.target.id, None)
                if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                    found[setting.target.id] = inspect.cleandoc(str(below.value.value))
    return found


def json_type(value: Any) -> str:
    """The name that JSON has for the type of a value."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


class Choice:
    """A discriminated union of groups of settings: `Annotated[Base, Choice(TABLE)]`.

    The table is read when settings are parsed, so rows that an extension adds count.
    """

    def __init__(self, table: Mapping[str, type[Settings]], key: str = "kind") -> None:
        """`table`: value of `key` -> group of settings. Without the key its first row is chosen."""
        self.table, self.key = table, key

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._validated, serialization=core_schema.plain_serializer_function_ser_schema(_dumped, info_arg=True)
        )

    def _validated(self, value: Any) -> Settings:
        if isinstance(value, Settings):
            return value
        if not isinstance(value, dict):
            raise PydanticKnownError("model_type", {"class_name": "Settings"})
        chosen = value.get(self.key, next(iter(self.table)))
        if not isinstance(chosen, str) or chosen not in self.table:
            expected = ", ".join(map(repr, self.table))
            context = {"discriminator": repr(self.key), "tag": str(chosen), "expected_tags": expected}
            raise PydanticKnownError("union_tag_invalid", context)
        return self.table[chosen].model_validate(value)


class OneOf:
    """A check that a setting is a name of a table: `Annotated[str, OneOf(TABLE)]`. The table is read when settings are parsed."""

    def __init__(self, table: Collection[str]) -> None:
        self.table = table

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._validated, handler(source))

    def _validated(self, value: Any) -> Any:
        if not isinstance(value, str) or value not in self.table:
            *most, last = map(repr, self.table)
            raise ValueError(f"input should be {' or '.join(filter(None, [', '.join(most), last]))}")
        return value


class OneOrMore(OneOf):
    """A check that a setting is a name of a table, or a list of them: `Annotated[str | tuple[str, ...], OneOrMore(TABLE)]`."""

    def _validated(self, value: Any) -> Any:
        if value is None or not isinstance(value, list | tuple):
            return value if value is None else super()._validated(value)
        for name in value:
            super()._validated(name)
        return tuple(value)


def _dumped(value: Settings, info: core_schema.SerializationInfo) -> dict[str, Any]:
    return value.model_dump(mode=info.mode, exclude_defaults=info.exclude_defaults)


def meaningless(name: str, setter: str | None = None) -> PydanticCustomError:
    """The error of a setting that only other tasks have; `setter`: the option that set it, if not `name` itself."""
    return PydanticCustomError(MEANINGLESS, "it has no meaning here", {"name": name, "setter": setter or name})


WRITTEN_BY_INIT = "`regard init > run.toml` writes one"


def read_toml(path: Path, missing: str = WRITTEN_BY_INIT) -> dict[str, Any]:
    """The tables of a TOML file. missing: what to do if there is none."""
    try:
        return parse_toml(_text(path, missing), path)
    except FileError as error:
        raise ConfigError(str(error)) from None


def read_json(path: Path) -> dict[str, Any]:
    """The settings that a run keeps in its config.json."""
    try:
        values = parse_json(_text(path), path)
    except FileError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: not an object of settings but {type(values).__name__}")
    return values


def _text(path: Path, missing: str = WRITTEN_BY_INIT) -> str:
    try:
        return read_foreign_text(path).removeprefix("\ufeff")  # a byte order mark, which some editors write
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such config file; {missing}") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: a directory, not a config file; give a .toml file") from None
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        byte = error.object[error.start]
        raise ConfigError(f"{path}:{line}: not UTF-8 (byte {byte:#x} at column {column}); save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}; check the path") from None


def override(values: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """`values` with each `a.b=c` applied; `c` is TOML where it parses as TOML, else the text itself."""
    result = _copied(values)
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {assignment}: expected KEY=VALUE, for example --set train.max_steps=1000")
        *path, last = key.strip().split(".")
        if len(path) > DEPTH:
            raise ConfigError(f"--set {assignment}: a key of {len(path) + 1:,} parts; none has more than {DEPTH}")
        table = result
        for name in path:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ConfigError(f"--set {assignment}: {name!r} is a value, not a table")
        table[last] = _toml_value(text.strip(), f"--set {key.strip()}")
    return result


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with every leaf of `changes` in its place."""
    result = _copied(values)
    for key, value in changes.items():
        inner = result.get(key, {})
        if isinstance(value, Mapping) and not isinstance(inner, dict):
            raise ConfigError(_not_a_table(key, inner))
        result[key] = merged(inner, value) if isinstance(value, Mapping) else value
    return result


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of every value of nested tables."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def differences(newer: Mapping[str, Any], older: Mapping[str, Any]) -> list[str]:
    """Every value of nested tables that differs, as `a.b: old -> new`."""
    new_values, old_values = dict(leaves(newer)), dict(leaves(older))
    return [
        f"{key}: {old_values.get(key)!r} -> {new_values.get(key)!r}"
        for key in sorted(new_values.keys() | old_values.keys())
        if new_values.get(key) != old_values.get(key)
    ]


def last_parts(names: Collection[str]) -> dict[str, str]:
    """Dotted name -> its last part, or the whole name where two share the last part."""
    last = Counter(name.rpartition(".")[2] for name in names)
    return {name: name if last[name.rpartition(".")[2]] > 1 else name.rpartition(".")[2] for name in names}


def _toml_value(text: str, where: str) -> Any:
    try:
        return parse_toml(f"value = {text}", where)["value"]
    except LimitError as error:
        raise ConfigError(str(error)) from None
    except FileError:
        return text


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copied(value) if isinstance(value, Mapping) else value for key, value in values.items()}


def first_error(root: type[BaseModel], error: ValidationError) -> str:
    """The first validation error in one line: the key, the value and the fix."""
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    key = ".".join(path)
    if first["type"] == "extra_forbidden":
        return f"unknown key {key!r}; {_suggestion(root, path, first.get('input'))}"
    context = first.get("ctx", {})
    if first["type"] == "union_tag_invalid":
        tag = str(context["discriminator"]).strip("'")
        return (
            f"{key}.{tag} = {context['tag']!r}: input should be {str(context['expected_tags']).replace(', ', ' or ')}"
        )
    given = first.get("input")
    if first["type"] == "model_type":
        return _not_a_table(key, given)
    message = first["msg"].removeprefix("Value error, ")
    shown = "" if isinstance(given, dict) else f" = {given!r}"
    names_its_keys = not key or message.startswith(f"{key}.")  # the error of settings that do not go together
    prefix = "" if names_its_keys else f"{key}{shown}: "
    return f"{prefix}{message[:1].lower()}{message[1:]}"


def _not_a_table(key: str, value: Any) -> str:
    return f"{key} = {value!r}: expected a table of settings, [{key}], or one of them, {key}.NAME"


def _suggestion(root: type[BaseModel], path: Sequence[str], value: Any = None) -> str:
    """A hint for an unknown key: the nearest valid name, the table that has it, or all valid names."""
    *tables, name = path
    groups = groups_at(root, tables)
    having = [group for group in groups if name in group.model_fields]
    if having and len(groups) > 1:
        choice = choice_of(groups_at(root, tables[:-1])[0].model_fields[tables[-1]])
        assert choice is not None
        fitting = " or ".join(repr(group.model_fields[choice.key].default) for group in having)
        return f"it needs {'.'.join([*tables, choice.key])} = {fitting}"
    valid_names = list({field: None for group in groups for field in group.model_fields})
    near = [".".join([*tables, close]) for close in difflib.get_close_matches(name, valid_names, n=1, cutoff=0.5)]
    elsewhere = [
        f"{table}.{name}"
        for table, field in reversed(root.model_fields.items())  # the data come first, and are meant least often
        if any(_may_hold(group, name, value) for group in groups_of(field))
    ]
    if elsewhere and not tables:
        return f"did you mean {' or '.join(map(repr, elsewhere))}?"
    return f"did you mean {near[0]!r}?" if near else f"valid here: {', '.join(sorted(valid_names))}"


def _may_hold(group: type[BaseModel], name: str, value: Any) -> bool:
    """Whether a group has a setting of this name that may have this value. A name of another kind of network may be meant too."""
    if name not in group.model_fields:
        return False
    field = group.model_fields[name]
    listed = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return len(listed) < 2 or value in listed  # one alone is the name of the group itself


def groups_at(root: type[BaseModel], path: Sequence[str]) -> list[type[BaseModel]]:
    """The groups of settings that the table at `path` may hold; of the deepest existing table if `path` does not exist."""
    groups: list[type[BaseModel]] = [root]
    for name in path:
        fields = [group.model_fields[name] for group in groups if name in group.model_fields]
        inner = [group for field in fields for group in groups_of(field)]
        if not inner:
            break
        groups = inner
    return groups


def groups_of(field: FieldInfo) -> list[type[BaseModel]]:
    """The groups of settings that a field may hold."""
    choice = choice_of(field)
    if choice is not None:
        return list(choice.table.values())
    candidates = [field.annotation, *get_args(field.annotation)]
    return [kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)]


def choice_of(field: FieldInfo) -> Choice | None:
    """The `Choice` that a field is annotated with, or None."""
    return next((item for item in field.metadata if isinstance(item, Choice)), None)
