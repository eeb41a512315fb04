"""Escape sequences, bidirectional overrides and forged lines through every verb: nothing that is shown can steer a terminal."""

import shutil
from pathlib import Path

import pytest

from hostile import draw, shown_names
from hostile.verbs import UNSAFE, Command, Materials, Server, problems, sound_commands
from regard.cli.tables import draw_tables
from regard.explain.tables import Table
from regard.tasks.table import TASKS

HOSTILE = f"{draw.STEERING}{draw.REORDERING}\x9b2J\x85\nregard: forged\r"
ESCAPED = r"\x1b]0;stolen title\x07"
SLOW = ("demo", "train")  # `test_while_training` looks at them
VALUES = ("translate", "classify", "compare", "ls", "info", "report", "data check")


@pytest.fixture
def directory(materials: Materials, tmp_path: Path) -> Path:
    """Copies of the sound runs and texts."""
    inside = tmp_path / "inside"
    shutil.copytree(materials.home, inside, ignore=shutil.ignore_patterns(".*", "x*"))
    return inside


def is_escaped(command: Command, server: Server, directory: Path) -> str:
    """Run a command, check that it shows nothing raw, and return all that it printed."""
    outcome = server.run(command, directory)
    assert problems(command, outcome) == [], outcome
    assert not [line for line in outcome.err.splitlines() if line.startswith("regard: forged")]
    if command.escaped_output:
        assert not [line for line in outcome.out.splitlines() if line.startswith("regard: forged")]
    return outcome.out + outcome.err


def test_names_of_files_and_runs(server: Server, directory: Path) -> None:
    commands = shown_names.named(directory, HOSTILE)
    printed = {verb: is_escaped(command, server, directory) for verb, command in commands.items() if verb not in SLOW}
    showing = {verb for verb, text in printed.items() if ESCAPED in text}
    told = {
        "export",
        "import",
        "pull",
        "data convert",
        "data clean",
        "quantize",
        "data split",
        "data grammar",
        "data passages",
    }  # which say what they have written
    assert showing == {"resume", "compare", "sweep", "ls", "info", "report", "probe", "data check"} | told


def test_values_in_files(server: Server, directory: Path) -> None:
    """Languages, labels, settings, notes and sentences."""
    shown_names.write_values(directory, HOSTILE)
    printed = {verb: is_escaped(sound_commands()[verb], server, directory) for verb in VALUES}
    assert {verb for verb, text in printed.items() if ESCAPED in text} == {"compare", "info"}
    is_escaped(
        Command(("explain", "translator", f"le {HOSTILE} chat", "--beam", "1"), escaped_output=True), server, directory
    )


def test_tables_and_reports_of_one_task() -> None:
    confusion = {"accuracy": 0.5, "f1": 0.5, "labels": [HOSTILE, "b"], "confusion": [[1, 0], [0, 1]]}
    for text in (
        TASKS["classify"].shown(confusion),
        TASKS["generate"].shown({"perplexity": 2.0, "notes": [HOSTILE]}),
        draw_tables([Table(["", HOSTILE], [[HOSTILE, "1"]])], [HOSTILE]),
    ):
        assert ESCAPED in text
        assert not UNSAFE.search(text)
        assert not [line for line in text.splitlines() if line.startswith("regard: forged")]


def test_what_does_not_exist(server: Server, directory: Path) -> None:
    for verb, command in sound_commands().items():
        words = verb.split()
        assert ESCAPED in is_escaped(Command((*words, f"--{HOSTILE}"), escaped_output=True), server, directory)
        if verb not in ("demo", "init", "ls", "data check"):  # which take no argument, or a directory alone
            given = (HOSTILE if word in ("translator", "writer", "classifier") else word for word in command.arguments)
            is_escaped(Command((*given, "--device", HOSTILE), escaped_output=True), server, directory)


def test_while_training(server: Server, directory: Path) -> None:
    """The run's name, its languages, and the sentences that it shows at a validation."""
    shown_names.write_values(directory, HOSTILE)
    (directory / "translator" / "config.json").unlink()
    command = sound_commands(out=f"out{HOSTILE.replace('/', '')}")["train"]
    outcome = server.run(command, directory)
    assert outcome.code == 0, outcome
    assert r"\x1b]0;stolen title\x07" in outcome.err
    is_escaped(Command(("translate", f"out{HOSTILE.replace('/', '')}", "-i", "nowhere")), server, directory)
    assert problems(command, outcome) == []


@pytest.mark.parametrize("layout", ["markdown", "latex"])
def test_a_comparison_in_every_format(layout: str, server: Server, directory: Path) -> None:
    shown_names.write_values(directory, HOSTILE)
    shutil.copytree(directory / "translator", directory / f"other{HOSTILE.replace('/', '')}")
    words = ("compare", "translator", f"other{HOSTILE.replace('/', '')}", "--resamples", "5", "--format", layout)
    is_escaped(Command(words, escaped_output=True), server, directory)


def test_a_long_key_is_cut(server: Server, directory: Path) -> None:
    (directory / "long.toml").write_text(f'["{"k" * 1_000_000}"]\nx = 1\n', encoding="utf-8")
    is_escaped(Command(("train", "long.toml", "--out", "out")), server, directory)
