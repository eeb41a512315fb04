"""`regard sweep`: trains a grid of settings and seeds, each cell by `regard train` in a process of its own, and compares them."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

REGARD = [sys.executable, "-P", "-m", "regard.cli.main"]  # -P: what lies in the current directory is not ours to import
FAILED = "failed.json"


def sweep(
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG.toml]", help="Settings of all cells; `regard init` prints all.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE,VALUE..", help="A setting and its values; quote one that has commas."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Train every combination with so many seeds.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the cells are kept; give it again to go on.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands of the cells and train none.")] = False,
) -> None:
    """Train all combinations of some settings' values, and compare them: --set model.norm=pre,post --seeds 3

    The same command again goes on: finished cells are not repeated, an interrupted one is resumed, failed ones are tried again.
    """
    from regard.cli.streams import results, say
    from regard.cli.train import run_settings
    from regard.errors import ConfigError
    from regard.train.sweep import grid, is_done, places

    if out is None or out == Path():
        raise ConfigError(
            "--out DIR is missing, or is the current directory: where should the cells be kept? For example --out runs/sweep"
        )
    cells = grid(run_settings(config, None, {}, []), sets or [], seeds, "settings" if config is None else str(config))
    directories = places(cells, out)
    commands = [_command(config, cell.sets, run) for cell, run in zip(cells, directories, strict=True)]
    if dry_run:
        with results(None) as stream:
            for command, run in zip(commands, directories, strict=True):
                stream.write(f"{'# finished: ' if is_done(run) else ''}{shlex.join(['regard', *command])}\n")
        return
    failed = _train(commands, directories, out)
    _print_comparison([run for run in directories if is_done(run)])
    if failed:
        say(
            f"regard: {len(failed)} of {len(cells)} cells failed: {' '.join(failed)}; {out / FAILED} tells why; "
            "run the same command again to try them again"
        )
        raise typer.Exit(1)


def _command(config: Path | None, sets: Sequence[str], run: Path) -> list[str]:
    """The arguments of `regard` that train a cell."""
    given = [] if config is None else [str(config)]
    return ["train", *given, *(part for assignment in sets for part in ("--set", assignment)), "--out", str(run)]


def _train(commands: Sequence[Sequence[str]], directories: Sequence[Path], out: Path) -> dict[str, str]:
    """Train what is not done; returns the cells that failed, with what they said. If interrupted, the command ends here."""
    from regard.cli.streams import say
    from regard.files import disk_errors, to_json, write_whole
    from regard.train.sweep import is_done

    failed: dict[str, str] = {}
    with disk_errors(out):
        (out / FAILED).unlink(missing_ok=True)
    with _Processes() as processes:
        for number, (command, run) in enumerate(zip(commands, directories, strict=True), start=1):
            if is_done(run):
                say(f"cell {number} of {len(commands)}: {run}: finished before")
                continue
            say(f"cell {number} of {len(commands)}: {run}")
            code, last = processes.run([*REGARD, *command])
            if processes.asked:
                say(f"interrupted; what was trained is saved in {out}: run the same command again to go on")
                raise typer.Exit(128 + processes.asked[0])
            if code:
                failed[run.name] = last or f"ended with code {code}"
                write_whole(out / FAILED, to_json(failed))
    return failed


def _print_comparison(runs: Sequence[Path]) -> None:
    from regard.cli.compare import finished_runs, written
    from regard.cli.streams import results, say
    from regard.errors import RegardError
    from regard.explain.comparison import compare_runs

    if not runs:
        return
    try:
        table = written(compare_runs(finished_runs(runs)), "terminal")
    except RegardError as error:  # cells of different data are a sweep all the same
        say(f"regard: warning: the cells cannot be compared: {error}")
        return
    with results(None) as stream:
        stream.write(table)


class _Processes:
    """Runs commands one after the other, and hands every signal that asks for a stop to the one that runs.

    Each is a process group of its own, so that a Ctrl-C in the terminal reaches it from here alone: a second signal would end it unsaved.
    """

    def __init__(self) -> None:
        self.asked: list[int] = []
        self._told = 0
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> "_Processes":
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def run(self, command: Sequence[str]) -> tuple[int, str]:
        """The exit code, and the last line that it said; all lines are passed on."""
        from regard.cli.streams import say

        last = ""
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        ) as child:
            self._child = child
            self._tell()
            assert child.stderr is not None
            for line in child.stderr:
                last = line.strip() or last
                say(line.rstrip("\n"))
        self._child = None
        return child.returncode, last

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked.append(number)
        self._tell()

    def _tell(self) -> None:
        while self._child is not None and self._told < len(self.asked):
            self._told += 1
            self._child.send_signal(self.asked[self._told - 1])
