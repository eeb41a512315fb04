"""A run's state in memory: a fresh network, or what the newest whole checkpoint holds."""

from pathlib import Path
from typing import Any

import torch

from regard.bundle.bundle import load_bundle, new_network, read_network
from regard.bundle.locate import CHECKPOINTS, write_pointer
from regard.bundle.manifest import verify_manifest
from regard.bundle.opened import REQUIRED, OpenBundle
from regard.errors import BundleError, TrainError
from regard.files import remove_leftovers
from regard.train.average import MovingAverage
from regard.train.checkpoint import checkpoint_name, newest_valid, prune, read_state
from regard.train.config import RunConfig
from regard.train.log import cut_back
from regard.train.loop import Job
from regard.train.objective import Objective
from regard.train.optimizer import Optimizer
from regard.train.progress import Progress
from regard.train.start import remarks
from regard.train.team import share_weights, team_size


def resumed_job(
    config: RunConfig, out: Path, objective: Objective, device: torch.device, base: OpenBundle | None = None
) -> tuple[Job, tuple[str, ...]]:
    """A fresh network, or that of `base`, or that of the newest checkpoint that is whole."""
    remove_leftovers(out)
    remove_leftovers(out / CHECKPOINTS)
    name, complaints = newest_valid(out)
    if name is None and complaints:
        raise TrainError(
            f"{out}: no checkpoint can be used ({'; '.join(complaints)}); restore one or choose another --out"
        )
    torch.manual_seed(config.train.seed)
    network = new_network(objective.bundle)
    if base is None:
        objective.begin(network)
    elif name is None:
        network.load_state_dict(read_network(base).state_dict())
        complaints += remarks(config, objective.bundle, base)
    network.to(device)
    workers = team_size(device)
    if workers > 1:
        share_weights(network)
    average = MovingAverage(network, config.train.ema) if config.train.ema else None
    job = Job(
        config=config,
        run=out,
        objective=objective,
        network=network,
        optimizer=Optimizer(network, config.train, workers),
        average=average,
        progress=Progress(),
        device=device,
        workers=workers,
    )
    if name is not None:
        complaints += _restore(job, name)
    cut_back(out / "log.jsonl", job.progress.step)
    return job, tuple(complaints)


def _restore(job: Job, name: str) -> list[str]:
    """Put the job where the checkpoint was; returns what the user should know."""
    directory = job.run / name
    memory, state = read_state(directory)
    if state["data"] != job.objective.key:
        raise TrainError(
            f"{job.run}: the content of the data files has changed since this run was started; "
            "restore them to resume it, or choose another --out"
        )
    weights = load_bundle(directory, device=str(job.device), verify=False).model.state_dict()
    raw = {key.removeprefix("weights/"): memory.pop(key) for key in list(memory) if key.startswith("weights/")}
    if job.average is not None:
        job.average.restore(weights)
    job.network.load_state_dict(raw or weights)
    job.optimizer.restore(memory)
    job.progress = Progress.from_json(state["progress"])
    write_pointer(job.run, "latest", name)
    lost = _point_at_best(job, name)
    if not lost:  # an interruption may have come between a save and this; what is damaged can still be looked at
        prune(job.run, job.config.train.keep, job.config.train.save_every)
    return [*lost, *_other_machine(state, job.workers)]


def _point_at_best(job: Job, name: str) -> list[str]:
    """Let `best` name what was the best at this step; where that is damaged or gone, the next validation shall find a new one."""
    progress = job.progress
    if progress.best_step == 0:  # no validation yet; what `best` may name came later and is damaged
        (job.run / "best").unlink(missing_ok=True)
        return []
    try:
        verify_manifest(job.run / checkpoint_name(progress.best_step), REQUIRED)
    except BundleError as error:
        progress.best, progress.best_step, progress.stale = None, progress.step, 0
        write_pointer(job.run, "best", name)
        return [f"{error}; it was the best so far, and the next validation decides anew"]
    write_pointer(job.run, "best", checkpoint_name(progress.best_step))
    return []


def _other_machine(state: dict[str, Any], workers: int) -> list[str]:
    """What makes the run differ from an uninterrupted one, if anything does."""
    before = {"workers": 1, **state}  # where there was no team, there was one
    effect = {"workers": "dropout draws other units, so the run takes another course"}
    now = {"threads": torch.get_num_threads(), "workers": workers, "torch": torch.__version__}
    return [
        f"resumed with {what} {value}, started with {before[what]}: {effect.get(what, 'results may differ in the last bits')}"
        for what, value in now.items()
        if before[what] != value
    ]
