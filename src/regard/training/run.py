"""Trains an objective in the directory of a run: start or resume, train, log, keep the best checkpoint.

run/checkpoints/  latest  best  log.jsonl  tensorboard/
"""

import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import torch

from regard.activity import activity, is_under_way
from regard.bundle.bundle import resolve_device, write_adapter, write_bundle
from regard.bundle.config import BundleSettings
from regard.bundle.locate import CHECKPOINTS, LOCK, write_pointer
from regard.bundle.manifest import open_manifest, write_manifest
from regard.bundle.opened import OpenBundle, required_files
from regard.bundle.weights import check_weights
from regard.errors import BundleError, TrainError
from regard.extras import is_installed
from regard.files import disk_errors, whole_directory
from regard.foreign import open_regular
from regard.locks import lock_handle
from regard.training import tensorboard
from regard.training.average import mean_weights
from regard.training.checkpoint import checkpoints, step_of
from regard.training.config import RunSettings
from regard.training.counting import Counting
from regard.training.events import Event, Started, Stopped, Stopping
from regard.training.log import JsonLog, cut_back
from regard.training.loop import TrainingJob, training
from regard.training.lora_saving import mean_low_rank, trained_weights
from regard.training.malloc import keep_large_blocks
from regard.training.objective import Fitted, Objective, StartingWeights, Trained, is_fitted
from regard.training.precision import Precision
from regard.training.progress import Progress
from regard.training.resume import resumed_job
from regard.training.signals import stop_requests

Listener = Callable[[Event], None]

Work = Callable[[Callable[[], bool]], Generator[Event, None, None]]
Finish = Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """How training ended."""

    reason: str  # max_steps, max_epochs, minutes, patience (early stopping), counted or interrupted
    cost: dict[str, Any]  # for metrics.json; empty if interrupted
    signal: int | None = None  # the signal that interrupted it


def training_device(settings: RunSettings) -> torch.device:
    """The device of `train.device`; `auto` is CUDA if available, else the CPU."""
    chosen = settings.train.device
    return resolve_device(("cuda" if torch.cuda.is_available() else "cpu") if chosen == "auto" else chosen)


def train_objective(
    settings: RunSettings,
    out: Path,
    objective: Trained | Fitted,
    listeners: Sequence[Listener] = (),
    base: OpenBundle | None = None,
    remarks: Sequence[str] = (),
    transfer: StartingWeights | None = None,
) -> Outcome:
    """Train in `out`, or resume the run there. The caller has locked `out` with `claimed`.

    base: the model to fine-tune; remarks: notes for the event `Started` of a new run; transfer: what is taken of a base that is not taken
    over as it is.
    """
    keep_large_blocks()
    device = training_device(settings)
    with ExitStack() as stack:
        work, started, finish = _begin(settings, out, objective, device, base, remarks, transfer)
        stopping = _Stopping(started, listeners)
        all_listeners = [*_logs(out, started.step, stack), stopping.follow, *listeners]
        stop_signals = stack.enter_context(stop_requests(stopping.announce))
        reason = _follow(started, work(lambda: bool(stop_signals)), all_listeners)
    if reason == "interrupted":
        return Outcome(reason, {}, signal=stop_signals[0])
    return Outcome(reason, finish())


def _begin(
    settings: RunSettings,
    out: Path,
    objective: Trained | Fitted,
    device: torch.device,
    base: OpenBundle | None,
    remarks: Sequence[str],
    transfer: StartingWeights | None,
) -> tuple[Work, Started, Finish]:
    """The generator of events, the first event, and the function that finishes the run and returns its cost."""
    if is_fitted(objective):
        counting = Counting(objective, out)
        cut_back(out / "log.jsonl", -1)  # an interrupted run starts again
        started = _started(objective, objective.counted_examples, device, notes=tuple(remarks))
        return counting.events, started, counting.cost
    job, notes = resumed_job(settings, out, objective, device, base, remarks, transfer)
    parameters = sum(parameter.numel() for parameter in job.network.parameters())
    started = _started(objective, len(objective.examples), device, job.progress, parameters, notes, job.precision)

    def finish() -> dict[str, Any]:
        _try_average(job)
        progress = job.progress
        return {
            "parameters": parameters,
            **({} if job.low_rank is None else {"trained_parameters": trained_weights(job.low_rank)}),
            "tokens": progress.tokens,
            "seconds": progress.seconds,
            "steps": progress.step,
            "precision": job.precision.name,
        }

    return partial(training, job), started, finish


def _started(
    objective: Objective,
    examples: int,
    device: torch.device,
    progress: Progress | None = None,
    parameters: int = 0,
    notes: tuple[str, ...] = (),
    precision: Precision | None = None,
) -> Started:
    behind = progress or Progress()
    nothing = {"too_long": 0, "empty": 0, "held_out": 0, "duplicates_of_validation": 0}
    return Started(
        step=behind.step,
        seconds=behind.seconds,
        parameters=parameters,
        examples=examples,
        vocabulary=objective.vocabulary,
        device=str(device),
        threads=torch.get_num_threads(),
        precision="" if precision is None else precision.shown,
        resumed=behind.step > 0,
        notes=notes,
        **{**nothing, **objective.left_out},
    )


def _follow(started: Started, events: Generator[Event, None, None], listeners: list[Listener]) -> str:
    """Pass all events to the listeners. Returns the reason of the last, `Stopped`."""
    event: Event = started
    for listener in listeners:
        listener(started)
    with closing(events):  # also if a listener fails: the loop must end its worker processes
        for event in events:
            for listener in listeners:
                listener(event)
    assert isinstance(event, Stopped)
    return event.reason


class _Stopping:
    """Tells listeners of a signal that comes during a validation: it may be long until the loop looks at it."""

    def __init__(self, started: Started, listeners: Sequence[Listener]) -> None:
        self._latest: Event = started
        self._listeners = listeners

    def follow(self, event: Event) -> None:
        """A listener: the latest event tells how far the run is."""
        self._latest = event

    def announce(self) -> None:
        """For a signal handler. It interrupts anything, also a line that is being printed, so a thread does the telling."""
        if is_under_way("validating"):
            threading.Thread(target=self._tell, daemon=True).start()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener(Stopping(self._latest.step, self._latest.seconds))


def _logs(out: Path, step: int, stack: ExitStack) -> Iterator[Listener]:
    log = JsonLog(out / "log.jsonl")
    stack.callback(log.close)
    yield log
    if is_installed("tensorboard"):
        board = tensorboard.TensorBoardLog(out / "tensorboard", step + 1)
        stack.callback(board.close)
        yield board


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Only one process may train into a directory."""
    with disk_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        lock = open_regular(out / LOCK, create=True)
    with lock:
        _lock(lock, out)
        try:
            yield
        finally:
            with suppress(FileNotFoundError):  # somebody has removed the directory
                if [path.name for path in out.iterdir()] == [LOCK]:  # nothing came of it: leave nothing behind
                    (out / LOCK).unlink()
                    out.rmdir()


def _lock(file: BinaryIO, out: Path) -> None:
    """Lock the file. Waits up to three seconds for the processes of a run that was just killed: on a busy machine they take so long."""
    deadline = time.monotonic() + 3.0
    while True:
        with suppress(OSError):
            if lock_handle(file.fileno()):
                return
        if time.monotonic() > deadline:
            raise TrainError(f"{out}: another process is training here; wait for it or choose another --out")
        time.sleep(0.05)


def _try_average(job: TrainingJob) -> None:
    """Validate the mean of the last checkpoints, and point `best` to it if it is better."""
    config = job.settings.train
    if config.average < 2:
        return
    regular = [
        directory
        for directory in checkpoints(job.run)
        if (step_of(directory) % config.save_every == 0 and step_of(directory) > 0)  # step 0 is the base
        or step_of(directory) == job.progress.step
    ]
    averaged = [directory for directory in regular[-config.average :] if _is_sound(directory, job.objective.bundle)]
    if len(averaged) < 2:
        return
    if job.low_rank is None:
        job.network.load_state_dict(mean_weights(averaged), strict=False)  # a tied embedding is stored once
    else:
        job.low_rank.load_state_dict(mean_low_rank(averaged))
        job.low_rank.merge()
    job.network.eval()
    with activity(f"validating the mean of {len(averaged)} checkpoints"):
        measured = job.objective.validate(job.network)
    if job.progress.best is None or measured.value > job.progress.best:
        codecs = job.objective.codecs if measured.codecs is None else measured.codecs
        _write_average(job, job.run / CHECKPOINTS / "average", codecs)
        write_pointer(job.run, "best", f"{CHECKPOINTS}/average")


def _write_average(job: TrainingJob, place: Path, codecs: Any) -> None:
    """Write the bundle of the present weights, or the adapter alone."""
    adapter, config = job.adapter(place), job.objective.bundle
    with whole_directory(place) as staging:
        if adapter is None:
            write_bundle(staging, job.saved_weights(), config, codecs)
        else:
            write_adapter(staging, job.saved_weights(), adapter, config, codecs)
        write_manifest(staging)


def _is_sound(checkpoint: Path, config: BundleSettings) -> bool:
    """Whether a checkpoint is undamaged and of this network. Another one causes a warning, not an error at the end of a run."""
    try:
        files = open_manifest(checkpoint)
        files.verify(required_files(files))
        check_weights(files, config)
    except BundleError as error:
        warnings.warn(f"{error}; the average is made without it", stacklevel=2)
        return False
    return True
