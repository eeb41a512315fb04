"""Makes the `TrainingJob` of a run: new, fine-tuned from a base model, or resumed from the newest undamaged checkpoint."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.bundle.bundle import read_network
from regard.bundle.locate import CHECKPOINTS, write_pointer
from regard.bundle.manifest import Manifest, open_manifest
from regard.bundle.opened import FOR_RESUMING, OPTIMISER_FILE, OpenBundle, required_files
from regard.bundle.tensors import tensors_of
from regard.bundle.weights import read_weights_file
from regard.errors import BundleError, TrainError
from regard.files import remove_leftovers
from regard.training.average import MovingAverage
from regard.training.checkpoint import CheckpointState, checkpoint_name, newest_valid, prune, read_state
from regard.training.config import RunSettings
from regard.training.forked import share_weights, team_size
from regard.training.freezing import freeze, note_on_frozen
from regard.training.log import cut_back
from regard.training.loop import TrainingJob
from regard.training.lora import LowRank
from regard.training.lora_saving import restore_low_rank, trained_weights
from regard.training.muon import FIRST_FORM, FORM
from regard.training.objective import StartingWeights, Trained
from regard.training.optimizer import Optimizer
from regard.training.precision import (
    BFLOAT16,
    Precision,
    check_possible,
    choose_precision,
    emulation_warning,
    processor,
)
from regard.training.progress import Progress, note_on_few_steps


def resumed_job(
    settings: RunSettings,
    out: Path,
    objective: Trained,
    device: torch.device,
    base: OpenBundle | None = None,
    remarks: Sequence[str] = (),
    transfer: StartingWeights | None = None,
) -> tuple[TrainingJob, tuple[str, ...]]:
    """The job, and notes for the user. It resumes the newest undamaged checkpoint; else it starts from `base`, or from new weights.

    remarks: notes for the user on the data and on `base`, added if the run starts now; transfer: what is taken of a base that is not
    taken over as it is.
    """
    remove_leftovers(out)
    remove_leftovers(out / CHECKPOINTS)
    name, complaints = newest_valid(out, objective.bundle.codec_files)
    if name is None and complaints:
        raise TrainError(
            f"{out}: no checkpoint can be resumed ({'; '.join(complaints)}); restore one or choose another --out, "
            "with --start to train a model further that lacks only its optimiser"
        )
    torch.manual_seed(settings.train.seed)
    network = objective.bundle.network()
    if base is None or transfer is not None:
        objective.begin(network)
    filled = name is None or settings.train.lora is not None  # A and B are beside the weights that a run starts with
    if filled and transfer is not None:
        transfer.fill(network)
    elif filled and base is not None:
        network.load_state_dict(read_network(base).state_dict())
    freeze(network, settings.train.freeze)
    if name is None:
        complaints += remarks
    if name is None and (frozen := note_on_frozen(network)) is not None:
        complaints.append(frozen)
    if name is None and (note := note_on_few_steps(settings.train, objective.examples)) is not None:
        complaints.append(note)
    network.to(device)
    low_rank = None
    if settings.train.lora is not None:
        fresh = () if transfer is None else transfer.fresh
        low_rank = LowRank(network, settings.train.lora, settings.train.seed, fresh)
        if name is None:
            complaints.append(_lora_note(network, low_rank))
    trained = network if low_rank is None else low_rank
    workers = team_size(device)
    if workers > 1:
        share_weights(trained)
    average = MovingAverage(trained, settings.train.ema) if settings.train.ema else None
    job = TrainingJob(
        settings=settings,
        run=out,
        objective=objective,
        network=network,
        optimizer=Optimizer(trained, settings.train, workers),
        average=average,
        progress=Progress(),
        device=device,
        workers=workers,
        precision=Precision("float32"),
        low_rank=low_rank,
        base=base,
        validates_base=base is not None and (transfer is None or transfer.whole),
    )
    if name is not None:
        complaints += _restore(job, name)
    else:
        job.precision = choose_precision(settings.train.precision, network, device)
    if job.precision.name == BFLOAT16:
        job.optimizer.multiply_in(torch.bfloat16)
    if job.precision.warning is not None:
        complaints.append(job.precision.warning)
    cut_back(out / "log.jsonl", -1 if name is None else job.progress.step)  # without a checkpoint it starts again
    return job, tuple(complaints)


def _restore(job: TrainingJob, name: str) -> list[str]:
    """Restore the job from a checkpoint. Returns notes for the user."""
    files = open_manifest(job.run / name)
    memory, state = read_state(files)
    if state.data != job.objective.key:
        raise TrainError(
            f"{job.run}: the content of the data files has changed since this run was started; "
            "restore them to resume it, or choose another --out"
        )
    if job.low_rank is not None:
        _refuse_another_base(job, state)
        memory = restore_low_rank(job.low_rank, job.average, memory, files.directory / OPTIMISER_FILE)
        job.low_rank.merge()
    else:
        _restore_weights(job, files, memory)
    job.optimizer.restore(memory)
    job.progress = Progress.from_record(state.progress)
    write_pointer(job.run, "latest", name)
    job.precision = _begun_precision(job, state)
    lost = _point_at_best(job, name)
    if not lost:  # after an interruption between save and prune; damaged checkpoints stay, for inspection
        prune(job.run, job.settings.train.keep, job.settings.train.save_every)
    return [*lost, *_other_machine(state, job)]


def _restore_weights(job: TrainingJob, files: Manifest, memory: dict[str, Tensor]) -> None:
    """Restore the weights of the network, and their average. Takes them out of `memory`."""
    weights = _weights(job, files)
    raw = {key.removeprefix("weights/"): memory.pop(key) for key in list(memory) if key.startswith("weights/")}
    _check_raw(files.directory / OPTIMISER_FILE, raw, weights)
    if job.average is not None:
        job.average.restore(weights)
    job.network.load_state_dict(raw or weights)


def _lora_note(network: nn.Module, low_rank: LowRank) -> str:
    trained, all_weights = trained_weights(low_rank), trained_weights(network)
    return (
        f"LoRA: {trained:,} weights are trained beside {all_weights:,} of the base, {100 * trained / all_weights:.2f} %"
    )


def _refuse_another_base(job: TrainingJob, state: CheckpointState) -> None:
    """Refuse to add what was trained to other weights than it was trained beside."""
    if job.base is not None and state.base != job.base.files.identity:
        raise TrainError(
            f"{job.run}: train.start = {job.settings.train.start!r} is another model than when this run was started; "
            "restore it to resume the run, or choose another --out"
        )


def _begun_precision(job: TrainingJob, state: CheckpointState) -> Precision:
    """The precision in which the run began. Checkpoints without one were trained in float32, on CUDA in bfloat16."""
    began = state.precision or ("bfloat16" if job.device.type == "cuda" else "float32")
    if began == "float32":
        return Precision(began)
    check_possible(job.network, job.device)
    return Precision(began, warning=emulation_warning(job.network, job.device))


def _weights(job: TrainingJob, files: Manifest) -> dict[str, Tensor]:
    """The weights of a checkpoint, with all names of the network's state: the file has tied weights only once."""
    network = job.network
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(tensors_of(*read_weights_file(files, job.objective.bundle)), strict=False)
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(before)
    return weights


def _check_raw(path: Path, raw: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Refuse the weights beside an average whose names or shapes are not those of the network."""
    shapes = {name: weight.shape for name, weight in weights.items()}
    if raw and {name: weight.shape for name, weight in raw.items()} != shapes:
        wrong = sorted(
            name for name in raw.keys() | shapes.keys() if name not in raw or raw[name].shape != shapes.get(name)
        )
        raise TrainError(f"{path}: weights/{wrong[0]} does not fit the network; restore it or use another checkpoint")


def _point_at_best(job: TrainingJob, name: str) -> list[str]:
    """Point `best` to the best checkpoint of this step. If it is damaged or missing, the next validation counts as the best."""
    progress = job.progress
    if progress.best is None and progress.best_step == 0:
        # no validation yet: `best` can only name a later checkpoint, which is damaged
        (job.run / "best").unlink(missing_ok=True)
        return []
    try:
        best = open_manifest(job.run / checkpoint_name(progress.best_step))
        best.verify((*required_files(best), *job.objective.bundle.codec_files), may_lack=FOR_RESUMING)
    except BundleError as error:
        progress.best, progress.best_step, progress.validations_without_improvement = None, progress.step, 0
        write_pointer(job.run, "best", name)
        return [f"{error}; it was the best so far, and the next validation decides anew"]
    write_pointer(job.run, "best", checkpoint_name(progress.best_step))
    return []


def _other_machine(state: CheckpointState, job: TrainingJob) -> list[str]:
    """Notes on differences of machine and versions that keep the run from repeating an uninterrupted one."""
    effect = {
        "workers": "dropout draws other units, so the run takes another course",
        "muon": "updates differ, so the run takes another course",
    }
    now = {
        "threads": torch.get_num_threads(),
        "workers": job.workers,
        "torch": torch.__version__,
        "processor": processor(job.device),
    }
    before = {"threads": state.threads, "workers": state.workers, "torch": state.torch}
    before["processor"] = state.processor or now["processor"]  # older checkpoints do not name it
    if job.settings.train.optimizer == "muon":
        now["muon"], before["muon"] = FORM, state.muon or FIRST_FORM
    return [
        f"resumed with {what} {value}, started with {before[what]}: {effect.get(what, 'results may differ in the last bits')}"
        for what, value in now.items()
        if before[what] != value
    ]
