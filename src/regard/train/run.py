"""A run from its config to its directory: prepare, build or resume, train, measure. Running it again goes on where it stopped.

run/config.json  checkpoints/  latest  best  log.jsonl  translations.jsonl  metrics.json
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.bundle.bundle import load_bundle, resolve_device, save_bundle
from regard.bundle.config import BundleConfig, Languages, VocabularySizes
from regard.bundle.locate import CHECKPOINTS, read_pointer, write_pointer
from regard.data.prepare import Prepared, prepare
from regard.engine.load import load
from regard.engine.model import Model
from regard.errors import TrainError
from regard.files import disk_errors, remove_leftovers, to_json, write_whole
from regard.models.build import build_model
from regard.settings import read_json
from regard.train import tensorboard
from regard.train.average import MovingAverage, mean_weights
from regard.train.checkpoint import newest_valid, read_state
from regard.train.config import RunConfig
from regard.train.events import Event, Preparing, Started, Stopped
from regard.train.final import Final, final_evaluation
from regard.train.log import JsonLog, cut_back
from regard.train.loop import Job, training
from regard.train.memory import keep_large_blocks
from regard.train.optimizer import Optimizer
from regard.train.progress import Progress
from regard.train.signals import stop_requests
from regard.train.validate import corpus_loss, quality

Listener = Callable[[Event], None]


@dataclass(frozen=True)
class Run:
    """What training leaves: a directory and its numbers."""

    directory: Path
    reason: str  # why it stopped: max_steps, max_epochs, minutes, patience, interrupted, or finished: it already was
    metrics: dict[str, Any] | None
    final: Final | None  # the evaluation, where it was made now
    prepared: Prepared | None


def cache_directory() -> Path:
    """Where prepared corpora live: $REGARD_CACHE, else the user's cache."""
    home = os.environ.get("REGARD_CACHE")
    return Path(home) if home else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def train_run(config: RunConfig, out: Path, listeners: list[Listener] | None = None) -> Run:
    """Train `config` into `out`, or go on with what is there."""
    keep_large_blocks()
    chosen = config.train.device
    device = resolve_device(("cuda" if torch.cuda.is_available() else "cpu") if chosen == "auto" else chosen)
    with _claimed(out):
        _same_config(config, out)
        if (out / "metrics.json").exists():
            return Run(out, "finished", json.loads((out / "metrics.json").read_text(encoding="utf-8")), None, None)
        prepared = prepare(config.data, config.text, cache_directory() / "corpora", _telling(listeners or []))
        job, notes = _job(config, out, prepared, device)
        with ExitStack() as stack:
            everyone = [*_logs(out, stack), *(listeners or [])]
            interrupted = stack.enter_context(stop_requests())
            reason = _follow(job, notes, interrupted, everyone)
        if reason == "interrupted":
            return Run(out, reason, None, None, prepared)
        _try_average(job)
        final = _measure(job)
        return Run(out, reason, final.metrics, final, prepared)


def _telling(listeners: list[Listener]) -> Callable[[str, int], None]:
    """What `prepare` reports, as events."""

    def tell(doing: str, pairs: int) -> None:
        for listener in listeners:
            listener(Preparing(step=0, seconds=0.0, doing=doing, pairs=pairs))

    return tell


def _follow(job: Job, notes: tuple[str, ...], interrupted: Callable[[], bool], listeners: list[Listener]) -> str:
    """Run the loop, tell everyone, and return why it stopped."""
    progress = job.progress
    started = Started(
        step=progress.step,
        seconds=progress.seconds,
        parameters=sum(parameter.numel() for parameter in job.network.parameters()),
        examples=len(job.prepared.train),
        skipped=job.prepared.counts.read - job.prepared.counts.kept,
        vocabulary=(job.bundle.vocabulary.source, job.bundle.vocabulary.target),
        device=str(job.device),
        threads=torch.get_num_threads(),
        resumed=progress.step > 0,
        notes=notes,
    )
    event: Event = started
    for listener in listeners:
        listener(started)
    for event in training(job, interrupted):
        for listener in listeners:
            listener(event)
    assert isinstance(event, Stopped)
    return event.reason


def _logs(out: Path, stack: ExitStack) -> Iterator[Listener]:
    log = JsonLog(out / "log.jsonl")
    stack.callback(log.close)
    yield log
    if tensorboard.is_installed():
        board = tensorboard.TensorBoardLog(out / "tensorboard")
        stack.callback(board.close)
        yield board


@contextmanager
def _claimed(out: Path) -> Iterator[None]:
    """Only one process may train into a directory."""
    with disk_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / ".lock").open("a")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TrainError(f"{out}: another process is training here; wait for it or choose another --out") from None
        yield


def _same_config(config: RunConfig, out: Path) -> None:
    """A run keeps its settings: other ones would make it another run."""
    path = out / "config.json"
    if path.exists():
        older = RunConfig.parse(read_json(path), str(path))
        changes = config.changed_from(older)
        if changes:
            raise TrainError(
                f"{out}: this run was started with other settings ({'; '.join(changes)}); "
                "run the same command again to resume it, or choose another --out"
            )
    elif (out / CHECKPOINTS).exists():
        raise TrainError(f"{out}: has checkpoints but no config.json; choose another --out")
    else:
        write_whole(path, to_json(config.model_dump(mode="json")))


def _job(config: RunConfig, out: Path, prepared: Prepared, device: torch.device) -> tuple[Job, tuple[str, ...]]:
    """A fresh network, or the one of the newest checkpoint that is whole."""
    remove_leftovers(out)
    remove_leftovers(out / CHECKPOINTS)
    tokenizers = prepared.tokenizers
    sizes = len(tokenizers.source.vocabulary), len(tokenizers.target.vocabulary)
    torch.manual_seed(config.train.seed)
    network = build_model(config.model, *sizes, joint=tokenizers.joint).to(device)
    languages = Languages(source=prepared.languages[0], target=prepared.languages[1])
    vocabulary = VocabularySizes(source=sizes[0], target=sizes[1], joint=tokenizers.joint)
    bundle = BundleConfig(model=config.model, languages=languages, vocabulary=vocabulary)
    model = Model(network, tokenizers, languages=languages, reach=bundle.reach)
    average = MovingAverage(network, config.train.ema) if config.train.ema else None
    job = Job(
        config=config,
        run=out,
        prepared=prepared,
        network=network,
        model=model,
        optimizer=Optimizer(network, config.train),
        average=average,
        progress=Progress(),
        bundle=bundle,
        device=device,
    )
    name, complaints = newest_valid(out)
    if name is not None:
        complaints += _restore(job, name)
    cut_back(out / "log.jsonl", job.progress.step)
    return job, tuple(complaints)


def _restore(job: Job, name: str) -> list[str]:
    """Put the job where the checkpoint was; returns what the user should know."""
    directory = job.run / name
    memory, state = read_state(directory)
    if state["data"] != job.prepared.key:
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
    if job.progress.best_step == job.progress.step and job.progress.step:
        write_pointer(job.run, "best", name)
    if state["threads"] != torch.get_num_threads():
        return [
            f"resumed with {torch.get_num_threads()} threads, started with {state['threads']}: "
            "results may differ in the last bits"
        ]
    return []


def _try_average(job: Job) -> None:
    """Let the mean of the last checkpoints be the best, if it is."""
    config = job.config.train
    directories = sorted((job.run / CHECKPOINTS).glob("step-*[0-9]"))[-config.average :] if config.average > 1 else []
    if len(directories) < 2:
        return
    weights = mean_weights(directories)
    job.network.load_state_dict(weights, strict=False)  # a tied embedding is stored once
    job.network.eval()
    if config.select == "bleu":
        value = quality(job.model, job.prepared.valid_pairs).bleu
    else:
        value = -corpus_loss(job.network, job.prepared.valid, job.prepared.tokenizers, job.device)
    if job.progress.best is None or value > job.progress.best:
        save_bundle(job.run / CHECKPOINTS / "average", weights, job.bundle, job.prepared.tokenizers)
        write_pointer(job.run, "best", f"{CHECKPOINTS}/average")


def _measure(job: Job) -> Final:
    """Judge the best model, and write metrics.json."""
    final = final_evaluation(load(job.run, job.device), job.prepared)
    best = read_pointer(job.run, "best")
    final.metrics.update(
        parameters=sum(parameter.numel() for parameter in job.network.parameters()),
        tokens=job.progress.tokens,
        seconds=job.progress.seconds,
        steps=job.progress.step,
        model=None if best is None else best.relative_to(job.run).as_posix(),
        languages=job.bundle.languages.model_dump(),
    )
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in final.translations]
    write_whole(job.run / "translations.jsonl", "".join(lines))
    write_whole(job.run / "metrics.json", to_json(final.metrics))
    return final
