"""`regard compare`: a table and a figure of finished runs, with standard deviations over seeds and significance tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.metrics.scores import METRICS, counted_names

if TYPE_CHECKING:
    from regard.explain.comparison import Comparison, RunResult

FORMATS = ("terminal", "markdown", "latex", "json")
MOST_RESAMPLES = 100_000  # p has five digits then, after minutes


def metric_choices() -> str:
    """The metrics that can be tested, grouped by task output: "bleu (the default) or chrf of translations, accuracy .. of labels"."""
    names: dict[str, list[str]] = {}
    for name in counted_names():
        names.setdefault(METRICS[name].judges, []).append(name)
    groups = []
    for judged, (first, *others) in names.items():
        choices = [f"{first} (the default)", *others]
        last = f" or {choices.pop()}" if others else ""
        groups.append(f"{', '.join(choices)}{last} of {judged}")
    return ", ".join(groups)


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR", help="Finished runs, or directories of runs.")],
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Test against this run's row; else the first run, or a sweep's first cell.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help=f"What is tested, drawn and told by length: {metric_choices()}."),
    ] = None,
    tokenize: Annotated[str, typer.Option(help="How BLEU cuts words: 13a, none, intl, char, zh, ..")] = "13a",
    by_length: Annotated[bool, typer.Option("--by-length", help="Add a table by the length of the source.")] = False,
    layout: Annotated[str, typer.Option("--format", help="terminal, markdown, latex or json.")] = "terminal",
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw rows and lengths too: .svg, .png or .pdf.")
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=1, max=MOST_RESAMPLES, help="Test sets drawn by the paired bootstrap.")
    ] = 1000,
) -> None:
    """Compare runs of one task: runs that differ in train.seed alone are one row, with mean and standard deviation.

    p tells how often a difference from the baseline as large as this one would come about by chance (paired bootstrap, Koehn 2004).
    """
    from regard.cli.streams import open_output
    from regard.errors import ConfigError
    from regard.explain.comparison import compare_runs
    from regard.metrics.translation import TOKENIZERS

    for option, value, choices in (
        ("--format", layout, FORMATS),
        ("--metric", metric, counted_names()),
        ("--tokenize", tokenize, TOKENIZERS),
    ):
        if value is not None and value not in choices:
            raise ConfigError(f"{option} {value}: not one of {', '.join(choices)}")
    against = None if baseline is None else _baseline(baseline)
    comparison = compare_runs(
        finished_runs(runs if baseline is None else [*runs, baseline]),
        baseline=against,
        metric=metric,
        tokenize=tokenize,
        resamples=resamples,
    )
    if figure is not None:
        from regard.explain.figures import draw_comparison

        draw_comparison(comparison, figure)
    with open_output(None) as stream:
        stream.write(format_comparison(comparison, layout, by_length=by_length))


def finished_runs(paths: Sequence[Path]) -> "list[RunResult]":
    """The results of the finished runs. Unfinished and duplicate runs are skipped with a warning."""
    from regard.cli.streams import print_status
    from regard.errors import DataError
    from regard.explain.comparison import is_finished, refuse_other_task

    results: list[RunResult] = []
    for directory in _directories(paths):
        if not is_finished(directory):
            print_status(f"regard: warning: {directory}: not a finished run; left out")
            continue
        result = _result(directory)
        twin = next((earlier for earlier in results if earlier.settings == result.settings), None)
        if twin is None:
            results.append(result)
        else:
            refuse_other_task(twin, result)  # the files that its settings name may have changed
            print_status(f"regard: warning: {directory}: the same settings and seed as {twin.directory}; left out")
    if not results:
        raise DataError("there is no finished run to compare; let `regard train` come to its end first")
    return results


def _directories(paths: Sequence[Path]) -> list[Path]:
    """The directory of every run, without duplicates. A directory that contains runs is replaced by them."""
    from regard.errors import DataError
    from regard.tasks.runs import runs_in

    by_resolved: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise DataError(f"{path}: no such directory; give the directories of finished runs")
        directories = [path] if (path / "config.json").exists() else runs_in(path)
        if not directories:
            raise DataError(f"{path}: neither a run nor a directory of runs; give the directories of finished runs")
        for directory in directories:
            by_resolved.setdefault(directory.resolve(), directory)
    return list(by_resolved.values())


def _baseline(directory: Path) -> "RunResult":
    from regard.errors import DataError
    from regard.explain.comparison import is_finished

    if not is_finished(directory):
        raise DataError(f"--baseline {directory}: not the directory of a finished run; finish it or choose another one")
    return _result(directory)


def _result(directory: Path) -> "RunResult":
    from regard.explain.comparison import read_result
    from regard.settings import leaves
    from regard.tasks.settings import parse_stored, stored_uses

    path = directory / "config.json"
    settings = parse_stored(path).model_dump(mode="json")
    extensions = {f"extension.{use.name}": use.sha256[:8] for use in stored_uses(path)}
    return read_result(directory, {**dict(leaves(settings)), **extensions})


def format_comparison(comparison: "Comparison", layout: str, *, by_length: bool = False) -> str:
    """The comparison as text, in one of `FORMATS`."""
    from regard.explain.tables import comparison_to_json, to_latex, to_markdown

    write = {"markdown": to_markdown, "latex": to_latex, "json": comparison_to_json, "terminal": _terminal}[layout]
    return write(comparison, by_length=by_length)


def _terminal(comparison: "Comparison", *, by_length: bool = False) -> str:
    from regard.cli.tables import draw_tables
    from regard.explain.tables import notes, tables

    return draw_tables(tables(comparison, by_length=by_length), notes(comparison, by_length=by_length))
