"""`best` and `latest` that lead elsewhere, wait for ever, or are no pointers at all."""

import os
from pathlib import Path
from random import Random

from hostile import draw
from hostile.verbs import Command, sound_commands

READERS = ("translate", "resume", "score", "align", "evaluate", "explain", "probe", "ls", "info", "report", "compare")


def pointer(rng: Random, directory: Path) -> Command:
    """A run whose pointers, lock, log or config are something else than they should be."""
    run = directory / "translator"
    name = rng.choice(["best", "latest", "best", "latest", ".lock", "log.jsonl", "config.json", "metrics.json"])
    attack = rng.choice(["text", "file", "run", "link"])
    if attack == "text":
        draw.write_text(run / name, rng.choice([draw.text(rng), "checkpoints", "../outside", "checkpoints/../..", "/"]))
    elif attack == "file":
        draw.replace_file(rng, run / name)
    elif attack == "run":
        (run / "checkpoints").rename(directory / "elsewhere")
        (run / "checkpoints").symlink_to(
            rng.choice(["../elsewhere", "../../outside", "/dev", "checkpoints", "/proc/self"])
        )
    else:
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(os.path.relpath(directory / draw.OUTSIDE / "secret.txt", run))
    if rng.random() < 0.3:
        (run / "metrics.json").unlink(missing_ok=True)  # it is not finished
    return sound_commands()[rng.choice(READERS)]
