"""`regard sweep`: trains a grid of settings and seeds and compares the runs. Each cell is a `regard train` process."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.debug_flag import DEBUG, debugging
from regard.cli.train_flags import TrainFlags, with_train_flags

REGARD = [sys.executable, "-P", "-m", "regard.cli.entry"]  # -P: import nothing from the current directory
FAILED = "failed.json"
LONGEST_COMMAND = 100_000  # characters; one that is cut cannot be run


@with_train_flags
def sweep(
    *,
    out: Annotated[Path | None, typer.Option(help="Where the cells are kept; give it again to go on.")] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE,VALUE..", help="A setting and its values; quote one that has commas."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Train every combination with so many seeds.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, max=1000, help="Train so many cells at once, on an equal share of threads each.")
    ] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands of the cells and train none.")] = False,
    flags: TrainFlags,
) -> None:
    """Train all combinations of some settings' values, and compare them: --set model.norm=pre,post --seeds 3

    All flags of `regard train` hold for every cell. The first cell is the baseline, here and for `regard compare`.
    The same command again goes on: finished cells are not repeated, an interrupted one is resumed, failed ones are tried again.
    A cell's result depends on its number of threads, which --jobs divides, and not on the other cells.
    """
    from regard.cli.streams import open_output, print_status
    from regard.errors import ConfigError, shown
    from regard.extras import require
    from regard.tasks.runs import is_done
    from regard.tasks.sweep import grid, places, positions_note

    if out is None or out == Path():
        raise ConfigError(
            "--out DIR is missing, or is the current directory: where should the cells be kept? For example --out runs/sweep"
        )
    if not dry_run:
        require("torch", "training")
    cells = grid(flags.settings(), sets or [], seeds, flags.where())
    directories = places(cells, out)
    commands = [_command(flags, cell.sets, run) for cell, run in zip(cells, directories, strict=True)]
    if dry_run:
        with open_output(None) as stream:
            for command, run in zip(commands, directories, strict=True):
                line = shown(shlex.join(["regard", *command]), LONGEST_COMMAND)
                stream.write(f"{'# finished: ' if is_done(run) else ''}{line}\n")
        return
    if (note := positions_note(cells)) is not None:
        print_status(f"note: {note}")
    failed = _train(commands, directories, out, jobs)
    _print_comparison([run for run in directories if is_done(run)])
    if failed:
        print_status(
            f"regard: {len(failed)} of {len(cells)} cells failed: {' '.join(failed)}; {out / FAILED} tells why; "
            "run the same command again to try them again"
        )
        raise typer.Exit(1)


def _command(flags: TrainFlags, sets: Sequence[str], run: Path) -> list[str]:
    """The arguments of `regard` that train one cell."""
    from regard.extensions import loaded_files

    extensions = [part for file in loaded_files() for part in ("--extension", str(file))]
    assignments = [part for assignment in sets for part in ("--set", assignment)]
    debug = [DEBUG] if debugging() else []
    return ["train", *flags.arguments(), *extensions, *debug, *assignments, "--out", str(run)]


def _train(commands: Sequence[Sequence[str]], directories: Sequence[Path], out: Path, jobs: int) -> dict[str, str]:
    """Train the unfinished cells; returns the failed ones with their last message. An interrupt exits the command."""
    from regard.cli.cells import Processes
    from regard.cli.streams import print_status
    from regard.files import disk_errors, to_json, write_whole
    from regard.tasks.runs import is_done, write_order

    with disk_errors(out):
        (out / FAILED).unlink(missing_ok=True)
    write_order(out, directories)
    names = {number: f"cell {number} of {len(commands)}: {run}" for number, run in enumerate(directories, start=1)}
    waiting = {}
    for number, (command, run) in enumerate(zip(commands, directories, strict=True), start=1):
        if is_done(run):
            print_status(f"{names[number]}: finished before")
        else:
            waiting[number] = [*REGARD, *command]
    failed: dict[str, str] = {}
    with Processes(jobs) as processes:
        for ended in processes.run(waiting, names):
            if ended.code and not processes.signals:
                failed[directories[ended.number - 1].name] = ended.last_line or f"ended with code {ended.code}"
                write_whole(out / FAILED, to_json(failed))
        if processes.signals:
            print_status(f"interrupted; what was trained is saved in {out}: run the same command again to go on")
            raise typer.Exit(128 + processes.signals[0])
    return failed


def _print_comparison(runs: Sequence[Path]) -> None:
    from regard.cli.compare import finished_runs, format_comparison
    from regard.cli.streams import open_output, print_status
    from regard.errors import RegardError
    from regard.explain.comparison import compare_runs

    if not runs:
        return
    try:
        table = format_comparison(compare_runs(finished_runs(runs)), "terminal")
    except RegardError as error:  # the cells may have different data
        print_status(f"regard: warning: the cells cannot be compared: {error}")
        return
    with open_output(None) as stream:
        stream.write(table)
