"""What `regard info` tells of a bundle: its config, its size, its files and whether they are intact. It runs nothing."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

from regard.bundle.bundle import tensor_shapes
from regard.bundle.config import BundleConfig, read_config
from regard.bundle.locate import find_bundle
from regard.bundle.manifest import MANIFEST, MEND, FileCheck, check_files, read_json
from regard.bundle.opened import REQUIRED, WEIGHTS
from regard.bundle.tensors import stored_shapes
from regard.models.config import MarkovConfig

STATE = "state.json"


def describe(path: str | Path) -> dict[str, Any]:
    """All of it as plain JSON values. `problems` holds one line for each file that is missing or damaged; empty: intact.

    A manifest or config that cannot be read leaves nothing to describe and is a `BundleError`.
    """
    directory = find_bundle(path)
    checks = check_files(directory)
    config = read_config(directory)
    return {
        "directory": str(directory),
        "format": config.format,
        "regard": config.regard,
        "created": config.created,
        "task": config.task,
        "languages": config.languages.model_dump(),
        "vocabulary": config.vocabulary.model_dump(),
        "tokenizer": _tokenizer(directory),
        "model": config.model.model_dump(),
        "alignment": None if config.alignment is None else config.alignment.model_dump(),
        "parameters": _parameters(directory, config),
        "texts": None if config.texts is None else config.texts.model_dump(),
        "labels": list(config.labels),
        "labels_of": config.labels_of,
        "training": _training(directory, checks),
        "files": [
            {"name": check.name, "bytes": check.size, "sha256": check.sha256, "state": check.state} for check in checks
        ],
        "problems": _problems(directory, checks),
    }


def _parameters(directory: Path, config: BundleConfig) -> dict[str, Any]:
    """How many numbers the network holds: in all and in each of its parts, what is tied counted once."""
    parts: Counter[str] = Counter()
    counted = isinstance(config.model, MarkovConfig)
    shapes = stored_shapes(directory / WEIGHTS) if counted else tensor_shapes(config)
    for name, shape in shapes.items():
        parts[name.split(".")[0]] += math.prod(shape)
    return {"total": parts.total(), "parts": dict(parts)}


def _tokenizer(directory: Path) -> dict[str, Any] | None:
    """The tokenizer's own settings."""
    path = directory / "tokenizer.json"
    return read_json(path) if path.is_file() else None


def _training(directory: Path, checks: list[FileCheck]) -> dict[str, Any] | None:
    """Where training stood: the counters and the plain values of `state.json`."""
    intact = any(check.name == STATE and check.state == "intact" for check in checks)
    if not intact:
        return None
    state = read_json(directory / STATE)
    plain = (str, int, float, bool, type(None))
    progress = state.get("progress")
    counters = progress if isinstance(progress, dict) else {}
    return {**counters, **{key: value for key, value in state.items() if isinstance(value, plain)}}


def _problems(directory: Path, checks: list[FileCheck]) -> list[str]:
    listed = {check.name for check in checks}
    unlisted = [
        f"{directory / name}: not listed in {MANIFEST}; the bundle is incomplete; {MEND}"
        for name in REQUIRED
        if name not in listed
    ]
    return [*unlisted, *(check.problem for check in checks if check.problem is not None)]
