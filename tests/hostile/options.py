"""Options that each verb really has, with values that are far too large, not numbers, or of no known name."""

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import typer

from hostile import draw
from hostile.verbs import Command, sound_commands

NUMBERS = (
    *("0", "-1", "1", "2", "7", "0.5", "1.5", "1e9", "1000000", "50000", "1000000000", "nan", "inf", "-inf", "1e-300"),
    *("1e308", "1e-9", "9" * 400, "9" * 5_000, "0x10", "1_0", "٣", ""),
)
UNHARMED = ("--extension", "--debug", "--help", "--out")  # what they name is the user's own
LEFT_OUT = ("demo", "resume", "init", "ls", "report", "push", "pull")
VERBS = tuple(verb for verb in sound_commands() if verb not in LEFT_OUT)


def option(rng: Random, directory: Path) -> Command:
    """A sound command with one to three of its options, of hostile values."""
    verb = rng.choice(VERBS)
    command = sound_commands()[verb]
    given = list(command.arguments)
    offered = parameters(verb)
    numeric = [parameter for parameter in offered if is_number(parameter)]
    chosen = numeric if len(numeric) > 1 and rng.random() < 0.7 else offered
    for parameter in rng.sample(chosen, min(len(chosen), rng.randint(1, 2))):
        for name in parameter.opts:
            while name in given:  # an option of one value is refused if it is there twice
                place = given.index(name)
                del given[place : place + 2]
        given += [parameter.opts[-1]] if parameter.is_flag else [parameter.opts[-1], value(rng, parameter)]
    return Command(tuple(given), stdin=b"le chat\tthe\n", escaped_output=command.escaped_output)


@cache
def parameters(verb: str) -> list[Any]:
    """The options of a verb."""
    from regard.cli.main import app

    command: Any = typer.main.get_command(app)
    for word in verb.split():
        command = command.commands[word]
    return [
        parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and not set(parameter.opts) & set(UNHARMED)
    ]


def is_number(parameter: Any) -> bool:
    annotation = str(parameter.type_descriptor.annotation)
    return "int" in annotation or "float" in annotation


def value(rng: Random, parameter: Any) -> str:
    """A hostile value for an option."""
    if is_number(parameter) and rng.random() < 0.9:
        return rng.choice(NUMBERS)
    return rng.choice([draw.text(rng)[:2_000], rng.choice(NUMBERS), "translator", "a.fr", "writer", "-", "/dev/zero"])
