"""A run of any task: prepare the data, train, evaluate. The same call again resumes an interrupted run.

run/config.json  checkpoints/  latest  best  log.jsonl  metrics.json  and translations.jsonl, samples.jsonl or predictions.jsonl
    transfer.json: with a base of another task, network or vocabulary, which tensors were taken, new and left out
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.activity import activity
from regard.bundle.building import meta_network
from regard.bundle.config import installed_version
from regard.bundle.locate import find_bundle, read_pointer
from regard.bundle.opened import OpenBundle
from regard.errors import ConfigError, TrainError
from regard.extensions import extensions_in_use
from regard.files import to_json, to_json_line, write_whole
from regard.settings import read_json
from regard.tasks.bundles import open_to_load
from regard.tasks.fine_tuning import base_of, ignored_vocabulary_settings, remarks_on
from regard.tasks.forgetting import forgetting, scores_before
from regard.tasks.interface import Task
from regard.tasks.runs import CONFIG, METRICS_FILE, refuse_holder_of_runs
from regard.tasks.settings import FORMAT, changes_since, restoring, stored_format
from regard.tasks.table import TASKS
from regard.tasks.transfer import Transfer, transfer_of
from regard.text.build import vocabulary_remarks
from regard.text.config import OneTextConfig
from regard.training.checkpoint import checkpoints, require_run
from regard.training.config import RunSettings
from regard.training.events import Preparing
from regard.training.freezing import freeze
from regard.training.objective import Evaluation, Fitted, Objective, Trained, is_fitted
from regard.training.run import Listener, claimed, train_objective, training_device

TRANSFER = "transfer.json"


@dataclass(frozen=True)
class Run:
    """The result of a run: its directory, why it stopped, and its scores."""

    directory: Path
    reason: str  # max_steps, max_epochs, minutes, patience, counted, interrupted; finished: it was finished before
    metrics: dict[str, Any] | None
    evaluation: Evaluation | None = field(repr=False)  # None if interrupted, or finished before
    objective: Objective | None = field(repr=False)  # None if finished before
    signal: int | None = None  # the signal that interrupted it


def train_run(settings: RunSettings, out: Path, listeners: Sequence[Listener] = ()) -> Run:
    """Train and evaluate a run in `out`, or resume the run there."""
    device = training_device(settings)
    base, task = base_of(settings), TASKS[settings.task]
    refuse_holder_of_runs(out)
    with claimed(out):
        _refuse_other_settings(settings, out)
        if (out / METRICS_FILE).exists():
            return Run(out, "finished", read_json(out / METRICS_FILE), None, None)
        objective = task.objective(settings, base, _preparation_listener(listeners))
        transfer = transfer_of(objective, base)
        _check_frozen(settings, objective)
        _refuse_adapter(settings, transfer)
        write_whole(out / CONFIG, to_json(stored_settings(settings)))
        if transfer is not None:
            write_whole(out / TRANSFER, to_json(transfer.record()))
        remarks = _remarks(settings, objective, base, transfer)
        before = scores_before(task, settings, objective, base, out, device)
        outcome = train_objective(settings, out, objective, listeners, base, remarks, transfer)
        if outcome.reason == "interrupted":
            return Run(out, outcome.reason, None, None, objective, signal=outcome.signal)
        with activity("final evaluation"):
            served = task.load(open_to_load(find_bundle(out)), device, "auto", "float32")
            evaluation = task.evaluate(served, objective.test)
        evaluation.metrics.update(forgetting(task, settings, served, before))
        _keep(out, task, objective, evaluation, outcome.cost)
        return Run(out, outcome.reason, evaluation.metrics, evaluation, objective)


def stored_settings(settings: RunSettings) -> dict[str, Any]:
    """The config.json of a run."""
    used = [use.model_dump(mode="json") for use in extensions_in_use()]
    return {"format": FORMAT, **settings.model_dump(mode="json"), "extensions": used}


def _check_frozen(settings: RunSettings, objective: Trained | Fitted) -> None:
    """Refuse parts to freeze that the network has not, before anything is written."""
    if not settings.train.freeze:
        return
    if is_fitted(objective):
        raise ConfigError(
            f"train.freeze = {list(settings.train.freeze)}: a model that is counted has no weights; leave it out"
        )
    freeze(meta_network(objective.bundle), settings.train.freeze)


def _refuse_adapter(settings: RunSettings, transfer: Transfer | None) -> None:
    """Refuse to keep low-rank additions alone where the network is not that of the base."""
    if transfer is not None and settings.train.lora is not None and not settings.train.lora.merge:
        raise ConfigError(
            f"train.lora.merge = false: an adapter is added to the network of its base, and {transfer.base.directory} is of another "
            "task, network, labels or vocabulary; leave it out"
        )


def _remarks(
    settings: RunSettings, objective: Objective, base: OpenBundle | None, transfer: Transfer | None
) -> tuple[str, ...]:
    """Notes for the user on a new run: on its data, its base model, or a vocabulary of another size than was set."""
    notes = [*getattr(settings.model, "remarks", ()), *getattr(objective, "notes", ())]
    text = getattr(settings, "text", None)
    if base is not None and transfer is not None:
        notes += transfer.notes()
        if isinstance(text, OneTextConfig):
            notes += ignored_vocabulary_settings(text, len(base.tokenizers.source.vocabulary))
    elif base is not None:
        notes += remarks_on(settings, objective.bundle, base)
    elif isinstance(text, OneTextConfig) and "vocabulary" in text.model_fields_set:
        notes += vocabulary_remarks(text, objective.vocabulary)
    return tuple(notes)


def _preparation_listener(listeners: Sequence[Listener]) -> Callable[[str, int], None]:
    """A function that reports the preparation of the corpus as `Preparing` events."""

    def tell(doing: str, pairs: int) -> None:
        for listener in listeners:
            listener(Preparing(step=0, seconds=0.0, doing=doing, pairs=pairs))

    return tell


def _refuse_other_settings(settings: RunSettings, out: Path) -> None:
    """Refuse to resume a run with other settings or extensions than it was started with."""
    path, finished = out / CONFIG, (out / METRICS_FILE).exists()
    if not checkpoints(out) and not finished:
        return
    if not path.exists():
        raise TrainError(f"{out}: has checkpoints or metrics but no {CONFIG}; choose another --out")
    if stored_format(path) != FORMAT and not finished:
        raise TrainError(
            f"{out}: an unfinished run of format {stored_format(path)}, which regard {installed_version()} cannot resume; "
            "finish it with the version that began it, or choose another --out"
        )
    changes = changes_since(path, settings)
    if changes and finished and restoring(path) is None:
        raise TrainError(
            f"{out}: this run is finished, and had other settings ({'; '.join(changes)}); "
            f"to train it further: --start {out} --out OTHER"
        )
    if changes:
        raise TrainError(
            f"{out}: this run was started with other settings ({'; '.join(changes)}); "
            f"{restoring(path) or 'run the same command again to resume it'}, or choose another --out"
        )


def _keep(out: Path, task: Task, objective: Objective, evaluation: Evaluation, cost: dict[str, Any]) -> None:
    """Write metrics.json and the results file of the task."""
    require_run(out)
    best = read_pointer(out, "best")
    evaluation.metrics.update(
        **cost,
        task=task.name,
        model=None if best is None else best.relative_to(out).as_posix(),
        languages=objective.bundle.languages.model_dump(),
    )
    write_whole(out / task.results.name, "".join(map(to_json_line, evaluation.rows)))
    write_whole(out / METRICS_FILE, to_json(evaluation.metrics))
