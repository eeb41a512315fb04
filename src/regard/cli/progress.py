"""Training progress from the loop's events: a bar in a terminal, else a line every ten seconds."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from regard.activity import Activity, activity
from regard.cli.bar import clock
from regard.cli.display import shown_activities
from regard.cli.streams import print_status
from regard.errors import shown
from regard.metrics.scores import METRICS
from regard.training.events import Event, Preparing, Started, Step, Stopped, Stopping, Validated

SECONDS_BETWEEN_LINES = 10.0
SMOOTHING = 0.05


class TrainingProgress:
    """A listener for `train_run`. As a context manager it removes the bar at the end."""

    def __init__(self, unit: str = "tokens") -> None:
        """unit: of what is learned in a second."""
        self._unit = unit
        self._loss: float | None = None
        self._speed: float | None = None
        self._first_progress: float | None = None
        self._began = time.monotonic()
        self._last_line = 0.0
        self._has_bar = sys.stderr is not None and sys.stderr.isatty()
        self._stage = ExitStack()
        self._activity: Activity | None = None
        self.trained = False
        """Whether training has come to its end: what follows is the final evaluation."""
        self.by: str | None = None
        """The score, or `loss`, that decides which validation is the best."""

    def __enter__(self) -> "TrainingProgress":
        return self

    def __exit__(self, *_: object) -> None:
        self._end_stage()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step):
            self._step(event)
            return
        if isinstance(event, Preparing):
            self._report(None, _preparing(event), "preparing the corpus")
            if not self._is_time():
                return
        if isinstance(event, Started | Stopped):  # the final evaluation is another activity
            self._end_stage()
        if isinstance(event, Validated):
            self.by = event.by
        if isinstance(event, Stopped):
            self.trained = event.reason != "interrupted"
        print_status(*_lines(event))

    def _step(self, event: Step) -> None:
        self._loss = event.nll if self._loss is None else self._loss + SMOOTHING * (event.nll - self._loss)
        speed = event.tokens_per_second
        self._speed = speed if self._speed is None else self._speed + SMOOTHING * (speed - self._speed)
        if self._first_progress is None:
            self._first_progress, self._began = event.progress, time.monotonic()
        text = (
            f"step {event.step}  loss {self._loss:.3f}  {self._speed:,.0f} {self._unit}/s  {self._left(event.progress)}"
        )
        self._report(event.progress, text, "training")
        if not self._has_bar and self._is_time():
            print_status(f"{text}  learning rate {event.learning_rate:.2e}")

    def _report(self, fraction: float | None, note: str, doing: str) -> None:
        """Report the progress of the stage `doing`, which begins here if it has not begun."""
        if self._activity is None:
            self._activity = self._stage.enter_context(activity(doing))
        self._activity.report(fraction, note)

    def _end_stage(self) -> None:
        self._stage.close()
        self._activity = None

    def _is_time(self) -> bool:
        """Whether ten seconds have passed since the last line; if so, restart the count."""
        now = time.monotonic()
        due = now - self._last_line >= SECONDS_BETWEEN_LINES
        if due:
            self._last_line = now
        return due

    def _left(self, progress: float) -> str:
        assert self._first_progress is not None
        done = progress - self._first_progress
        if done <= 0.0:
            return "-:-- left"
        return f"{clock((time.monotonic() - self._began) * (1.0 - progress) / done)} left"


@contextmanager
def shown_training(task: str, out: Path) -> Iterator[TrainingProgress]:
    """A listener for a run that Python code trains in `out`: it shows what `regard train` shows."""
    from regard.tasks.runs import LOG
    from regard.tasks.table import training_unit

    print_status(f"training into {out}: its log is {out / LOG}")
    with shown_activities(), TrainingProgress(training_unit(task)) as progress:
        yield progress


def is_watched() -> bool:
    """Whether a person sees stderr: in a terminal or a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return (sys.stderr is not None and sys.stderr.isatty()) or hasattr(shell, "kernel")


def shown_scores(values: Mapping[str, Any]) -> list[str]:
    """The scores in `values` as text, such as "BLEU 31.20", in the order of `METRICS`."""
    names = [name for name, row in METRICS.items() if row.short is not None and values.get(name) is not None]
    return [METRICS[name].line(values[name]) + (_unit(values) if name == "perplexity" else "") for name in names]


def _unit(values: Mapping[str, Any]) -> str:
    """The unit of a perplexity that stands beside one of another unit."""
    return " per token" if values.get("perplexity_word") is not None else ""


def score_name(name: str) -> str:
    """The heading of a score; `loss` as it is."""
    return METRICS[name].table_heading if name in METRICS else name


def _sample(text: str) -> str:
    """A sentence or text on one line."""
    return shown(text.replace("\n", " / "))


def _lines(event: Event) -> list[str]:
    """The lines that report an event."""
    if isinstance(event, Preparing):
        return [f"preparing the corpus: {_preparing(event)}"]
    if isinstance(event, Started):
        left_out = {
            "too long": event.too_long,
            "with an empty side": event.empty,
            "held out for validation": event.held_out,
            "the same as a held-out one": event.duplicates_of_validation,
        }
        skipped = "".join(f", {count:,} {why}" for why, count in left_out.items() if count)
        # a model fitted by counting has no parameters yet
        size = f"{event.parameters:,} parameters, " if event.parameters else ""
        pieces = f"vocabulary {' / '.join(f'{size:,}' for size in event.vocabulary)}, " if event.vocabulary else ""
        precision = f", {event.precision}" if event.precision else ""
        machine = f"{event.device}, {_plural(event.threads, 'thread')}{precision}"
        first = f"{size}{_plural(event.examples, 'training example')}{skipped}; {pieces}{machine}"
        resumed = [f"resumed after step {event.step:,}"] if event.resumed else []
        return [first, *resumed, *(f"note: {note}" for note in event.notes)]
    if isinstance(event, Validated):
        name = f"step {event.step}" if event.step else "the base"
        by = "" if event.by is None else f", by {score_name(event.by)}"
        star = f" (best so far{by})" if event.best and event.step else ""
        decoded = any(METRICS[name].judges == "translations" for name in event.scores if name in METRICS)
        greedy = " by greedy search" if decoded else ""  # the final scores are of a beam
        perplexity = "" if event.perplexity is None else f", perplexity {event.perplexity:.2f}{_unit(event.scores)}"
        return [
            f"{name}: validation loss {event.loss:.3f}{perplexity}"
            f"{''.join(f', {score}' for score in shown_scores(event.scores))}{greedy}{star}",
            *(
                line
                for sample in event.samples[:2]
                for line in (f"    {_sample(sample.source)}", f"    -> {_sample(sample.hypothesis)}")
            ),
        ]
    if isinstance(event, Stopping):
        return ["stopping after this validation; Ctrl-C again stops now"]
    if isinstance(event, Stopped):
        end = f"stopped after {_plural(event.step, 'step')} and {clock(event.seconds)} of training: {event.reason}"
        if event.reason == "interrupted":
            return [end]
        beyond = ", which the limit of minutes does not count" if event.reason == "minutes" else ""
        return [end, f"evaluating the best checkpoint{beyond} .."]
    return []


def _preparing(event: Preparing) -> str:
    """The data that is being prepared, and how many lines of it; pictures and series are not counted in lines."""
    return f"{event.doing}, {event.pairs:,} lines" if event.pairs else event.doing


def _plural(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
