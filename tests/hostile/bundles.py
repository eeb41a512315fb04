"""Bundles and runs whose JSON files, manifests and tokenizers were attacked, most with a manifest that is correct."""

import json
import shutil
from pathlib import Path
from random import Random

from hostile import draw
from hostile.verbs import Command, sound_commands

KINDS = {
    "translator": ("translate", "score", "align", "evaluate", "explain", "probe", "info", "resume"),
    "writer": ("generate", "info"),
    "classifier": ("classify", "info"),
}
RUN_FILES = ("config.json", "metrics.json", "log.jsonl", "translations.jsonl")
RUN_READERS = ("compare", "ls", "info", "report", "resume", "sweep")


def choose(rng: Random, directory: Path) -> tuple[Path, Command]:
    """The checkpoint of a run, and a command that reads it."""
    kind = rng.choice(list(KINDS))
    [checkpoint] = (directory / kind / "checkpoints").iterdir()
    verb = rng.choice(KINDS[kind])
    if verb == "resume":
        (directory / kind / "metrics.json").unlink()  # it is not finished
    return checkpoint, sound_commands()[verb]


def bundle(rng: Random, directory: Path) -> Command:
    """A file of a bundle, changed; the manifest is correct."""
    checkpoint, command = choose(rng, directory)
    files = sorted(path for path in checkpoint.iterdir() if path.name != "manifest.json")
    path = rng.choice(files)
    if path.suffix == ".json" and rng.random() < 0.8:
        draw.write_text(path, draw.json_text(rng, json.loads(path.read_text(encoding="utf-8"))))
    elif rng.random() < 0.5:
        draw.damage_bytes(rng, path)
    else:
        draw.replace_file(rng, path)
        if path.is_symlink() or not path.is_file() or path.stat().st_size > 1 << 30:
            return command  # hashing it would take as long for the attacker
    draw.sign(checkpoint)
    return command


def adapter(rng: Random, directory: Path) -> Command:
    """A file of an adapter bundle, changed, or its base; the manifest is correct."""
    run = directory / "adapter"
    checkpoint = run / (run / "best").read_text(encoding="utf-8").strip()
    path = checkpoint / rng.choice(["adapter.json", "adapter.json", "adapter.safetensors", "config.json"])
    if path.suffix == ".json" and rng.random() < 0.8:
        draw.write_text(path, draw.json_text(rng, json.loads(path.read_text(encoding="utf-8"))))
    elif rng.random() < 0.7:
        draw.damage_bytes(rng, path)
    else:
        shutil.rmtree(directory / "translator")
    draw.sign(checkpoint)
    verb = rng.choice(("translate", "evaluate", "score", "explain", "export", "info"))
    return rng.choice([sound_commands(translator="adapter")[verb], sound_commands()["merge"]])


def manifest(rng: Random, directory: Path) -> Command:
    """A manifest that is something else."""
    checkpoint, command = choose(rng, directory)
    path = checkpoint / "manifest.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    if rng.random() < 0.25:
        draw.replace_file(rng, path)
        return command
    if rng.random() < 0.6:
        from regard.bundle.manifest import _digest

        changed = draw.mutated(rng, {name: part for name, part in values.items() if name != "sha256"})
        if isinstance(changed, dict):
            changed = {**changed, "sha256": _digest(changed)}
        draw.write_text(path, json.dumps(changed))
    else:
        draw.write_text(path, draw.json_text(rng, values))
    return command


def run(rng: Random, directory: Path) -> Command:
    """A file of a run, beside its checkpoints, changed."""
    path = directory / "translator" / rng.choice(RUN_FILES)
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        draw.write_text(path, draw.json_text(rng, json.loads(content)))
    elif rng.random() < 0.7:
        lines = content.splitlines()
        place = rng.randrange(len(lines))
        lines[place] = draw.json_text(rng, json.loads(lines[place]))
        draw.write_text(path, "\n".join(lines) + rng.choice(["", "\n"]))
    else:
        draw.damage_bytes(rng, path)
    if rng.random() < 0.3:
        draw.write_text(directory / "sweep.json", draw.json_text(rng, {"cells": ["translator", "out"]}))
    verb = rng.choice(RUN_READERS)
    if verb == "sweep":
        return Command(("compare", ".", "--resamples", "5"), escaped_output=True)
    return sound_commands()[verb]


def protobuf(rng: Random, directory: Path) -> Command:
    """A sentencepiece model that was attacked; the manifest is correct."""
    [checkpoint] = (directory / "translator" / "checkpoints").iterdir()
    model = checkpoint / "joint.spm"
    content = model.read_bytes()
    attack = rng.choice(["damage", "damage", "other", "length", "field", "empty"])
    if attack == "damage":
        draw.damage_bytes(rng, model)
    elif attack == "other":
        model.write_bytes(rng.randbytes(rng.choice([1, 100, 10_000])))
    elif attack == "length":  # a piece that claims to be longer than the file
        model.write_bytes(b"\x0a\xff\xff\xff\xff\x0f" + content)
    elif attack == "field":  # further pieces and fields at the end
        model.write_bytes(
            content + rng.choice([b"\x0a\x04\x0a\x02\xff\xfe", b"\x0a\x00" * 50, b"\x12\x02\x18\x7f", b"\x7b"])
        )
    else:
        model.write_bytes(b"")
    draw.sign(checkpoint)
    return sound_commands()[rng.choice(KINDS["translator"][:-1])]
