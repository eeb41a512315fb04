"""`regard train`: trains a model into a run directory. The same command again resumes it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.train_flags import TrainFlags, with_train_flags
from regard.errors import shown

if TYPE_CHECKING:
    from regard.training.config import TrainConfig


@with_train_flags
def train(
    *,
    out: Annotated[Path | None, typer.Option(help="The run directory; give it again to resume.")] = None,
    flags: TrainFlags,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, e.g. model.layers=6.")
    ] = None,
) -> None:
    """Train a translator, or with --task a language model, a classifier or a forecaster. Without data a translator trains on the
    pocket corpus.
    """
    from regard.errors import ConfigError

    if out is None or out == Path():  # an empty path is the current directory
        raise ConfigError(
            "--out DIR is missing, or is the current directory: where should the run be kept? For example --out runs/first"
        )
    train_with_progress(flags.settings(sets or []), out, flags.where(sets or []))


def train_with_progress(values: dict[str, Any], out: Path, where: str = "settings") -> None:
    """Train with a progress bar and a summary on stderr. An interrupt exits the command."""
    from regard.cli.progress import TrainingProgress, score_name
    from regard.cli.streams import print_status
    from regard.data.config import PairData
    from regard.extensions import loaded_files
    from regard.extras import require
    from regard.tasks.fine_tuning import run_settings
    from regard.tasks.table import training_unit

    require("torch", "training")
    config = run_settings(values, where)
    print_status("loading torch ..")
    from regard.api import train as train_run
    from regard.training.checkpoint import checkpoint_name

    data = getattr(config, "data", None)
    if config.task == "caption" and getattr(data, "captions", None) is None:
        print_status("no captions given: training on the scenes corpus, generated pictures of shapes")
    if isinstance(data, PairData) and not data.training_corpora:
        back = " and back" if data.both else ""
        print_status(f"no data given: training on the pocket corpus, French to English{back}")
    with TrainingProgress(training_unit(config.task)) as progress:
        try:
            run = train_run(config, out, progress)
        except KeyboardInterrupt:
            print_status(_interruption(out, trained=progress.trained))
            raise
    if run.signal is not None:
        extensions = "".join(f" --extension {file}" for file in loaded_files())
        print_status(
            f"interrupted; everything is saved in {out}: run the same command again to go on, "
            f"or regard resume {out}{extensions}"
        )
        raise typer.Exit(128 + run.signal)  # the exit code of a shell for a signal
    assert run.metrics is not None
    if run.reason == "finished":
        print_status(f"{out}: this run is finished; choose another --out for a new one")
    if (cut := cut_short(config.train, run.metrics)) is not None:
        print_status(f"note: {cut}")
    print_status(metrics_summary(run.metrics), *direction_lines(run.metrics))
    if "forgetting" in run.metrics:
        from regard.tasks.forgetting import forgetting_line  # it imports torch, which is loaded by now

        print_status(forgetting_line(run.metrics["forgetting"]))
    if run.metrics.get("model") == checkpoint_name(0):
        given = None if config.train.select == "auto" else config.train.select
        by = "" if (score := progress.by or given) is None else f", by {score_name(score)}"
        print_status(f"no validation was better than that of the base{by}: {out} serves a copy of {config.train.start}")
    for note in run.metrics.get("notes", ()):
        print_status(f"note: {note}")
    print_status(f"report: {out / 'report.html'}")


def _interruption(out: Path, *, trained: bool) -> str:
    """A line on what is kept of a run that is interrupted before or after its steps. trained: all of them are done."""
    if trained:
        return (
            f"interrupted in the final evaluation; the trained model is kept in {out} and can be used. "
            f"`regard resume {out}` makes the evaluation and the report, `regard evaluate {out}` gives scores on other text"
        )
    return f"interrupted before training began; run the same command again to train into {out}"


def direction_lines(metrics: dict[str, Any]) -> list[str]:
    """The scores of each direction, of which those of the run are the mean; none for a model of one direction."""
    from regard.cli.progress import shown_scores

    directions = metrics.get("directions") or {}
    return [f"    {shown(name)}: {', '.join(shown_scores(own))}" for name, own in directions.items()]


def cut_short(config: "TrainConfig", metrics: dict[str, Any]) -> str | None:
    """A note on a run that its time limit ended before its last step; None: it was not so."""
    steps, minutes = config.max_steps, config.minutes
    done, seconds = metrics.get("steps", 0), metrics.get("seconds", 0.0)
    if steps is None or minutes is None or done >= steps or seconds < 60.0 * minutes:
        return None
    enough = f"{1.5 * minutes * steps / max(1, done):.2g}"
    return (
        f"the time limit (train.minutes = {minutes:g}) ended this run after {done:,} of its {steps:,} steps, so it has learned less "
        "than it could; it cannot go on, because its learning rate has reached zero: train anew with more time, "
        f"--out OTHER --set train.minutes={float(enough):g}"
    )


def metrics_summary(metrics: dict[str, Any]) -> str:
    """The final metrics in one line."""
    from regard.cli.progress import shown_scores
    from regard.tasks.table import TASKS

    sizes = {"evaluated_tokens": "tokens", **dict([TASKS[str(metrics.get("task", "translate"))].results.size])}
    size = next(f"{metrics[key]:,} {unit}" for key, unit in sizes.items() if key in metrics)
    size += f", beam {metrics['beam']}" if "beam" in metrics else ""
    return f"{metrics['set']} set, {size}: {', '.join(shown_scores(metrics))}"
