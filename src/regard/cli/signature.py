"""Gives a function the parameters that typer makes flags of. It knows no flag."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_type_hints


def parameters_of(command: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function or class by name, their annotations evaluated."""
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters.items()
    return {name: parameter.replace(annotation=hints[name]) for name, parameter in parameters}


def set_parameters(command: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> None:
    """Make these the parameters of a function that takes keywords, all of them keyword-only."""
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    command.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword_only}
