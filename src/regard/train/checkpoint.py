"""Checkpoints: a bundle plus the optimiser's tensors and a JSON state, whole or not there at all.

`run/checkpoints/step-00001000/`, with the pointer files `latest` and `best` beside `checkpoints`. The newest ones and the best are kept.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.bundle.bundle import write_bundle
from regard.bundle.config import BundleConfig
from regard.bundle.locate import CHECKPOINTS, read_pointer, write_pointer
from regard.bundle.manifest import verify_manifest, write_manifest
from regard.bundle.opened import REQUIRED
from regard.bundle.tensors import read_tensors, write_tensors
from regard.errors import BundleError
from regard.files import remove_whole, to_json, whole_directory
from regard.text.build import TokenizerPair

OPTIMISER_FILE = "optimiser.safetensors"
STATE_FILE = "state.json"
_NAME = re.compile(r"step-\d{8,}")


def checkpoint_name(step: int) -> str:
    """The checkpoint of a step, relative to the run."""
    return f"{CHECKPOINTS}/step-{step:08d}"


def write_checkpoint(
    run: Path,
    name: str,
    *,
    weights: Mapping[str, Tensor],
    optimiser: Mapping[str, Tensor],
    state: Mapping[str, Any],
    config: BundleConfig,
    tokenizers: TokenizerPair,
) -> None:
    """Write it under `name` and point `latest` to it."""
    with whole_directory(run / name) as staging:
        write_bundle(staging, weights, config, tokenizers)
        write_tensors(staging / OPTIMISER_FILE, optimiser)
        (staging / STATE_FILE).write_text(to_json(dict(state)), encoding="utf-8")
        write_manifest(staging)
    write_pointer(run, "latest", name)


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    folder = run / CHECKPOINTS
    found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(found, key=step_of)


def step_of(checkpoint: Path) -> int:
    """The step after which it was written."""
    return int(checkpoint.name.removeprefix("step-"))


def newest_valid(run: Path) -> tuple[str | None, list[str]]:
    """The newest checkpoint whose content is what was written, and one line on each that was passed over."""
    complaints = []
    for directory in reversed(checkpoints(run)):
        try:
            verify_manifest(directory, (*REQUIRED, OPTIMISER_FILE, STATE_FILE))
        except BundleError as error:
            complaints.append(str(error))
            continue
        return f"{CHECKPOINTS}/{directory.name}", complaints
    return None, complaints


def read_state(directory: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The optimiser's tensors and the JSON state."""
    state: dict[str, Any] = json.loads((directory / STATE_FILE).read_text(encoding="utf-8"))
    return read_tensors(directory / OPTIMISER_FILE), state


def prune(run: Path, keep: int, save_every: int) -> None:
    """Delete all but the newest `keep` checkpoints, the best and the latest; where a pointer leads nowhere, nothing.

    Those that an interruption wrote between two regular ones do not count, so that a resumed run keeps what an uninterrupted one does.
    Neither do those after the latest: a resumed run passed over them because they are damaged, and writes them anew in its time.
    """
    try:
        best, latest = read_pointer(run, "best"), read_pointer(run, "latest")
    except BundleError:
        return
    past = [directory for directory in checkpoints(run) if latest is not None and step_of(directory) <= step_of(latest)]
    regular = [directory for directory in past if step_of(directory) % save_every == 0]
    spared = {*regular[-keep:], best, latest}
    for directory in past:
        if directory not in spared:
            remove_whole(directory)
