"""Makes the `TrainingJob` of a run: new, fine-tuned from a base model, or resumed from the newest undamaged checkpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.bundle.bundle import check_tensors, read_network, tensor_shapes
from regard.bundle.locate import CHECKPOINTS, write_pointer
from regard.bundle.manifest import verify_manifest
from regard.bundle.opened import REQUIRED, WEIGHTS, OpenBundle
from regard.bundle.tensors import read_tensors
from regard.errors import BundleError, TrainError
from regard.files import remove_leftovers
from regard.training.average import MovingAverage
from regard.training.checkpoint import checkpoint_name, newest_valid, prune, read_state
from regard.training.config import RunSettings
from regard.training.forked import share_weights, team_size
from regard.training.log import cut_back
from regard.training.loop import TrainingJob
from regard.training.objective import Trained
from regard.training.optimizer import Optimizer
from regard.training.progress import Progress


def resumed_job(
    settings: RunSettings,
    out: Path,
    objective: Trained,
    device: torch.device,
    base: OpenBundle | None = None,
    remarks: Sequence[str] = (),
) -> tuple[TrainingJob, tuple[str, ...]]:
    """The job, and notes for the user. It resumes the newest undamaged checkpoint; else it starts from `base`, or from new weights.

    remarks: notes on `base` and on the data, added if the run starts now.
    """
    remove_leftovers(out)
    remove_leftovers(out / CHECKPOINTS)
    name, complaints = newest_valid(out, objective.bundle.codec_files)
    if name is None and complaints:
        raise TrainError(
            f"{out}: no checkpoint can be used ({'; '.join(complaints)}); restore one or choose another --out"
        )
    torch.manual_seed(settings.train.seed)
    network = objective.bundle.network()
    if base is None:
        objective.begin(network)
    elif name is None:
        network.load_state_dict(read_network(base).state_dict())
    if name is None:
        complaints += remarks
    network.to(device)
    workers = team_size(device)
    if workers > 1:
        share_weights(network)
    average = MovingAverage(network, settings.train.ema) if settings.train.ema else None
    job = TrainingJob(
        settings=settings,
        run=out,
        objective=objective,
        network=network,
        optimizer=Optimizer(network, settings.train, workers),
        average=average,
        progress=Progress(),
        device=device,
        workers=workers,
    )
    if name is not None:
        complaints += _restore(job, name)
    cut_back(out / "log.jsonl", job.progress.step)
    return job, tuple(complaints)


def _restore(job: TrainingJob, name: str) -> list[str]:
    """Restore the job from a checkpoint. Returns notes for the user."""
    directory = job.run / name
    memory, state = read_state(directory)
    if state["data"] != job.objective.key:
        raise TrainError(
            f"{job.run}: the content of the data files has changed since this run was started; "
            "restore them to resume it, or choose another --out"
        )
    weights = _weights(job, directory)
    raw = {key.removeprefix("weights/"): memory.pop(key) for key in list(memory) if key.startswith("weights/")}
    if job.average is not None:
        job.average.restore(weights)
    job.network.load_state_dict(raw or weights)
    job.optimizer.restore(memory)
    job.progress = Progress.from_json(state["progress"])
    write_pointer(job.run, "latest", name)
    lost = _point_at_best(job, name)
    if not lost:  # after an interruption between save and prune; damaged checkpoints stay, for inspection
        prune(job.run, job.settings.train.keep, job.settings.train.save_every)
    return [*lost, *_other_machine(state, job.workers)]


def _weights(job: TrainingJob, directory: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint, with all names of the network's state: the file has tied weights only once."""
    network = job.network
    before = {name: value.clone() for name, value in network.state_dict().items()}
    tensors = read_tensors(directory / WEIGHTS)
    check_tensors(directory / WEIGHTS, tensors, tensor_shapes(job.objective.bundle))
    network.load_state_dict(tensors, strict=False)
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(before)
    return weights


def _point_at_best(job: TrainingJob, name: str) -> list[str]:
    """Point `best` to the best checkpoint of this step. If it is damaged or missing, the next validation counts as the best."""
    progress = job.progress
    if progress.best_step == 0:  # no validation yet: `best` can only name a later checkpoint, which is damaged
        (job.run / "best").unlink(missing_ok=True)
        return []
    try:
        verify_manifest(job.run / checkpoint_name(progress.best_step), (*REQUIRED, *job.objective.bundle.codec_files))
    except BundleError as error:
        progress.best, progress.best_step, progress.validations_without_improvement = None, progress.step, 0
        write_pointer(job.run, "best", name)
        return [f"{error}; it was the best so far, and the next validation decides anew"]
    write_pointer(job.run, "best", checkpoint_name(progress.best_step))
    return []


def _other_machine(state: dict[str, Any], workers: int) -> list[str]:
    """Notes on differences of machine and versions that keep the run from repeating an uninterrupted one."""
    before = {"workers": 1, **state}  # older checkpoints do not name the workers
    effect = {"workers": "dropout draws other units, so the run takes another course"}
    now = {"threads": torch.get_num_threads(), "workers": workers, "torch": torch.__version__}
    return [
        f"resumed with {what} {value}, started with {before[what]}: {effect.get(what, 'results may differ in the last bits')}"
        for what, value in now.items()
        if before[what] != value
    ]
