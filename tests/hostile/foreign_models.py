"""Models of other programs and zip files of bundles that were attacked."""

import json
import warnings
import zipfile
from pathlib import Path
from random import Random

from hostile import draw
from hostile.verbs import Command

NAMES = ("../outside/secret.txt", "/etc/passwd", "a/../../x", "C:\\x", "x" * 300, "manifest.json", "\x1b[2J")


def directory_of_another_program(rng: Random, directory: Path) -> Command:
    """A CTranslate2 directory with a file that was changed, exchanged or added."""
    model = directory / "ct2"
    path = rng.choice(sorted(model.iterdir()))
    attack = rng.choice(["json", "bytes", "bytes", "place", "added"])
    if attack == "json" and path.suffix == ".json":
        draw.write_text(path, draw.json_text(rng, json.loads(path.read_text(encoding="utf-8"))))
    elif attack == "place":
        draw.replace_file(rng, path)
    elif attack == "added":
        config = {
            "model_type": rng.choice(["marian", "t5", "llama", draw.text(rng)]),
            "auto_map": {"AutoModel": "evil.Model"},
        }
        draw.write_text(model / "config.json", draw.json_text(rng, config))
        (model / "evil.py").write_text("open('../outside/secret.txt', 'w')\n", encoding="utf-8")
    else:
        draw.damage_bytes(rng, path)
    return Command(("import", "ct2", "out"))


def zip_file(rng: Random, directory: Path) -> Command:
    """A zip file of a bundle with damaged bytes, or with entries that lead away."""
    path = directory / "model.zip"
    attack = rng.choice(["bytes", "bytes", "entry", "place"])
    if attack == "bytes":
        draw.damage_bytes(rng, path)
    elif attack == "entry":
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a name that is there already
            entry = zipfile.ZipInfo(rng.choice(NAMES))
            if rng.random() < 0.3:
                entry.external_attr = 0o120777 << 16  # a symbolic link
            archive.writestr(entry, rng.choice([b"../outside/secret.txt", b"\0" * 10_000_000]))
    else:
        draw.replace_file(rng, path)
    return rng.choice(
        [
            Command(("translate", "model.zip", "-i", "a.fr", "--max-length", "3")),
            Command(("info", "model.zip"), escaped_output=True),
            Command(("import", "model.zip", "out")),
        ]
    )


def export(rng: Random, directory: Path) -> Command:
    """An export of a damaged or unsuitable bundle, or to a place where something is."""
    run = rng.choice(["translator", "translator", "writer", "classifier", "captioner", "forecaster"])
    if rng.random() < 0.5:
        [checkpoint, *_] = sorted((directory / run / "checkpoints").iterdir(), reverse=True)
        draw.damage_bytes(rng, rng.choice(sorted(path for path in checkpoint.iterdir() if path.is_file())))
    out = rng.choice(["out", "out", "a.fr", "translator", draw.text(rng)[:200]])
    form = rng.choice(["hf", "ct2", "argos", "safetensors", "zip", "onnx", draw.text(rng)[:50]])
    return Command(("export", run, out, "--to", form, "--src-lang", "fr", "--tgt-lang", "en"))
