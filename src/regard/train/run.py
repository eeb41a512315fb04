"""A run from its config to its directory: prepare, build or resume, train, measure. Running it again goes on where it stopped.

run/config.json  checkpoints/  latest  best  log.jsonl  metrics.json  and, by its task, translations, samples or predictions.jsonl
"""

import fcntl
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import torch

from regard.bundle.bundle import resolve_device, save_bundle
from regard.bundle.config import BundleConfig
from regard.bundle.locate import CHECKPOINTS, read_pointer, write_pointer
from regard.bundle.manifest import verify_manifest
from regard.bundle.opened import REQUIRED, OpenBundle
from regard.data.labelled import prepare_labelled
from regard.data.prepare import Progress as Tell
from regard.data.prepare import prepare
from regard.data.prepare_texts import prepare_texts
from regard.errors import BundleError, TrainError
from regard.files import cache_directory, disk_errors, to_json, to_json_line, write_whole
from regard.models.config import MarkovConfig, Task
from regard.settings import read_json
from regard.text.build import TokenizerPair
from regard.train import tensorboard
from regard.train.average import mean_weights
from regard.train.checkpoint import checkpoints, step_of
from regard.train.classifying import Classifying
from regard.train.config import RunConfig
from regard.train.counting import Counting
from regard.train.events import Event, Preparing, Started, Stopped
from regard.train.generating import Generating
from regard.train.log import JsonLog, cut_back
from regard.train.loop import Job, training
from regard.train.memory import keep_large_blocks
from regard.train.objective import Final, Objective
from regard.train.progress import Progress
from regard.train.resume import resumed_job
from regard.train.signals import stop_requests
from regard.train.start import base_of, refuse_other_labels
from regard.train.translating import Translating

Listener = Callable[[Event], None]
CONFIG, METRICS, LOCK = "config.json", "metrics.json", ".lock"


@dataclass(frozen=True)
class Run:
    """What training leaves: a directory and its numbers."""

    directory: Path
    reason: str  # why it stopped: max_steps, max_epochs, minutes, patience, counted, interrupted, or finished: it already was
    metrics: dict[str, Any] | None
    final: Final | None  # the evaluation, where it was made now
    objective: Objective | None  # the task with its data, where it was prepared
    signal: int | None = None  # what interrupted it


def train_run(config: RunConfig, out: Path, listeners: list[Listener] | None = None) -> Run:
    """Train `config` into `out`, or go on with what is there."""
    keep_large_blocks()
    chosen = config.train.device
    device = resolve_device(("cuda" if torch.cuda.is_available() else "cpu") if chosen == "auto" else chosen)
    base = base_of(config)
    with _claimed(out):
        _refuse_other_settings(config, out)
        if (out / METRICS).exists():
            return Run(out, "finished", read_json(out / METRICS), None, None)
        objective = OBJECTIVES[config.task](config, base, _telling(listeners or []))
        if base is not None:
            refuse_other_labels(objective.bundle.labels, base)
        write_whole(out / CONFIG, to_json(config.model_dump(mode="json")))
        with ExitStack() as stack:
            work, started, finish = _begin(config, out, objective, device, base)
            everyone = [*_logs(out, started.step, stack), *(listeners or [])]
            asked = stack.enter_context(stop_requests())
            reason = _follow(started, work(lambda: bool(asked)), everyone)
        if reason == "interrupted":
            return Run(out, reason, None, None, objective, signal=asked[0])
        final = _measure(out, objective, device, finish())
        return Run(out, reason, final.metrics, final, objective)


def _of(base: OpenBundle | None) -> tuple[TokenizerPair | None, BundleConfig | None]:
    return (None, None) if base is None else (base.tokenizers, base.config)


def _translating(config: RunConfig, base: OpenBundle | None, tell: Tell) -> Translating:
    known, said = _of(base)
    prepared = prepare(config.data, config.text, cache_directory() / "corpora", tell, known)
    return Translating(config, prepared, said)


def _generating(config: RunConfig, base: OpenBundle | None, tell: Tell) -> Generating:
    known, said = _of(base)
    prepared = prepare_texts(config.data, config.text, cache_directory() / "corpora", tell, known)
    return Generating(config, prepared, said)


def _classifying(config: RunConfig, base: OpenBundle | None, tell: Tell) -> Classifying:
    known, said = _of(base)
    prepared = prepare_labelled(config.data, config.text, cache_directory() / "corpora", tell, known)
    return Classifying(config, prepared, said)


OBJECTIVES: dict[Task, Callable[[RunConfig, OpenBundle | None, Tell], Objective]] = {
    "translate": _translating,
    "generate": _generating,
    "classify": _classifying,
}

Work = Callable[[Callable[[], bool]], Generator[Event, None, None]]
Finish = Callable[[], dict[str, Any]]


def _begin(
    config: RunConfig, out: Path, objective: Objective, device: torch.device, base: OpenBundle | None
) -> tuple[Work, Started, Finish]:
    """What makes the model, what is told first of it, and what is done, and told in metrics.json, when it is made."""
    if isinstance(config.model, MarkovConfig):
        assert isinstance(objective, Generating)
        counting = Counting(config.model, objective, out)
        cut_back(out / "log.jsonl", -1)  # what was interrupted is begun anew
        return counting.events, _started(objective, device), counting.cost
    job, notes = resumed_job(config, out, objective, device, base)
    parameters = sum(parameter.numel() for parameter in job.network.parameters())
    started = _started(objective, device, job.progress, parameters, notes)

    def finish() -> dict[str, Any]:
        _try_average(job)
        progress = job.progress
        return {
            "parameters": parameters,
            "tokens": progress.tokens,
            "seconds": progress.seconds,
            "steps": progress.step,
        }

    return partial(training, job), started, finish


def _telling(listeners: list[Listener]) -> Tell:
    """What `prepare` reports, as events."""

    def tell(doing: str, pairs: int) -> None:
        for listener in listeners:
            listener(Preparing(step=0, seconds=0.0, doing=doing, pairs=pairs))

    return tell


def _started(
    objective: Objective,
    device: torch.device,
    progress: Progress | None = None,
    parameters: int = 0,
    notes: tuple[str, ...] = (),
) -> Started:
    behind = progress or Progress()
    nothing = {"too_long": 0, "empty": 0, "held_out": 0, "duplicates_of_validation": 0}
    vocabulary = objective.bundle.vocabulary
    return Started(
        step=behind.step,
        seconds=behind.seconds,
        parameters=parameters,
        examples=len(objective.examples),
        vocabulary=(vocabulary.source, vocabulary.target),
        device=str(device),
        threads=torch.get_num_threads(),
        resumed=behind.step > 0,
        notes=notes,
        **{**nothing, **objective.left_out},
    )


def _follow(started: Started, events: Generator[Event, None, None], listeners: list[Listener]) -> str:
    """Tell everyone what happens, and return why it stopped."""
    event: Event = started
    for listener in listeners:
        listener(started)
    with closing(events):  # also where a listener fails: the loop has processes to end
        for event in events:
            for listener in listeners:
                listener(event)
    assert isinstance(event, Stopped)
    return event.reason


def _logs(out: Path, step: int, stack: ExitStack) -> Iterator[Listener]:
    log = JsonLog(out / "log.jsonl")
    stack.callback(log.close)
    yield log
    if tensorboard.is_installed():
        board = tensorboard.TensorBoardLog(out / "tensorboard", step + 1)
        stack.callback(board.close)
        yield board


@contextmanager
def _claimed(out: Path) -> Iterator[None]:
    """Only one process may train into a directory."""
    with disk_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / LOCK).open("a")
    with lock:
        _lock(lock, out)
        try:
            yield
        finally:
            if [path.name for path in out.iterdir()] == [LOCK]:  # nothing came of it: leave nothing behind
                (out / LOCK).unlink()
                out.rmdir()


def _lock(file: TextIO, out: Path) -> None:
    """Claim the file; for a moment, wait for the processes of a run that was just killed."""
    deadline = time.monotonic() + 1.0
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise TrainError(
                    f"{out}: another process is training here; wait for it or choose another --out"
                ) from None
        time.sleep(0.05)


def _refuse_other_settings(config: RunConfig, out: Path) -> None:
    """A run that has come to anything keeps its settings: other ones would make it another run."""
    path = out / CONFIG
    if not checkpoints(out) and not (out / METRICS).exists():
        return
    if not path.exists():
        raise TrainError(f"{out}: has checkpoints or metrics but no {CONFIG}; choose another --out")
    changes = config.changed_from(RunConfig.parse(read_json(path), str(path)))
    if changes:
        raise TrainError(
            f"{out}: this run was started with other settings ({'; '.join(changes)}); "
            "run the same command again to resume it, or choose another --out"
        )


def _try_average(job: Job) -> None:
    """Let the mean of the last checkpoints be the best, if it is."""
    config = job.config.train
    if config.average < 2:
        return
    regular = [
        directory
        for directory in checkpoints(job.run)
        if step_of(directory) % config.save_every == 0 or step_of(directory) == job.progress.step
    ]
    averaged = [directory for directory in regular[-config.average :] if _is_sound(directory)]
    if len(averaged) < 2:
        return
    weights = mean_weights(averaged)
    job.network.load_state_dict(weights, strict=False)  # a tied embedding is stored once
    job.network.eval()
    value = job.objective.measure(job.network, job.objective.loss(job.network, job.device)).value
    if job.progress.best is None or value > job.progress.best:
        save_bundle(job.run / CHECKPOINTS / "average", weights, job.objective.bundle, job.objective.tokenizers)
        write_pointer(job.run, "best", f"{CHECKPOINTS}/average")


def _is_sound(checkpoint: Path) -> bool:
    """Whether it can be read; one that cannot is no reason to lose the run at its end."""
    try:
        verify_manifest(checkpoint, REQUIRED)
    except BundleError as error:
        warnings.warn(f"{error}; the average is made without it", stacklevel=2)
        return False
    return True


def _measure(out: Path, objective: Objective, device: torch.device, cost: dict[str, Any]) -> Final:
    """Judge the best model, and write metrics.json."""
    final = objective.judge(out, device)
    best = read_pointer(out, "best")
    final.metrics.update(
        **cost,
        task=objective.bundle.task,
        model=None if best is None else best.relative_to(out).as_posix(),
        languages=objective.bundle.languages.model_dump(),
    )
    write_whole(out / final.file, "".join(map(to_json_line, final.rows)))
    write_whole(out / METRICS, to_json(final.metrics))
    return final
