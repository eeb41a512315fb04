"""The option `--extension FILE.py` of every command. The files are run before the command starts."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

Extension = Annotated[
    list[Path] | None,
    typer.Option(
        "--extension", metavar="FILE.py", help="Run this file of yours, which calls regard.extend; may be repeated."
    ),
]


def with_extensions(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The command with an `--extension` option. It loads the named files, then runs the command."""
    hints = get_type_hints(verb, include_extras=True)
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(verb).parameters.items()
    ]
    option = inspect.Parameter("extension", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Extension)

    @wraps(verb)
    def run(*, extension: list[Path] | None = None, **values: Any) -> Any:
        if extension:
            from regard.extensions import load_extension

            for path in extension:
                load_extension(path)
        return verb(**values)

    run.__signature__ = inspect.Signature([*parameters, option])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in [*parameters, option]}
    return run
