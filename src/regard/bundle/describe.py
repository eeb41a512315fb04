"""The description of a bundle for `regard info`: config, number of parameters, files and their state. It runs no network."""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.bundle.bundle import tensor_shapes
from regard.bundle.config import BundleSettings, parse_config
from regard.bundle.locate import find_bundle
from regard.bundle.manifest import MANIFEST, MEND, FileCheck, check_files, read_bundle_json
from regard.bundle.opened import FOR_RESUMING, REQUIRED, STATE_FILE, WEIGHTS
from regard.bundle.tensors import stored_shapes

HEADER = ("format", "regard", "created", "task", "languages")


def describe(path: str | Path, classes: Mapping[str, type[BundleSettings]]) -> dict[str, Any]:
    """The bundle as plain JSON values. `classes`: task -> the class of its config.

    `problems` holds one line for each file that is missing or damaged; empty: intact. A file that only resuming needs may be missing.

    A manifest or config that cannot be read leaves nothing to describe and is a `BundleError`.
    """
    directory = find_bundle(path)
    checks = check_files(directory)
    config, stored = parse_config(directory, classes)
    return {
        "directory": str(directory),
        "format": stored,
        "regard": config.regard,
        "created": config.created,
        "task": config.task,
        "languages": config.languages.model_dump(),
        "tokenizer": _tokenizer(directory),
        "parameters": _parameters(directory, config),
        **{name: value for name, value in config.model_dump(mode="json").items() if name not in HEADER},
        "training": _training(directory, checks),
        "files": [
            {"name": check.name, "bytes": check.size, "sha256": check.sha256, "state": check.state} for check in checks
        ],
        "problems": _problems(directory, checks, config),
    }


def _parameters(directory: Path, config: BundleSettings) -> dict[str, Any]:
    """The number of parameters, in total and by part; tied ones count once."""
    parts: Counter[str] = Counter()
    shapes = stored_shapes(directory / WEIGHTS) if config.counted else tensor_shapes(config)
    for name, shape in shapes.items():
        parts[name.split(".")[0]] += math.prod(shape)
    return {"total": parts.total(), "parts": dict(parts)}


def _tokenizer(directory: Path) -> dict[str, Any] | None:
    """The tokenizer's own settings."""
    path = directory / "tokenizer.json"
    return read_bundle_json(path) if path.is_file() else None


def _training(directory: Path, checks: list[FileCheck]) -> dict[str, Any] | None:
    """The progress of training: the counters and the plain values of `state.json`."""
    intact = any(check.name == STATE_FILE and check.state == "intact" for check in checks)
    if not intact:
        return None
    state = read_bundle_json(directory / STATE_FILE)
    plain = (str, int, float, bool, type(None))
    progress = state.get("progress")
    counters = progress if isinstance(progress, dict) else {}
    return {**counters, **{key: value for key, value in state.items() if isinstance(value, plain)}}


def _problems(directory: Path, checks: list[FileCheck], config: BundleSettings) -> list[str]:
    listed = {check.name for check in checks}
    unlisted = [
        f"{directory / name}: not listed in {MANIFEST}; the bundle is incomplete; {MEND}"
        for name in (*REQUIRED, *config.codec_files)
        if name not in listed
    ]
    left_out = {check.name for check in checks if check.state == "missing" and check.name in FOR_RESUMING}
    return [*unlisted, *(check.problem for check in checks if check.problem is not None and check.name not in left_out)]
