"""The search flags of the command line: one for each field of `SearchOptions`. Imports no torch.

Decorate a command that takes `search: SearchKeywords` with `search_flags()`. It then has one flag for each field.
"""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import Field
from functools import wraps
from typing import Annotated, Any, Literal, cast, get_origin, get_type_hints

import typer

from regard.cli.signature import parameters_of, set_parameters
from regard.errors import ConfigError
from regard.search.options import FIELDS, SearchKeywords, SearchOptions, given_in_vain

Command = Callable[..., None]
SEARCH = "search"  # the parameter of a command that the flags replace

WithPrefix = Annotated[
    bool, typer.Option("--with-prefix", help="After a tab, lines hold what the translation begins with.")
]
WithPhrases = Annotated[
    bool, typer.Option("--with-phrases", help="After tabs, lines hold phrases that the translation must contain.")
]


def search_flags(without: Collection[str] = ()) -> Callable[[Command], Command]:
    """A decorator that gives a command one flag for each search option and passes their values as `search`.

    `without`: options that get no flag. A parameter of the command that has the name of an option replaces its flag.
    """

    def decorate(command: Command) -> Command:
        own_parameters = parameters_of(command)
        flags = {
            name: own_parameters.get(name) or _flag(field) for name, field in FIELDS.items() if name not in without
        }
        generated = [name for name in flags if name not in own_parameters]
        parameters: list[inspect.Parameter] = []
        for name, parameter in own_parameters.items():
            if name == SEARCH:
                parameters += flags.values()
            elif name not in flags:
                parameters.append(parameter)

        @wraps(command)
        def with_flags(**values: Any) -> None:
            search = {name: values.pop(name) for name in generated}
            search["suppress"] = search["suppress"] or ()
            command(search=search, **values)

        set_parameters(with_flags, parameters)
        return with_flags

    return decorate


def search_options(search: SearchKeywords) -> SearchOptions:
    """The search options of these values. Flags that do not go together are refused."""
    names = given_in_vain(search)
    if names:
        needed = [_flag_name(name) for name in FIELDS[names[0]].metadata["only_for"]]
        is_are, it_one, it_them = ("is", "it", "it") if len(names) == 1 else ("are", "one", "them")
        flags = _join_names([_flag_name(name) for name in names])
        raise ConfigError(f"{flags} {is_are} for {_join_names(needed)}; add {it_one}, or leave {it_them} out")
    return SearchOptions(**search)


def fields(
    lines: list[str], with_prefix: bool, with_phrases: bool
) -> tuple[list[str], list[str] | None, list[list[str]] | None]:
    """The texts, prefixes and phrases of the tab-separated lines; None for fields that the flags do not name."""
    if not (with_prefix or with_phrases):
        return lines, None, None
    rows = [line.split("\t") for line in lines]
    texts = [row.pop(0) for row in rows]
    prefixes = [row.pop(0) if row else "" for row in rows] if with_prefix else None
    return texts, prefixes, [[phrase for phrase in row if phrase] for row in rows] if with_phrases else None


def _flag(field: "Field[Any]") -> inspect.Parameter:
    """The typer parameter of a search option."""
    kind = _TYPES[field.name]
    names = (_flag_name(field.name),) if kind is bool else ()  # without a --no- form
    option = typer.Option(*names, help=field.metadata["help"], metavar=field.metadata["metavar"])
    default = None if field.default == () else field.default
    annotation = cast(Any, Annotated)[kind, option]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _flag_type(annotation: Any) -> Any:
    """The type that typer needs for a field. A `Literal` is `str`, so that `SearchOptions` reports a wrong value."""
    if get_origin(annotation) is Literal:
        return str
    if get_origin(annotation) is Sequence:
        return list[str] | None
    return annotation


_TYPES = {name: _flag_type(annotation) for name, annotation in get_type_hints(SearchOptions).items()}


def _flag_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _join_names(names: Sequence[str]) -> str:
    """a, b and c"""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
