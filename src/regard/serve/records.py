"""Answers of tasks as JSON: the fields of their records, and the schema of them, made from the same dataclasses.

A new field of a record appears in both. A number that is not finite becomes null.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, create_model

from regard.explain.document import to_json_types

ALTERNATIVES = "alternatives"
"""The field with further records of the same class, whose own is left out."""
HIDDEN = {"links"}
"""Fields that are no data."""


def plain(record: Any, extra: Callable[[Any], Mapping[str, Any]] | None = None, *, without: str = "") -> dict[str, Any]:
    """The fields of a record in JSON types, and what `extra` says of it and of each alternative."""
    told = {} if extra is None else to_json_types(extra(record), cut=False)
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name in HIDDEN or field.name == without:
            continue
        if field.name == ALTERNATIVES and value and is_dataclass(value[0]):
            told[field.name] = [plain(one, extra, without=ALTERNATIVES) for one in value]
        else:
            told[field.name] = to_json_types(value, cut=False)
    return {field: told[field] for field in sorted(told, key=_order(record))}


def _order(record: Any) -> Callable[[str], int]:
    """The order of the fields, `extra` ones last."""
    names = [field.name for field in fields(record)]
    return lambda name: names.index(name) if name in names else len(names)


@cache
def schema_of(record: type, extra: tuple[tuple[str, Any], ...] = (), *, without: str = "") -> type[BaseModel]:
    """The schema of `plain(record)`. extra: name and type of each further field."""
    hints = get_type_hints(record)
    given: dict[str, Any] = {}
    for field in fields(record):
        if field.name in HIDDEN or field.name == without:
            continue
        kind = hints[field.name]
        if field.name == ALTERNATIVES and record in get_args(kind):
            kind = list[schema_of(record, extra, without=ALTERNATIVES)]  # type: ignore[misc]
        given[field.name] = (as_json(kind), ...)
    given |= {name: (kind, ...) for name, kind in extra}
    name = f"{record.__name__}Alternative" if without else record.__name__
    model: type[BaseModel] = create_model(name, __doc__=record.__doc__, **given)
    return model


def as_json(kind: Any) -> Any:
    """The type of a field in JSON: a number may be null, a tuple is a list, a dataclass an object."""
    arguments = get_args(kind)
    origin = get_origin(kind)
    if kind is float:
        return float | None
    if isinstance(kind, type) and is_dataclass(kind):
        return schema_of(kind)
    if origin in (Union, UnionType):
        return reduce(or_, (as_json(one) for one in arguments if one is not NoneType)) | None
    if origin is tuple and Ellipsis in arguments:
        return list[as_json(arguments[0])]  # type: ignore[misc]
    if origin is list or (isinstance(origin, type) and issubclass(origin, Sequence) and origin is not tuple):
        return list[as_json(arguments[0])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, as_json(arguments[1])]  # type: ignore[misc]
    return kind


def listed(name: str, record: type, extra: tuple[tuple[str, Any], ...] = ()) -> type[BaseModel]:
    """The schema of an answer that is a list of records: `{name: [..]}`."""
    given: dict[str, Any] = {name: (list[schema_of(record, extra)], ...)}  # type: ignore[misc]
    model: type[BaseModel] = create_model(f"{record.__name__}List", __doc__=record.__doc__, **given)
    return model
