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

from regard.bundle.config import BundleConfig
from regard.bundle.locate import write_pointer
from regard.data.batches import plan
from regard.data.prepare import Prepared
from regard.engine.model import Model
from regard.errors import TrainError
from regard.metrics.perplexity import perplexity
from regard.models.network import EncoderDecoder
from regard.train.average import MovingAverage
from regard.train.checkpoint import checkpoint_name, prune, write_checkpoint
from regard.train.config import RunConfig
from regard.train.diagnose import Diagnosis
from regard.train.events import Diagnosed, Event, Sample, Saved, Step, Stopped, Validated
from regard.train.optimizer import Optimizer
from regard.train.progress import Progress
from regard.train.schedule import learning_rate
from regard.train.team import Team
from regard.train.validate import corpus_loss, quality
from regard.train.worker import Examples, Worker, gradient_buffers

ENOUGH_FOR_BLEU = 100  # validation sentences


@dataclass
class Job:
    """All that a run needs and changes while it trains."""

    config: RunConfig
    run: Path
    prepared: Prepared
    network: EncoderDecoder
    model: Model  # the same network, ready to translate
    optimizer: Optimizer
    average: MovingAverage | None
    progress: Progress
    bundle: BundleConfig
    device: torch.device
    workers: int

    @property
    def selects_by_bleu(self) -> bool:
        """Whether BLEU makes a checkpoint the best, or the loss."""
        select = self.config.train.select
        return select == "bleu" or (select == "auto" and len(self.prepared.valid_pairs) >= ENOUGH_FOR_BLEU)

    def team(self) -> Team:
        """The processes that make its steps."""
        gradients = gradient_buffers(self.network, self.workers)
        return Team(
            [
                Worker(number, self.config, self.prepared, self.network, self.optimizer, gradients, self.device)
                for number in range(self.workers)
            ]
        )

    def state(self) -> dict[str, object]:
        """The JSON part of a checkpoint."""
        return {
            "progress": self.progress.to_json(),
            "data": self.prepared.key,
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


def _planned(job: Job) -> list[Examples]:
    corpus, config = job.prepared.train, job.config.train
    return plan(corpus.source_lengths, corpus.target_lengths, config.batch_tokens, config.seed, job.progress.epoch)


def advance(job: Job, team: Team, batches: list[Examples], epoch_batches: int, started: float) -> Iterator[Event]:
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
        width=job.config.model.width,
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
    )
    if diagnosis is not None:
        yield Diagnosed(progress.step, progress.seconds, diagnosis.norms())


def _not_finite(job: Job, batches: list[Examples], loss: float, norm: float) -> TrainError:
    lines = [int(job.prepared.train.lines[example]) for batch in batches for example in batch]
    shown = ", ".join(str(line) for line in lines[:5]) + (", .." if len(lines) > 5 else "")
    return TrainError(
        f"step {job.progress.step + 1}: loss {loss}, gradient norm {norm}, on training lines {shown}; the weights are "
        f"unchanged since the step before; lower train.learning_rate ({job.config.train.learning_rate}) and start anew with another --out"
    )


def _validate(job: Job) -> Validated:
    """Measure the weights that would be kept, and say whether they are the best so far."""
    progress, config, prepared = job.progress, job.config.train, job.prepared
    job.network.eval()
    raw = _swap_in_average(job)
    loss = corpus_loss(job.network, prepared.valid, prepared.tokenizers, job.device)
    if not math.isfinite(loss):
        raise TrainError(
            f"step {progress.step}: validation loss {loss}: the weights have exploded; "
            f"lower train.learning_rate ({config.learning_rate}) and start anew with another --out"
        )
    measured = quality(job.model, prepared.valid_pairs)
    if raw is not None:
        job.network.load_state_dict(raw)
    value = measured.bleu if job.selects_by_bleu else -loss
    best = progress.best is None or value > progress.best
    if best:
        progress.best, progress.best_step, progress.stale = value, progress.step, 0
    else:
        progress.stale += 1
    progress.validated = progress.step
    samples = tuple(
        Sample(source, reference, hypothesis)
        for (source, reference), hypothesis in zip(prepared.valid_pairs, measured.hypotheses, strict=True)
    )
    return Validated(
        step=progress.step,
        seconds=progress.seconds,
        loss=loss,
        perplexity=perplexity(loss, 1),
        bleu=measured.bleu,
        chrf=measured.chrf,
        exact_match=measured.exact_match,
        samples=samples[: config.samples],
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
        config=job.bundle,
        tokenizers=job.prepared.tokenizers,
    )
    if progress.best_step == progress.step:
        write_pointer(job.run, "best", name)
    prune(job.run, job.config.train.keep, job.config.train.save_every)
    return Saved(progress.step, progress.seconds, name)
