"""`regard ls`: a table of the runs below a directory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.tasks.runs import RunState

HEADINGS = ("run", "task", "model", "parameters", "score", "minutes", "state", "changed")
NOTHING = "-"


def ls(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to look, however deep.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
) -> None:
    """List the runs below a directory: what they are, how good, and how far.

    The score is of the test set; of a run that is not finished, of its best validation. Runs that cannot be read are named on stderr.
    """
    from regard.cli.streams import open_output, print_status
    from regard.cli.tables import draw_tables
    from regard.errors import DataError
    from regard.explain.tables import Table
    from regard.files import to_json

    if not directory.is_dir():
        raise DataError(f"{directory}: no such directory; give one that holds runs")
    states, problems = _read(directory)
    for problem in problems.values():
        print_status(f"regard: warning: {problem}")
    if not states and not problems:
        print_status(f"{directory}: no runs here; `regard train --out {directory / 'NAME'}` makes one")
    with open_output(None) as stream:
        if as_json:
            broken = [{"directory": str(run), "problem": problem} for run, problem in problems.items()]
            stream.write(to_json([*(state.to_json() for state in states), *broken]))
        elif states:
            stream.write(draw_tables([Table(HEADINGS, [_cells(state, directory) for state in states])], []))


def _read(directory: Path) -> "tuple[list[RunState], dict[Path, str]]":
    """The runs below a directory, and those that cannot be read with the reason."""
    from regard.errors import RegardError
    from regard.tasks.runs import run_state, runs_below

    states, problems = [], {}
    try:
        for run in runs_below(directory):
            try:
                states.append(run_state(run))
            except (RegardError, OSError) as error:
                problems[run] = str(error)
    except (RegardError, OSError) as error:  # a directory that cannot be listed, or a damaged sweep.json
        problems[directory] = str(error)
    return states, problems


def _cells(state: "RunState", directory: Path) -> list[str]:
    def text(value: Any, form: str = "{}") -> str:
        return NOTHING if value is None else form.format(value)

    inside = state.directory.relative_to(directory)
    step = "" if state.state == "finished" or state.step is None else f", step {state.step:,}"
    if state.state == "unfinished" and state.saved_step is None:  # it would go on from nothing
        step = ", nothing saved yet"
    return [
        str(state.directory if inside == Path() else inside),
        state.task,
        text(state.kind),
        text(state.parameters, "{:,}"),
        text(state.score_text),
        text(state.minutes, "{:.1f}"),
        f"{state.state}{step}",
        f"{state.changed.astimezone():%Y-%m-%d %H:%M}",
    ]
