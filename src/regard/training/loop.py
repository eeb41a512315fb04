"""The training loop: a generator of events. It trains, validates and saves checkpoints; it prints nothing and knows no listener.

The random generator of a step is seeded by (seed, step, worker). So a resumed run with the same number of workers equals an uninterrupted
one bit for bit, and no generator state is saved.
"""

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.activity import activity
from regard.bundle.adapter import Adapter
from regard.bundle.locate import write_pointer
from regard.bundle.opened import OpenBundle
from regard.data.examples import Numbers
from regard.errors import TrainError
from regard.metrics.perplexity import perplexity
from regard.training.average import MovingAverage
from regard.training.checkpoint import checkpoint_name, prune, write_checkpoint
from regard.training.config import RunSettings, TrainConfig
from regard.training.diagnose import Diagnosis
from regard.training.early_stopping import out_of_patience, record_validation
from regard.training.events import Diagnosed, Event, Saved, Step, Stopped, Validated
from regard.training.forked import ForkedTeam
from regard.training.lora import LowRank
from regard.training.lora_saving import adapter_of, resumable
from regard.training.muon import FORM
from regard.training.objective import Measured, StepInfo, Trained
from regard.training.optimizer import Optimizer
from regard.training.precision import Precision, processor
from regard.training.progress import Progress
from regard.training.schedule import learning_rate
from regard.training.team import Team
from regard.training.worker import Worker, gradient_buffers


@dataclass
class TrainingJob:
    """The objects of a training run: settings, objective, network, optimiser, moving average and progress."""

    settings: RunSettings
    run: Path
    objective: Trained
    network: nn.Module
    optimizer: Optimizer
    average: MovingAverage | None
    progress: Progress
    device: torch.device
    workers: int
    precision: Precision
    low_rank: LowRank | None = None
    """With LoRA: the weights that are trained in place of the network's own."""
    base: OpenBundle | None = None
    """The model that the run has started from."""
    validates_base: bool = False
    """Whether the weights before the first step are those of a base model, which is validated and saved as step 0."""
    validated_codecs: Any = None
    """The codecs that the validation of the present weights has made; None after the next step."""

    @property
    def trained(self) -> nn.Module:
        """The module that owns the weights that are trained: the network, or with LoRA the low-rank additions."""
        return self.network if self.low_rank is None else self.low_rank

    def merge(self) -> None:
        """Bring the network up to date with what is trained beside it."""
        if self.low_rank is not None:
            self.low_rank.merge()

    @property
    def codecs(self) -> Any:
        """The codecs of the bundle of the present weights."""
        return self.objective.codecs if self.validated_codecs is None else self.validated_codecs

    def adapter(self, place: Path) -> Adapter | None:
        """The record of the adapter bundle that will be at `place`; None: bundles of this run are whole."""
        lora = self.settings.train.lora
        if lora is None or lora.merge or self.low_rank is None:
            return None
        assert self.base is not None
        return adapter_of(self.settings.train, self.base, self.network, self.low_rank, place)

    def saved_weights(self) -> dict[str, Tensor]:
        """The weights of a bundle, after `merge`."""
        lora = self.settings.train.lora
        alone = lora is not None and not lora.merge
        return (self.trained if alone else self.network).state_dict()

    def team(self) -> ForkedTeam:
        """The worker processes of this machine."""
        gradients, train = gradient_buffers(self.trained, self.workers), self.settings.train
        return ForkedTeam(
            [
                Worker(
                    number,
                    train,
                    self.objective,
                    self.network,
                    self.optimizer,
                    gradients,
                    self.device,
                    self.precision.name,
                    self.low_rank,
                )
                for number in range(self.workers)
            ]
        )

    def state(self) -> dict[str, object]:
        """The JSON part of a checkpoint."""
        lora = {} if self.low_rank is None or self.base is None else {"base": self.base.files.identity}
        return {
            **lora,
            "progress": self.progress.to_json(),
            "data": self.objective.key,
            "threads": torch.get_num_threads(),
            "workers": self.workers,
            "torch": torch.__version__,
            "precision": self.precision.name,
            "processor": processor(self.device),
            "muon": FORM,
        }


def training(
    job: TrainingJob, interrupted: Callable[[], bool], make_team: Callable[[TrainingJob], Team] = TrainingJob.team
) -> Generator[Event, None, None]:
    """Train until a limit, early stopping or an interruption ends it. The last event is always `Stopped`."""
    progress, config = job.progress, job.settings.train
    batches = _planned(job)
    saved = progress.step
    with make_team(job) as team:
        if job.validates_base and progress.step == 0 and progress.best is None:
            yield from _base(job, team)
        while True:
            reason = "interrupted" if team.agree(interrupted()) else _limit(progress, config, len(batches))
            if reason is not None:
                break
            started = time.perf_counter()
            chosen = batches[progress.batch : progress.batch + config.accumulate]
            _announce(job, team, batches)
            yield from advance(job, team, chosen, len(batches), started)
            if progress.batch >= len(batches):
                progress.epoch, progress.batch = progress.epoch + 1, 0
                batches = _planned(job)
            last = progress.reached(config, len(batches)) is not None
            if last or progress.step % config.validate_every == 0:
                yield _validate(job, team)
            if last or progress.step % config.save_every == 0 or progress.best_step == progress.step:
                if team.first:
                    yield _save(job)
                saved = progress.step
    if saved != progress.step and team.first:  # interrupted, or early stopping
        yield _save(job)
    yield Stopped(progress.step, progress.seconds, reason)


def _base(job: TrainingJob, team: Team) -> Iterator[Event]:
    """Validate and save the base model of fine-tuning as step 0: it stays the best if nothing beats it."""
    yield _validate(job, team)
    if team.first:
        yield _save(job)


def _limit(progress: Progress, config: TrainConfig, batches: int) -> str | None:
    """The limit that ends the run now, `patience` being early stopping; None: none does."""
    return progress.reached(config, batches) or ("patience" if out_of_patience(progress, config.patience) else None)


def _planned(job: TrainingJob) -> list[Numbers]:
    config = job.settings.train
    return job.objective.examples.plan(config.batch_tokens, config.seed, job.progress.epoch)


def _step_info(progress: Progress, config: TrainConfig, share: float) -> StepInfo:
    readings = 2 if config.consistency and share >= config.consistency_from else 1
    return StepInfo(progress.step, progress.epoch, readings)


def _announce(job: TrainingJob, team: Team, batches: list[Numbers]) -> None:
    """Tell the team the batches of the coming steps of this epoch."""
    progress, config = job.progress, job.settings.train
    for ahead in range(1, team.steps_ahead + 1):
        coming = replace(progress, step=progress.step + ahead, batch=progress.batch + ahead * config.accumulate)
        if coming.batch < len(batches):
            share = coming.share(config, len(batches))
            chosen = batches[coming.batch : coming.batch + config.accumulate]
            team.prepare(_step_info(coming, config, share), chosen)


def advance(
    job: TrainingJob, team: Team, batches: list[Numbers], epoch_batches: int, started: float
) -> Iterator[Event]:
    """One optimiser step. Gradients accumulate over `batches` and are divided by the number of all their target tokens."""
    progress, config = job.progress, job.settings.train
    share = progress.share(config, epoch_batches)
    sums = team.gradient(_step_info(progress, config, share), batches)
    norm = team.norm() / sums.tokens
    if not math.isfinite(norm) or not math.isfinite(sums.loss):
        raise _not_finite(job, batches, sums.loss / sums.tokens, norm)
    due = config.diagnose_every and (progress.step + 1) % config.diagnose_every == 0
    diagnosis = Diagnosis(job.trained, sums.tokens) if due else None
    rate = learning_rate(
        config.schedule,
        config.learning_rate,
        step=progress.step + 1,
        warmup=config.warmup,
        full_warmup=config.full_warmup,
        progress=share,
        width=job.settings.width,
    )
    team.update(rate, min(1.0, (config.clip or math.inf) / (norm + 1e-6)) / sums.tokens)
    job.validated_codecs = None
    if job.average is not None:
        job.average.update(job.trained, progress.step)
    elapsed = team.from_first(
        lambda: time.perf_counter() - started
    )  # so that all workers reach a time limit at the same step
    progress.step += 1
    progress.batch += len(batches)
    progress.tokens += sums.tokens
    progress.seconds += elapsed
    yield Step(
        step=progress.step,
        seconds=progress.seconds,
        epoch=progress.epoch,
        loss=sums.loss / sums.tokens,
        parts={name: value / sums.tokens for name, value in sums.parts.items()},
        learning_rate=rate,
        gradient_norm=norm,
        tokens=sums.tokens,
        tokens_per_second=sums.tokens / elapsed,
        progress=progress.share(config, epoch_batches),
    )
    if diagnosis is not None:
        yield Diagnosed(progress.step, progress.seconds, diagnosis.norms())


def _not_finite(job: TrainingJob, batches: list[Numbers], loss: float, norm: float) -> TrainError:
    shown = job.objective.examples.where(batches, job.settings.train.seed, job.progress.epoch)
    return TrainError(
        f"step {job.progress.step + 1}: loss {loss}, gradient norm {norm}, on {shown}; the weights are "
        f"unchanged since the step before; lower train.learning_rate ({job.settings.train.learning_rate}) and start anew with another --out"
    )


def _validate(job: TrainingJob, team: Team) -> Validated:
    """Validate the weights that a checkpoint would have, and update the best value and the counter of early stopping."""
    progress, config = job.progress, job.settings.train
    measured = team.from_first(lambda: _measured(job))
    if not math.isfinite(measured.loss) and progress.step == 0:
        raise TrainError(
            f"train.start = {config.start!r}: its validation loss is {measured.loss}; start from another model"
        )
    if not math.isfinite(measured.loss):
        raise TrainError(
            f"step {progress.step}: validation loss {measured.loss}: the weights have exploded; "
            f"lower train.learning_rate ({config.learning_rate}) and start anew with another --out"
        )
    job.validated_codecs = measured.codecs
    best = record_validation(progress, measured.value)
    return Validated(
        step=progress.step,
        seconds=progress.seconds,
        loss=measured.loss,
        perplexity=perplexity(measured.loss, 1) if measured.is_likelihood else None,
        scores=measured.scores,
        samples=measured.samples,
        best=best,
        by=measured.by,
    )


def _measured(job: TrainingJob) -> Measured:
    job.network.eval()
    raw = _swap_in_average(job)
    job.merge()
    with activity("validating"):
        measured = job.objective.validate(job.network)
    if raw is not None:
        job.trained.load_state_dict(raw)
    return measured


def _swap_in_average(job: TrainingJob) -> dict[str, Tensor] | None:
    """Load the exponential moving average into what is trained. Returns the weights that it had."""
    if job.average is None:
        return None
    raw = {name: value.clone() for name, value in job.trained.state_dict().items()}
    job.trained.load_state_dict(job.average.weights)
    return raw


def _save(job: TrainingJob) -> Saved:
    progress = job.progress
    name = checkpoint_name(progress.step)
    if job.low_rank is not None:
        _write_low_rank(job, job.low_rank, name)
        return _saved(job, name)
    weights, memory = job.network.state_dict(), job.optimizer.tensors()
    if job.average is not None:  # the bundle has the average; the raw weights are needed to resume
        memory |= {f"weights/{key}": value.clone() for key, value in weights.items()}
        weights = job.average.weights
    write_checkpoint(
        job.run,
        name,
        weights=weights,
        optimiser=memory,
        state=job.state(),
        config=job.objective.bundle,
        codecs=job.codecs,
    )
    return _saved(job, name)


def _write_low_rank(job: TrainingJob, low_rank: LowRank, name: str) -> None:
    """Write the checkpoint of a run with LoRA: the sum with the base, or the additions alone."""
    memory = job.optimizer.tensors() | resumable(low_rank, job.average)
    raw = _swap_in_average(job)
    low_rank.merge()
    write_checkpoint(
        job.run,
        name,
        weights=job.saved_weights(),
        optimiser=memory,
        state=job.state(),
        config=job.objective.bundle,
        codecs=job.codecs,
        adapter=job.adapter(job.run / name),
    )
    if raw is not None:
        low_rank.load_state_dict(raw)


def _saved(job: TrainingJob, name: str) -> Saved:
    """Point `best` to a new checkpoint if it is the best, and delete those that are not kept."""
    progress = job.progress
    if progress.best_step == progress.step:
        write_pointer(job.run, "best", name)
    prune(job.run, job.settings.train.keep, job.settings.train.save_every)
    return Saved(progress.step, progress.seconds, name)
