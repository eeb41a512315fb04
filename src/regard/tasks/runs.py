"""The runs in a directory, and how far each has come, from their files. It opens no model and needs no extension.

run/config.json  checkpoints/  latest  best  log.jsonl  metrics.json     sweep/sweep.json  sweep/CELL/ ..
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from regard.bundle.locate import CHECKPOINTS, LOCK, read_pointer
from regard.bundle.manifest import MANIFEST
from regard.bundle.weights import WEIGHTS
from regard.errors import ConfigError, FileError, TrainError
from regard.files import to_json, write_whole
from regard.foreign import bounded_lines, open_regular, parse_json
from regard.locks import lock_handle
from regard.metrics.scores import LINE, METRICS, Metric, with_added
from regard.settings import read_json
from regard.tasks.table import TASKS

CONFIG, METRICS_FILE, LATEST, LOG = "config.json", "metrics.json", "latest", "log.jsonl"
_LARGEST = 1e300  # of a number in a damaged file
SWEEP = "sweep.json"
"""The file of a sweep: the names of its cells in order."""


def is_run(directory: Path) -> bool:
    """Whether the directory is a run, begun or finished. A bundle has a manifest or weights beside its config.json."""
    is_bundle = any((directory / name).exists() for name in (MANIFEST, WEIGHTS))
    return (directory / CONFIG).is_file() and not is_bundle


def is_done(run: Path) -> bool:
    """Whether the run is finished."""
    return (run / METRICS_FILE).exists()


def has_checkpoint(run: Path) -> bool:
    """Whether a run has a model to load."""
    return (run / LATEST).exists() or (run / "best").exists()


def runs_in(directory: Path) -> list[Path]:
    """The runs directly in a directory: the cells of a sweep in the order of its latest command, then all others by name.

    The first is the baseline of a comparison, in `regard sweep` and in `regard compare` alike.
    """
    runs = sorted(path.parent for path in directory.glob(f"*/{CONFIG}") if is_run(path.parent))
    order = {name: place for place, name in enumerate(_cells(directory))}
    return sorted(runs, key=lambda run: order.get(run.name, len(order)))


def runs_below(directory: Path) -> Iterator[Path]:
    """All runs below a directory, however deep, or the directory itself if it is one. Nothing inside of a run is looked at."""
    if is_run(directory):
        yield directory
        return
    yield from runs_in(directory)
    for inner in sorted(path for path in directory.iterdir() if path.is_dir() and not path.is_symlink()):
        if not is_run(inner) and not (inner / MANIFEST).exists():
            yield from runs_below(inner)


def write_order(sweep: Path, cells: Sequence[Path]) -> None:
    """Record the order of a sweep's cells; those of earlier commands follow."""
    names = [cell.name for cell in cells]
    names += [name for name in _cells(sweep) if name not in names]
    write_whole(sweep / SWEEP, to_json({"cells": names}))


def _cells(sweep: Path) -> list[str]:
    path = sweep / SWEEP
    names = read_json(path).get("cells") if path.is_file() else []
    if not isinstance(names, list):
        raise ConfigError(f"{path}: cells = {names!r}: not a list of names; delete the file to order cells by name")
    return [str(name) for name in names]


@dataclass(frozen=True)
class RunState:
    """How far a run has come."""

    directory: Path
    task: str
    kind: str | None
    """The kind of network, such as `transformer`."""
    parameters: int | None
    state: Literal["finished", "training", "unfinished"]
    """`training`: a process is training it now."""
    step: int | None
    """The last step in the log."""
    saved_step: int | None
    """The step of the latest checkpoint, from which the run would go on."""
    minutes: float | None
    """The time of training so far, without preparation and validation."""
    score: tuple[str, float] | None
    """The first score of the task that is there: of the test set if finished, else of the best validation."""
    changed: datetime
    """When one of its files was last written."""
    extensions: tuple[str, ...]
    """The names of the extension files that it needs."""

    @property
    def score_text(self) -> str | None:
        """Name and value of the score, such as "BLEU 31.20"."""
        if self.score is None:
            return None
        name, value = self.score
        row = METRICS.get(name, Metric(name, name, digits=3))
        return LINE.format(
            heading=row.heading, value=row.scale * value, digits=row.digits, unit=f" {row.unit}".rstrip()
        )

    @property
    def go_on(self) -> str | None:
        """The command that goes on with the run; None if it is finished or training now."""
        extensions = "".join(f" --extension {name}" for name in self.extensions)
        return f"regard resume {self.directory}{extensions}" if self.state == "unfinished" else None

    def to_json(self) -> dict[str, Any]:
        """The state as `regard ls --json` and `regard info` show it."""
        return {
            "directory": str(self.directory),
            "task": self.task,
            "kind": self.kind,
            "parameters": self.parameters,
            "state": self.state,
            "step": self.step,
            "saved_step": self.saved_step,
            "minutes": None if self.minutes is None else round(self.minutes, 2),
            "score": None if self.score is None else {"name": self.score[0], "value": self.score[1]},
            "changed": self.changed.isoformat(timespec="seconds"),
            "go_on": self.go_on,
        }


def run_state(run: Path) -> RunState:
    """The state of a run. A `RegardError` names the file that cannot be read."""
    config = read_json(run / CONFIG)
    finished = is_done(run)
    metrics = read_json(run / METRICS_FILE) if finished else {}
    log = _read_log(run / LOG)
    task = str(config.get("task", "translate"))
    model = config.get("model")
    seconds = _finite(metrics.get("seconds", log.seconds))
    files = [run / name for name in (CONFIG, METRICS_FILE, LATEST, LOG) if (run / name).exists()]
    return RunState(
        directory=run,
        task=task,
        kind=str(model.get("kind", "transformer")) if isinstance(model, Mapping) else None,
        parameters=_whole(metrics.get("parameters", log.parameters)),
        state="finished" if finished else "training" if _is_locked(run) else "unfinished",
        step=_whole(metrics.get("steps", log.step)),
        saved_step=_saved_step(run),
        minutes=None if seconds is None else seconds / 60.0,
        score=_score(task, metrics if finished else log.best, finished),
        changed=datetime.fromtimestamp(max(path.stat().st_mtime for path in files), UTC),
        extensions=tuple(
            str(use.get("name")) for use in _list(config.get("extensions")) if isinstance(use, dict) and "name" in use
        ),
    )


@dataclass
class _Log:
    """The state of a run by its log."""

    step: int | None = None
    seconds: float | None = None
    parameters: int | None = None
    best: Mapping[str, Any] | None = None

    def advance(self, event: Mapping[str, Any]) -> None:
        """Take over the step and the seconds of an event that is not older."""
        step = _whole(event.get("step"))
        if step is not None and step >= (self.step or 0):
            self.step, self.seconds = step, _finite(event.get("seconds"))


def _read_log(path: Path) -> _Log:
    """The last step, the parameters and the best validation. Only the last step is parsed: a log may have millions."""
    log, last_step = _Log(), b""
    if not path.is_file():
        return log
    for line in bounded_lines(path):
        if line.startswith(b'{"event": "step"') and line.endswith(b"\n"):
            last_step = line
            continue
        event = _event(line)
        if event.get("event") == "started":
            log.parameters = _whole(event.get("parameters")) or None
        elif event.get("event") == "validated" and event.get("best"):
            log.best = event
        log.advance(event)
    log.advance(_event(last_step))
    return log


def _event(line: bytes) -> dict[str, Any]:
    """The object of a line; empty for a damaged one."""
    try:
        event = parse_json(line.decode("utf-8"), "event")
    except (FileError, UnicodeDecodeError):
        return {}
    return event if isinstance(event, dict) else {}


def _score(task: str, values: Mapping[str, Any] | None, finished: bool) -> tuple[str, float] | None:
    if not values or task not in TASKS:  # the task of an extension that is not loaded
        return None
    names = with_added(TASKS[task].scores if finished else TASKS[task].validated)
    for name in (*names, "perplexity", "loss"):
        value = _finite(values.get(name))
        if value is not None:
            return name, value
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _finite(value: Any) -> float | None:
    """The value if it is a finite number, as a file that was damaged may have anything."""
    is_number = isinstance(value, int | float) and abs(value) < _LARGEST  # NaN is not
    return float(value) if is_number else None


def _whole(value: Any) -> int | None:
    number = _finite(value)
    return None if number is None else int(number)


def _saved_step(run: Path) -> int | None:
    """The step of the latest checkpoint; without a pointer to it, of the newest that is there. None: nothing is saved."""
    latest = read_pointer(run, "latest") or max((run / CHECKPOINTS).glob("step-*"), default=None)
    step = "" if latest is None else latest.name.removeprefix("step-")
    return int(step) if step.isascii() and step.isdecimal() and len(step) < 19 else None


def _is_locked(run: Path) -> bool:
    """Whether a process is training in the directory."""
    try:
        with open_regular(run / LOCK) as lock:
            return not lock_handle(lock.fileno(), shared=True)
    except (FileNotFoundError, FileError):  # no file, or none that a training has made
        return False
    except OSError:
        return True


def refuse_holder_of_runs(out: Path) -> None:
    """Refuse to train into a directory that holds other runs."""
    if is_run(out) or (out / CHECKPOINTS).exists():
        return
    others = runs_in(out)
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise TrainError(
            f"--out {out}: it holds other runs ({others[0].name}{more}); give this run a directory of its own, "
            f"such as --out {out / 'NAME'}"
        )
