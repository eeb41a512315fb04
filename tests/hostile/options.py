"""Options of commands with values that are far too large, not numbers, or of no known name."""

from pathlib import Path
from random import Random

from hostile import draw
from hostile.verbs import Command, sound_commands

NUMBERS = (
    *("--beam", "--alpha", "--nbest", "--max-length", "--min-length", "--mbr", "--groups", "--temperature", "--top-k"),
    *(
        "--top-p",
        "--seed",
        "--coverage",
        "--no-repeat-ngram",
        "--resamples",
        "--samples",
        "--minutes",
        "--jobs",
        "--seeds",
    ),
)
WORDS = ("--engine", "--precision", "--device", "--align-method", "--method", "--metric", "--tokenize", "--format")
VALUES = (
    "0",
    "-1",
    "1e9",
    "1000000",
    "50000",
    "nan",
    "inf",
    "1e-300",
    "1e308",
    "9" * 400,
    "9" * 5_000,
    "0x10",
    "",
    "1_0",
)
VERBS = ("translate", "generate", "classify", "score", "align", "evaluate", "explain", "compare", "sweep", "train")


def option(rng: Random, directory: Path) -> Command:
    """A sound command with one or two options of hostile values."""
    command = sound_commands()[rng.choice(VERBS)]
    words = list(command.arguments)
    for _ in range(rng.randint(1, 2)):
        if rng.random() < 0.7:
            words += [rng.choice(NUMBERS), rng.choice(VALUES)]
        else:
            words += [
                rng.choice([*WORDS, "--set", "--out", "--extension", "-i"]),
                draw.text(rng).replace("\x00", "")[:2_000],
            ]
    return Command(tuple(words), escaped_output=command.escaped_output)
