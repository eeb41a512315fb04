"""Signals at random moments of a command. `test_faults.py` has those at each phase."""

import signal
from pathlib import Path
from random import Random

from hostile.verbs import Command, sound_commands


def interrupted(rng: Random, directory: Path) -> Command:
    """A sound command that is interrupted or terminated after a random time."""
    verb = rng.choice(["train", "translate", "classify", "generate", "evaluate", "explain", "score", "resume"])
    command = sound_commands()[verb]
    number = rng.choice([signal.SIGINT, signal.SIGTERM])
    times = [rng.uniform(0.0, 0.6) for _ in range(rng.choice([1, 1, 2]))]
    return Command(command.arguments, signals=tuple((moment, int(number)) for moment in sorted(times)))
