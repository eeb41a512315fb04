"""Signals and failures at each phase of a command: one line at most, a sound run, and nothing that cannot go on."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from hostile.streams import READERS
from hostile.verbs import CLOSED, FULL, Command, Materials, Outcome, Server, problems, sound_commands

PHASES = {
    "prepare": "regard.data.prepare:learn_pair",
    "training": "regard.training.loop:advance",
    "validation": "regard.training.loop:_measured",
    "save": "regard.training.loop:write_checkpoint",
    "pointer": "regard.training.checkpoint:write_pointer",
    "final evaluation": "regard.tasks.translate.evaluate:evaluate_translations",
    "metrics": "regard.tasks.run:_keep",
}
SILENT = (
    "demo",
    "train",
    "resume",
    "shortlist",
    "export",
    "import",
    "push",
    "pull",
    "merge",
    "data convert",
    "data split",
    "data grammar",
    "data passages",
)
"""Verbs that write files and tell of them on standard error."""
WRITERS = [verb for verb in sound_commands() if verb not in SILENT]
"""Verbs that print results."""
TRAIN = sound_commands()["train"]


@pytest.fixture
def directory(materials: Materials, tmp_path: Path) -> Path:
    """Copies of the sound runs and texts."""
    shutil.copytree(materials.home, tmp_path / "inside", ignore=shutil.ignore_patterns(".*", "x*"))
    return tmp_path / "inside"


def handled(server: Server, command: Command, directory: Path) -> Outcome:
    outcome = server.run(command, directory)
    assert problems(command, outcome) == [], outcome
    return outcome


def quick(*names: str, among: Iterable[str]) -> list[object]:
    """Cases of which all but the named ones are slow."""
    return [name if name in names else pytest.param(name, marks=pytest.mark.slow) for name in among]


# Outside of the loop SIGTERM ends the process at once, as in any other program.
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.parametrize("phase", quick("save", among=["training", "save", "pointer"]))
def test_a_signal_in_the_loop_saves_and_stops(phase: str, number: int, server: Server, directory: Path) -> None:
    interrupted(phase, number, server, directory)


@pytest.mark.parametrize("phase", quick("prepare", among=["prepare", "validation", "final evaluation", "metrics"]))
def test_ctrl_c_at_each_other_phase(phase: str, server: Server, directory: Path) -> None:
    interrupted(phase, signal.SIGINT, server, directory)


def interrupted(phase: str, number: int, server: Server, directory: Path) -> None:
    """Interrupt a run at a phase, and go on with it."""
    fault = ("signal_in", PHASES[phase], str(int(number)))
    outcome = handled(server, replace(TRAIN, fault=fault), directory)
    assert outcome.code in (0, 128 + number), outcome
    again = handled(server, TRAIN, directory)
    assert again.code == 0, again
    assert (directory / "out" / "metrics.json").exists()
    assert not list((directory / "out").rglob("*partial*"))


@pytest.mark.parametrize("error", quick("RuntimeError", among=["MemoryError", "OSError", "RuntimeError", "TypeError"]))
def test_an_unforeseen_error_while_saving_leaves_what_was_there(error: str, server: Server, directory: Path) -> None:
    (directory / "translator" / "metrics.json").unlink()
    before = {path.name for path in (directory / "translator").rglob("*")}
    command = replace(TRAIN, fault=("raise_in", PHASES["save"], error, "DefaultCPUAllocator: can't allocate memory"))
    outcome = handled(server, command, directory)
    assert outcome.code in (1, 2)
    assert "--debug shows the traceback" in outcome.err
    assert {path.name for path in (directory / "translator").rglob("*")} == before
    debugged = server.run(replace(command, arguments=(*command.arguments, "--debug")), directory)
    assert debugged.code == outcome.code
    assert "Traceback (most recent call last)" in debugged.err
    assert debugged.err.splitlines()[-1] == outcome.err.splitlines()[-1]


@pytest.mark.parametrize("phase", quick("save", among=["validation", "save", "final evaluation", "metrics"]))
def test_a_run_that_is_removed_while_it_trains(phase: str, server: Server, directory: Path) -> None:
    outcome = handled(server, replace(TRAIN, fault=("remove_in", PHASES[phase], "out")), directory)
    assert outcome.code == 2
    assert handled(server, TRAIN, directory).code == 0


def test_a_closed_standard_input(server: Server, directory: Path) -> None:
    for words in READERS:
        outcome = handled(server, Command(words, stdin=None), directory)
        assert outcome.code == 2, outcome
        assert outcome.err.splitlines()[-1] == "regard: stdin: closed; open it, or give a file in place of '-'"


@pytest.mark.parametrize("verb", quick("translate", "info", "data check", among=WRITERS))
def test_standard_output_that_is_closed_or_full(verb: str, server: Server, directory: Path) -> None:
    for where, message in ((CLOSED, "standard output is closed"), (FULL, "standard output: no space left")):
        outcome = handled(server, replace(sound_commands()[verb], stdout=where), directory)
        assert outcome.code == 2
        assert message in outcome.err
        shutil.rmtree(directory / "out", ignore_errors=True)


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("data", "check", "--help")])
def test_help_that_cannot_be_printed(words: tuple[str, ...], server: Server, directory: Path) -> None:
    assert "No space left" in handled(server, Command(words, stdout=FULL), directory).err
    assert "standard output is closed" in handled(server, Command(words, stdout=CLOSED), directory).err


@pytest.mark.parametrize("where", [CLOSED, FULL])
def test_standard_error_that_is_closed_or_full_changes_nothing(where: str, server: Server, directory: Path) -> None:
    whole = handled(server, sound_commands()["translate"], directory)
    assert handled(server, replace(sound_commands()["translate"], stderr=where), directory).out == whole.out
    failing = handled(server, Command(("info", "nowhere"), stderr=where), directory)
    assert (failing.code, failing.out) == (2, "")
    assert handled(server, replace(TRAIN, stderr=where), directory).code == 0


def test_a_full_disk_keeps_its_own_message(server: Server, directory: Path) -> None:
    """Nothing fits; less than a buffer fits, so that closing the file fails again; one window of two fits."""
    lines = [b"le chat dort %d\n" % number for number in range(300)]

    def translated(output: str, count: int, size: int | None = None) -> Outcome:
        words = ("translate", "translator", "-o", output, "--max-length", "2", "--json", "--engine", "torch")
        return handled(server, Command(words, stdin=b"".join(lines[:count]), file_size=size), directory)

    assert translated("whole", 300).code == 0
    whole = (directory / "whole").read_bytes()
    window = len(b"".join(whole.splitlines(keepends=True)[:280]))
    for count, size in ((300, 4096), (30, 4096), (300, window)):
        outcome = translated("answers", count, size)
        assert outcome.code == 2, (count, size)
        assert outcome.err.splitlines()[-1].startswith("regard: answers")
        assert "no space left to write; free some space and run the same command again" in outcome.err
    assert "256 lines are done and kept" in outcome.err
    assert translated("answers", 300).code == 0
    assert (directory / "answers").read_bytes() == whole


def test_a_matplotlibrc_of_the_directory_is_not_obeyed(server: Server, directory: Path) -> None:
    command = Command(("compare", "translator", "--resamples", "5", "--figure", "page.svg"))
    rc = directory / "matplotlibrc"
    rc.write_text("axes.facecolor: ff0000\nfigure.facecolor: ff0000\nthis is no setting\n", encoding="utf-8")
    assert handled(server, command, directory).err == ""
    drawn = (directory / "page.svg").read_bytes()
    assert b"#ff0000" not in drawn
    rc.unlink()
    os.mkfifo(rc)
    handled(server, command, directory)
    assert (directory / "page.svg").read_bytes() == drawn


@pytest.mark.slow
def test_ctrl_c_while_the_command_starts(tmp_path: Path) -> None:
    """At moments of the first half second. Before our code runs, an interrupt is Python's own matter."""
    code = (
        "import sys; sys.argv = ['regard', 'ls', '.']; from regard.cli.entry import run; sys.stderr.write('.'); run()"
    )
    for moment in range(1, 50):
        process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        process.stderr.read(1)
        time.sleep(moment / 100)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        assert process.returncode in (0, 130), err
        assert "Traceback" not in err
