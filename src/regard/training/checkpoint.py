"""Checkpoints: a bundle plus the optimiser's tensors and a JSON state, written atomically.

A checkpoint is the directory `run/checkpoints/step-00001000/`. The files `run/latest` and `run/best` point to checkpoints.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from regard.bundle.adapter import Adapter
from regard.bundle.bundle import write_adapter, write_bundle
from regard.bundle.config import BundleSettings
from regard.bundle.locate import CHECKPOINTS, read_pointer, write_pointer
from regard.bundle.manifest import Manifest, open_manifest, write_manifest
from regard.bundle.opened import FOR_RESUMING, OPTIMISER_FILE, STATE_FILE, required_files
from regard.bundle.tensors import read_tensors, write_tensors
from regard.errors import BundleError, TrainError
from regard.files import remove_whole, to_json, whole_directory
from regard.settings import Record
from regard.training.progress import ProgressRecord

_NAME = re.compile(r"step-[0-9]{8,18}")


class CheckpointState(Record):
    """The JSON part of a checkpoint."""

    progress: ProgressRecord
    data: Any
    """The key of the prepared corpus."""
    threads: int
    workers: int = 1
    """Older checkpoints do not name them."""
    torch: str
    precision: Literal["float32", "bfloat16"] | None = None
    """Older checkpoints do not name it."""
    processor: str | None = None
    """The kind of processor, as `precision.processor` tells it."""
    muon: str | None = None
    """The form of Muon, `muon.FORM`. Older checkpoints do not name it."""
    base: str | None = None
    """With LoRA: the SHA-256 of the manifest of the base."""


def checkpoint_name(step: int) -> str:
    """The path of the checkpoint of a step, relative to the run."""
    return f"{CHECKPOINTS}/step-{step:08d}"


def require_run(run: Path) -> None:
    """Refuse to save into a run whose directory was removed while it was trained: its log and older checkpoints are gone."""
    if not run.is_dir():
        raise TrainError(f"{run}: the directory was removed while the run was trained; start the same command again")


def write_checkpoint(
    run: Path,
    name: str,
    *,
    weights: Mapping[str, Tensor],
    optimiser: Mapping[str, Tensor],
    state: Mapping[str, Any],
    config: BundleSettings,
    codecs: Any,
    adapter: Adapter | None = None,
) -> None:
    """Write a checkpoint to `run/name` and point `latest` to it. adapter: the weights are additions to those of its base."""
    require_run(run)
    with whole_directory(run / name) as staging:
        if adapter is None:
            write_bundle(staging, weights, config, codecs)
        else:
            write_adapter(staging, weights, adapter, config, codecs)
        write_tensors(staging / OPTIMISER_FILE, optimiser)
        (staging / STATE_FILE).write_text(to_json(dict(state)), encoding="utf-8")
        write_manifest(staging)
    write_pointer(run, "latest", name)


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    folder = run / CHECKPOINTS
    directories = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(directories, key=step_of)


def step_of(checkpoint: Path) -> int:
    """The step of a checkpoint, from its name."""
    return int(checkpoint.name.removeprefix("step-"))


def newest_valid(run: Path, codec_files: Sequence[str] = ()) -> tuple[str | None, list[str]]:
    """The newest undamaged checkpoint, and one message for each damaged one that is newer."""
    complaints = []
    for directory in reversed(checkpoints(run)):
        try:
            files = open_manifest(directory)
            files.verify((*required_files(files), *codec_files, *FOR_RESUMING))
        except BundleError as error:
            complaints.append(str(error))
            continue
        return f"{CHECKPOINTS}/{directory.name}", complaints
    return None, complaints


def read_state(files: Manifest) -> tuple[dict[str, Tensor], CheckpointState]:
    """The optimiser's tensors and the JSON state."""
    return read_tensors(files, OPTIMISER_FILE), files.read_record(STATE_FILE, CheckpointState)


def prune(run: Path, keep: int, save_every: int) -> None:
    """Delete all checkpoints but the newest `keep`, the best and the latest. Deletes nothing if a pointer is broken.

    Checkpoints of an interruption, between two multiples of `save_every`, are not among the `keep`: a resumed run keeps the same ones as
    an uninterrupted run. Checkpoints after the latest are damaged ones that a resumed run skipped and will overwrite; they stay.
    """
    try:
        best, latest = read_pointer(run, "best"), read_pointer(run, "latest")
    except BundleError:
        return
    up_to_latest = [
        directory for directory in checkpoints(run) if latest is not None and step_of(directory) <= step_of(latest)
    ]
    regular = [directory for directory in up_to_latest if step_of(directory) % save_every == 0]
    spared = {*regular[-keep:], best, latest}
    for directory in up_to_latest:
        if directory not in spared:
            remove_whole(directory)
