"""The option `--debug` of every command: if the command fails, it prints the traceback before the message."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from regard.cli.signature import parameters_of, set_parameters

DEBUG = "--debug"
HINT = f"{DEBUG} shows the traceback"

Debug = Annotated[bool, typer.Option(DEBUG, help="Show the traceback of a failure.")]

_debugging = False  # of the running command


def debugging() -> bool:
    """Whether the running command was given `--debug`."""
    return _debugging


def set_debugging(debug: bool) -> None:
    """Begin a command, with `--debug` or without."""
    global _debugging
    _debugging = debug


def with_debug(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The command with a `--debug` option."""
    option = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)

    @wraps(verb)
    def run(*, debug: bool = False, **values: Any) -> Any:
        set_debugging(debug)
        return verb(**values)

    set_parameters(run, [*parameters_of(verb).values(), option])
    return run
