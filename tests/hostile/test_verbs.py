"""The helpers themselves: every verb has a sound command, and an outcome that falls short is noticed."""

import typer

from hostile.verbs import Command, Materials, Outcome, Server, problems, sound_commands
from regard.cli.main import app

SERVERS = {"serve", "studio"}
"""They run until a signal ends them; `tests/serve` has their hostile input."""


def verbs(command: typer.core.TyperGroup, prefix: str = "") -> set[str]:
    """The names of all verbs, those of groups too."""
    names = set()
    for name, inner in command.commands.items():
        names |= verbs(inner, f"{prefix}{name} ") if hasattr(inner, "commands") else {f"{prefix}{name}"}
    return names


def test_every_verb_has_a_sound_command() -> None:
    assert set(sound_commands()) == verbs(typer.main.get_command(app)) - SERVERS


def test_a_sound_command_has_no_problems(server: Server, materials: Materials) -> None:
    for verb in ("translate", "classify", "caption", "forecast", "export", "import", "info"):
        command = sound_commands(out=f"out-{verb}")[verb]
        outcome = server.run(command, materials.home)
        assert (outcome.code, problems(command, outcome)) == (0, []), outcome


def test_what_falls_short_is_noticed() -> None:
    command = Command(("info", "x"), escaped_output=True)
    short = {
        "killed": Outcome(-11, "", ""),
        "traceback": Outcome(1, "", "Traceback (most recent call last)\n"),
        "exit code": Outcome(139, "", ""),
        "did not end": Outcome(-9, "", "", timed_out=True),
        "lines": Outcome(2, "", "regard: x\n" * 7),
        "characters": Outcome(2, "", "regard: " + "x" * 2000),
        "no message": Outcome(2, "", ""),
        "standard error": Outcome(2, "", "regard: \x1b[2J\n"),
        "standard output": Outcome(0, "\u202e", ""),
        "left running": Outcome(0, "", "", leftover=True),
    }
    for word, outcome in short.items():
        assert any(word in problem for problem in problems(command, outcome)), word
    assert problems(command, Outcome(2, "", "regard: x: no such file\n")) == []


def test_limits_hold(server: Server, materials: Materials) -> None:
    """Memory, time and the size of files are bounded in a child, and in no other."""
    lines = b"".join(b"le chat dort %d\n" % number for number in range(200_000))
    slow = Command(("translate", "translator", "--engine", "torch"), stdin=lines, seconds=1.0)
    outcome = server.run(slow, materials.home)
    assert outcome.timed_out
    assert problems(slow, outcome)
    small = Command(("translate", "translator", "-o", "x"), stdin=lines[:40_000], file_size=4096)
    outcome = server.run(small, materials.home)
    assert outcome.code != 0
    assert not (materials.home / "x").exists()
