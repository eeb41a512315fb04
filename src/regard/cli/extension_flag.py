"""The option `--extension FILE.py` of every command. The files are run before the command starts."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.signature import parameters_of, set_parameters

Extension = Annotated[
    list[Path] | None,
    typer.Option(
        "--extension", metavar="FILE.py", help="Run this file of yours, which calls regard.extend; may be repeated."
    ),
]


def with_extensions(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The command with an `--extension` option. It loads the named files, then runs the command."""
    option = inspect.Parameter("extension", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Extension)

    @wraps(verb)
    def run(*, extension: list[Path] | None = None, **values: Any) -> Any:
        if extension:
            from regard.extensions import load_extension

            for path in extension:
                load_extension(path)
        return verb(**values)

    set_parameters(run, [*parameters_of(verb).values(), option])
    return run
