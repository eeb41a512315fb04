"""`regard sweep`: trains a grid of settings and seeds and compares the runs. Each cell is a `regard train` process."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

REGARD = [sys.executable, "-P", "-m", "regard.cli.main"]  # -P: import nothing from the current directory
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
    from regard.cli.streams import open_output, print_status
    from regard.cli.train import merge_settings
    from regard.errors import ConfigError
    from regard.tasks.sweep import grid, is_done, places

    if out is None or out == Path():
        raise ConfigError(
            "--out DIR is missing, or is the current directory: where should the cells be kept? For example --out runs/sweep"
        )
    cells = grid(merge_settings(config, None, {}, []), sets or [], seeds, "settings" if config is None else str(config))
    directories = places(cells, out)
    commands = [_command(config, cell.sets, run) for cell, run in zip(cells, directories, strict=True)]
    if dry_run:
        with open_output(None) as stream:
            for command, run in zip(commands, directories, strict=True):
                stream.write(f"{'# finished: ' if is_done(run) else ''}{shlex.join(['regard', *command])}\n")
        return
    failed = _train(commands, directories, out)
    _print_comparison([run for run in directories if is_done(run)])
    if failed:
        print_status(
            f"regard: {len(failed)} of {len(cells)} cells failed: {' '.join(failed)}; {out / FAILED} tells why; "
            "run the same command again to try them again"
        )
        raise typer.Exit(1)


def _command(config: Path | None, sets: Sequence[str], run: Path) -> list[str]:
    """The arguments of `regard` that train one cell."""
    from regard.extensions import loaded_files

    given = [] if config is None else [str(config)]
    given += [part for file in loaded_files() for part in ("--extension", str(file))]
    return ["train", *given, *(part for assignment in sets for part in ("--set", assignment)), "--out", str(run)]


def _train(commands: Sequence[Sequence[str]], directories: Sequence[Path], out: Path) -> dict[str, str]:
    """Train the unfinished cells; returns the failed ones with their last message. An interrupt exits the command."""
    from regard.cli.streams import print_status
    from regard.files import disk_errors, to_json, write_whole
    from regard.tasks.sweep import is_done

    failed: dict[str, str] = {}
    with disk_errors(out):
        (out / FAILED).unlink(missing_ok=True)
    with _Processes() as processes:
        for number, (command, run) in enumerate(zip(commands, directories, strict=True), start=1):
            if is_done(run):
                print_status(f"cell {number} of {len(commands)}: {run}: finished before")
                continue
            print_status(f"cell {number} of {len(commands)}: {run}")
            code, last = processes.run([*REGARD, *command])
            if processes.signals:
                print_status(f"interrupted; what was trained is saved in {out}: run the same command again to go on")
                raise typer.Exit(128 + processes.signals[0])
            if code:
                failed[run.name] = last or f"ended with code {code}"
                write_whole(out / FAILED, to_json(failed))
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


class _Processes:
    """Runs commands one after the other and forwards SIGINT and SIGTERM to the running one.

    Each command has its own process group: Ctrl-C in the terminal must not reach it directly, because a second signal would end it unsaved.
    """

    def __init__(self) -> None:
        self.signals: list[int] = []
        self._forwarded = 0
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> "_Processes":
        self._before = {
            number: signal.signal(number, self._handle_signal) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def run(self, command: Sequence[str]) -> tuple[int, str]:
        """Run a command; returns its exit code and its last stderr line. All stderr lines are printed."""
        from regard.cli.streams import print_status

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
            self._forward_signals()
            assert child.stderr is not None
            for line in child.stderr:
                last = line.strip() or last
                print_status(line.rstrip("\n"))
        self._child = None
        return child.returncode, last

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        self.signals.append(number)
        self._forward_signals()

    def _forward_signals(self) -> None:
        while self._child is not None and self._forwarded < len(self.signals):
            self._forwarded += 1
            self._child.send_signal(self.signals[self._forwarded - 1])
