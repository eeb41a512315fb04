"""`regard compare`: finished runs side by side, in a table and a figure, with their spread over seeds and what is no accident."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.explain.comparison import Comparison, RunResult

FORMATS = ("terminal", "markdown", "latex", "json")


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR", help="Finished runs, or directories of runs.")],
    baseline: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Test against the row of this run; else against the first row.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What is tested, drawn and told by length: bleu (the default), chrf, ter or exact_match of translators, "
            "accuracy (the default) or f1 of classifiers."
        ),
    ] = None,
    tokenize: Annotated[str, typer.Option(help="How BLEU cuts words: 13a, none, intl, char, zh, ..")] = "13a",
    by_length: Annotated[bool, typer.Option("--by-length", help="Add a table by the length of the source.")] = False,
    layout: Annotated[str, typer.Option("--format", help="terminal, markdown, latex or json.")] = "terminal",
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw rows and lengths too: .svg, .png or .pdf.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Test sets drawn by the paired bootstrap.")] = 1000,
) -> None:
    """Compare runs of one task: runs that differ in train.seed alone are one row, with mean and standard deviation.

    p tells how often a difference from the baseline as large as this one would come about by chance (paired bootstrap, Koehn 2004).
    """
    from regard.cli.streams import results
    from regard.errors import ConfigError
    from regard.explain.comparison import compare_runs
    from regard.metrics.significance import COUNTED
    from regard.metrics.translation import TOKENIZERS

    for option, value, known in (
        ("--format", layout, FORMATS),
        ("--metric", metric, COUNTED),
        ("--tokenize", tokenize, TOKENIZERS),
    ):
        if value is not None and value not in known:
            raise ConfigError(f"{option} {value}: not one of {', '.join(known)}")
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
    with results(None) as stream:
        stream.write(written(comparison, layout, by_length=by_length))


def finished_runs(paths: Sequence[Path]) -> "list[RunResult]":
    """What the runs left; those that are unfinished or repeat another one are named and passed over."""
    from regard.cli.streams import say
    from regard.errors import DataError
    from regard.explain.comparison import is_finished, refuse_other_task

    found: list[RunResult] = []
    for directory in _directories(paths):
        if not is_finished(directory):
            say(f"regard: warning: {directory}: not a finished run; left out")
            continue
        result = _result(directory)
        twin = next((other for other in found if other.settings == result.settings), None)
        if twin is None:
            found.append(result)
        else:
            refuse_other_task(twin, result)  # the files that its settings name may have changed
            say(f"regard: warning: {directory}: the same settings and seed as {twin.directory}; left out")
    if not found:
        raise DataError("there is no finished run to compare; let `regard train` come to its end first")
    return found


def _directories(paths: Sequence[Path]) -> list[Path]:
    """Every run once; a directory that is no run but holds some stands for these."""
    from regard.errors import DataError

    once: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise DataError(f"{path}: no such directory; give the directories of finished runs")
        inside = [] if (path / "config.json").exists() else sorted(path.glob("*/config.json"))
        if not inside and not (path / "config.json").exists():
            raise DataError(f"{path}: neither a run nor a directory of runs; give the directories of finished runs")
        for directory in [config.parent for config in inside] or [path]:
            once.setdefault(directory.resolve(), directory)
    return list(once.values())


def _baseline(directory: Path) -> "RunResult":
    from regard.errors import DataError
    from regard.explain.comparison import is_finished

    if not is_finished(directory):
        raise DataError(f"--baseline {directory}: not the directory of a finished run; finish it or choose another one")
    return _result(directory)


def _result(directory: Path) -> "RunResult":
    from regard.explain.comparison import read_result
    from regard.settings import leaves, read_json
    from regard.train.config import RunConfig

    path = directory / "config.json"
    settings = RunConfig.parse(read_json(path), str(path)).model_dump(mode="json")
    return read_result(directory, dict(leaves(settings)))


def written(comparison: "Comparison", layout: str, *, by_length: bool = False) -> str:
    """The comparison as text, in one of `FORMATS`."""
    from regard.explain.tables import comparison_to_json, to_latex, to_markdown

    write = {"markdown": to_markdown, "latex": to_latex, "json": comparison_to_json, "terminal": _terminal}[layout]
    return write(comparison, by_length=by_length)


def _terminal(comparison: "Comparison", *, by_length: bool = False) -> str:
    """Tables drawn by rich, as wide as the terminal, or as they need to be where the output is no terminal."""
    import io
    import sys

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from regard.explain.tables import notes, tables

    width = Console().width if sys.stdout.isatty() else 1000
    text = io.StringIO()
    console = Console(file=text, width=width)
    for table in tables(comparison, by_length=by_length):
        drawn = RichTable(box=SIMPLE_HEAD)
        for number, heading in enumerate(table.headings):
            drawn.add_column(heading, justify="right" if number else "left", overflow="fold")
        for row in table.cells:
            drawn.add_row(*map(Text, row))  # not str, in which rich would read [brackets] as markup
        console.print(drawn)
    for note in notes(comparison):
        console.print(note, markup=False, highlight=False)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
