"""Standard streams that are closed, full or go away, and disks that are full."""

from dataclasses import replace
from pathlib import Path
from random import Random

from hostile.verbs import CLOSED, FULL, Command, sound_commands

READERS = (
    ("translate", "translator"),
    ("classify", "classifier"),
    ("generate", "writer", "-", "--max-length", "3"),
    ("score", "writer", "--text", "-"),
    ("score", "translator", "--src", "-", "--tgt", "a.en"),
    ("align", "translator", "--src", "-", "--tgt", "a.en"),
    ("evaluate", "translator", "--src", "-", "--ref", "a.en"),
    ("evaluate", "--hyp", "-", "--ref", "a.en"),
    ("data", "check", "--pairs", "-"),
    ("train", "--pairs", "-", "--out", "out"),
    ("train", "--src", "-", "--tgt", "a.en", "--out", "out"),
    ("train", "--task", "generate", "--text", "-", "--out", "out"),
    ("train", "--task", "classify", "--data", "-", "--out", "out"),
)
"""Commands that read standard input."""


def stream(rng: Random, directory: Path) -> Command:
    """A sound command with a stream or a disk that fails it."""
    fault = rng.choice(["stdin", "stdout", "stderr", "help", "disk"])
    if fault == "stdin":
        return Command(rng.choice(READERS), stdin=None)
    if fault == "help":
        words = rng.choice([("--help",), ("--version",), ("translate", "--help"), ("data", "--help")])
        return Command(words, stdout=rng.choice([CLOSED, FULL]), stderr=rng.choice([None, CLOSED, FULL]))
    verb = rng.choice(sorted(sound_commands()))
    command = sound_commands()[verb]
    if fault == "disk":
        more = ("-o", "answers") if verb in ("translate", "classify", "evaluate") else ()
        return replace(command, arguments=(*command.arguments, *more), file_size=rng.choice([4096, 20_000]))
    return replace(command, **{fault: rng.choice([CLOSED, FULL])})
