"""File names, labels, languages and settings that would steer a terminal if they were shown as they are."""

import json
from pathlib import Path
from random import Random

from hostile import draw
from hostile.verbs import Command, sound_commands

HOSTILE = (draw.STEERING, draw.REORDERING, "\x9b2J\x85", "a\nregard: forged", "\t\r\x7f")


def name(rng: Random, directory: Path) -> Command:
    """A sound command over files, runs or values of hostile names."""
    text = rng.choice(HOSTILE)
    verb = rng.choice(sorted(sound_commands()))
    attack = rng.choice(["names", "values", "missing"])
    if attack == "names":
        return named(directory, text)[verb]
    if attack == "values":
        write_values(directory, text)
        return sound_commands()[verb]
    words = [f"{word}{text}" if rng.random() < 0.5 else word for word in sound_commands()[verb].arguments]
    return Command(tuple(words), escaped_output=True)


def named(directory: Path, text: str) -> dict[str, Command]:
    """Every sound command, over runs and files that have `text` in their names."""
    safe = text.replace("/", "")
    names = {kind: f"{kind}{safe}" for kind in ("translator", "writer", "classifier")}
    files = {"source": f"a{safe}.fr", "target": f"a{safe}.en", "text": f"a{safe}.txt", "labelled": f"a{safe}.tsv"}
    for kind, renamed in names.items():
        (directory / kind).rename(directory / renamed)
    for path, renamed in zip(("a.fr", "a.en", "a.txt", "a.tsv"), files.values(), strict=True):
        (directory / path).rename(directory / renamed)
    return sound_commands(**names, **files, out=f"out{safe}")


def write_values(directory: Path, text: str) -> None:
    """Put `text` into the values that commands show: settings, languages, labels, samples, notes."""
    for kind in ("translator", "writer", "classifier"):
        run = directory / kind
        [checkpoint] = (run / "checkpoints").iterdir()
        for path in (run / "metrics.json", checkpoint / "config.json", run / "config.json"):
            values = json.loads(path.read_text(encoding="utf-8"))
            for table in (values, values.get("data", {})):
                for key in table:
                    if key in ("languages", "labels", "notes"):
                        table[key] = _with(table[key], text)
                    elif key in ("set", "src_lang", "tgt_lang", "regard", "created", "src", "tgt"):
                        table[key] = text
            path.write_text(json.dumps(values), encoding="utf-8")
        draw.sign(checkpoint)
    for path in directory.glob("a.*"):
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("".join(f"{line} {text.replace(chr(10), ' ')}\n" for line in lines), encoding="utf-8")


def _with(value: object, text: str) -> object:
    if isinstance(value, dict):
        return dict.fromkeys(value, text)
    if isinstance(value, list):
        return [f"{part}{text}" for part in value]
    return text
