"""The training loop: a generator of events. It steps, validates and saves; it prints nothing and knows no listener.

Every random decision of a step is drawn from a generator seeded by (seed, step, worker), so that a resumed run of as many workers
repeats an uninterrupted one bit for bit without any generator's state being saved.
"""

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.bundle.locate import write_pointer
from regard.data.examples import Numbers
from regard.errors import TrainError
from regard.metrics.perplexity import perplexity
from regard.models.config import MarkovConfig
from regard.models.network import Learner
from regard.train.average import MovingAverage
from regard.train.checkpoint import checkpoint_name, prune, write_checkpoint
from regard.train.config import RunConfig
from regard.train.diagnose import Diagnosis
from regard.train.events import Diagnosed, Event, Saved, Step, Stopped, Validated
from regard.train.objective import Objective
from regard.train.optimizer import Optimizer
from regard.train.progress import Progress
from regard.train.schedule import learning_rate
from regard.train.team import Team
from regard.train.worker import Worker, gradient_buffers


@dataclass
class Job:
    """All that a run needs and changes while it trains."""

    config: RunConfig
    run: Path
    objective: Objective
    network: Learner
    optimizer: Optimizer
    average: MovingAverage | None
    progress: Progress
    device: torch.device
    workers: int

    @property
    def width(self) -> int:
        """Of the network."""
        assert not isinstance(self.config.model, MarkovConfig), "a Markov model is counted, not trained"
        return self.config.model.width

    def team(self) -> Team:
        """The processes that make its steps."""
        gradients = gradient_buffers(self.network, self.workers)
        return Team(
            [
                Worker(
                    number, self.config, self.objective.examples, self.network, self.optimizer, gradients, self.device
                )
                for number in range(self.workers)
            ]
        )

    def state(self) -> dict[str, object]:
        """The JSON part of a checkpoint."""
        return {
            "progress": self.progress.to_json(),
            "data": self.objective.key,
            "threads": torch.get_num_threads(),
            "workers": self.workers,
            "torch": torch.__version__,
        }


def training(job: Job, interrupted: Callable[[], bool]) -> Generator[Event, None, None]:
    """Train until a limit is reached or `interrupted` says so; the last event is always `Stopped`."""
    progress, config = job.progress, job.config.train
    batches = _planned(job)
    saved = progress.step
    with job.team() as team:
        while True:
            reason = "interrupted" if interrupted() else progress.reached(config, len(batches))
            if reason is not None:
                break
            started = time.perf_counter()
            chosen = batches[progress.batch : progress.batch + config.accumulate]
            yield from advance(job, team, chosen, len(batches), started)
            if progress.batch >= len(batches):
                progress.epoch, progress.batch = progress.epoch + 1, 0
                batches = _planned(job)
            last = progress.reached(config, len(batches)) is not None
            if last or progress.step % config.validate_every == 0:
                yield _validate(job)
            if last or progress.step % config.save_every == 0 or progress.best_step == progress.step:
                yield _save(job)
                saved = progress.step
    if saved != progress.step:  # interrupted, or out of patience
        yield _save(job)
    yield Stopped(progress.step, progress.seconds, reason)


def _planned(job: Job) -> list[Numbers]:
    config = job.config.train
    return job.objective.examples.plan(config.batch_tokens, config.seed, job.progress.epoch)


def advance(job: Job, team: Team, batches: list[Numbers], epoch_batches: int, started: float) -> Iterator[Event]:
    """One update from the gradients of `batches`, normalised by all their target tokens."""
    progress, config = job.progress, job.config.train
    share = progress.share(config, epoch_batches)
    readings = 2 if config.consistency and share >= config.consistency_from else 1
    sums = team.gradient(progress.step, progress.epoch, batches, readings)
    norm = team.norm() / sums.tokens
    if not math.isfinite(norm) or not math.isfinite(sums.loss):
        raise _not_finite(job, batches, sums.loss / sums.tokens, norm)
    due = config.diagnose_every and (progress.step + 1) % config.diagnose_every == 0
    diagnosis = Diagnosis(job.network, sums.tokens) if due else None
    rate = learning_rate(
        config.schedule,
        config.learning_rate,
        step=progress.step + 1,
        warmup=config.warmup,
        progress=share,
        width=job.width,
    )
    team.update(rate, min(1.0, (config.clip or math.inf) / (norm + 1e-6)) / sums.tokens)
    if job.average is not None:
        job.average.update(job.network, progress.step)
    elapsed = time.perf_counter() - started
    progress.step += 1
    progress.batch += len(batches)
    progress.tokens += sums.tokens
    progress.seconds += elapsed
    yield Step(
        step=progress.step,
        seconds=progress.seconds,
        epoch=progress.epoch,
        loss=sums.loss / sums.tokens,
        nll=sums.nll / sums.tokens,
        learning_rate=rate,
        gradient_norm=norm,
        tokens=sums.tokens,
        tokens_per_second=sums.tokens / elapsed,
        progress=progress.share(config, epoch_batches),
        alignment=None if job.config.aligned_head is None else sums.alignment / sums.tokens,
    )
    if diagnosis is not None:
        yield Diagnosed(progress.step, progress.seconds, diagnosis.norms())


def _not_finite(job: Job, batches: list[Numbers], loss: float, norm: float) -> TrainError:
    shown = job.objective.examples.where(batches, job.config.train.seed, job.progress.epoch)
    return TrainError(
        f"step {job.progress.step + 1}: loss {loss}, gradient norm {norm}, on {shown}; the weights are "
        f"unchanged since the step before; lower train.learning_rate ({job.config.train.learning_rate}) and start anew with another --out"
    )


def _validate(job: Job) -> Validated:
    """Measure the weights that would be kept, and say whether they are the best so far."""
    progress, config = job.progress, job.config.train
    job.network.eval()
    raw = _swap_in_average(job)
    loss = job.objective.loss(job.network, job.device)
    if not math.isfinite(loss):
        raise TrainError(
            f"step {progress.step}: validation loss {loss}: the weights have exploded; "
            f"lower train.learning_rate ({config.learning_rate}) and start anew with another --out"
        )
    measured = job.objective.measure(job.network, loss)
    if raw is not None:
        job.network.load_state_dict(raw)
    best = progress.best is None or measured.value > progress.best
    if best:
        progress.best, progress.best_step, progress.stale = measured.value, progress.step, 0
    else:
        progress.stale += 1
    progress.validated = progress.step
    return Validated(
        step=progress.step,
        seconds=progress.seconds,
        loss=loss,
        perplexity=perplexity(loss, 1),
        scores=measured.scores,
        samples=measured.samples,
        best=best,
    )


def _swap_in_average(job: Job) -> dict[str, Tensor] | None:
    """Put the moving average into the network; returns the weights that were there."""
    if job.average is None:
        return None
    raw = {name: value.clone() for name, value in job.network.state_dict().items()}
    job.network.load_state_dict(job.average.weights)
    return raw


def _save(job: Job) -> Saved:
    progress = job.progress
    name = checkpoint_name(progress.step)
    weights, memory = job.network.state_dict(), job.optimizer.tensors()
    if job.average is not None:  # the average is what the bundle serves; the weights themselves are needed to go on
        memory |= {f"weights/{key}": value.clone() for key, value in weights.items()}
        weights = job.average.weights
    write_checkpoint(
        job.run,
        name,
        weights=weights,
        optimiser=memory,
        state=job.state(),
        config=job.objective.bundle,
        tokenizers=job.objective.tokenizers,
    )
    if progress.best_step == progress.step:
        write_pointer(job.run, "best", name)
    prune(job.run, job.config.train.keep, job.config.train.save_every)
    return Saved(progress.step, progress.seconds, name)
