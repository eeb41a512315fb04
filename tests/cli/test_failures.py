"""The last line of defence: whatever ends a command is one line with exit code 2 or 1, and `--debug` shows the traceback."""

import errno
from pathlib import Path
from typing import Any

import pytest
import torch
import typer

from regard.cli import failures
from regard.cli.debug_flag import HINT
from regard.cli.main import app
from regard.errors import DataError
from regard.tasks import template

BUG = "this is a bug in regard"
CASES: list[tuple[BaseException, int, str]] = [
    (MemoryError(), 1, f"out of memory; use a smaller model, batch or beam, or a machine with more memory; {HINT}"),
    (
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory\nmore"),
        1,
        "out of memory ([enforce fail]",
    ),
    (RuntimeError("std::bad_alloc"), 1, "out of memory (std::bad_alloc)"),
    (ImportError("a.so: failed to map segment from shared object"), 1, "out of memory (a.so: failed to map segment"),
    (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), 1, "out of memory (CUDA out of memory"),
    (RecursionError("maximum recursion depth exceeded"), 1, "something in the input is nested too deep"),
    (OSError(errno.ENOSPC, "No space left on device", "runs/a"), 2, "runs/a: No space left on device; check"),
    (OSError(errno.EIO, "Input/output error"), 2, "Input/output error; check"),
    (OSError("no number"), 2, "no number; check"),
    (TypeError("unsupported \x1b[2J type"), 1, rf"internal error: TypeError (unsupported \x1b[2J type); {BUG}; {HINT}"),
    (AssertionError(), 1, f"internal error: AssertionError; {BUG}"),
    (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), 1, "internal error: UnicodeEncodeError"),
    (DataError("a.fr:3: not UTF-8"), 2, "a.fr:3: not UTF-8"),
    (KeyboardInterrupt(), 130, ""),
]
EXITS = [
    (SystemExit("needs \x1b scipy"), 1, r"regard: needs \x1b scipy"),
    (SystemExit(), 0, ""),
    (SystemExit(3), 3, ""),
]


@pytest.fixture
def failing(command, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`regard init`, in which an exception is raised."""

    def run(error: BaseException, *options: str) -> Any:
        def fail(*_: object) -> str:
            raise error

        monkeypatch.setattr(template, "settings_template", fail)
        return command("init", *options)

    return run


@pytest.mark.parametrize(("error", "code", "message"), CASES, ids=lambda value: type(value).__name__)
def test_every_exception_is_one_line(failing, error: BaseException, code: int, message: str) -> None:
    result = failing(error)
    assert result.code == code
    assert result.out == ""
    assert result.err.startswith(f"regard: {message}" if message else "")
    assert len(result.err.splitlines()) == bool(message)
    assert "\x1b" not in result.err


@pytest.mark.parametrize(("error", "code", "message"), EXITS)
def test_an_extension_that_ends_the_process(failing, error: SystemExit, code: int, message: str) -> None:
    result = failing(error)
    assert (result.code, result.err.strip()) == (code, message)


@pytest.mark.parametrize(("error", "code", "message"), CASES[:-1], ids=lambda value: type(value).__name__)
def test_debug_shows_the_traceback_before_the_same_line(failing, error: BaseException, code: int, message: str) -> None:
    plain, debugged = failing(error), failing(error, "--debug")
    assert debugged.code == plain.code == code
    assert debugged.err.startswith("Traceback (most recent call last):\n")
    assert debugged.err.endswith(plain.err)
    assert "in fail" in debugged.err


def commands(command: Any) -> list[Any]:
    inner = getattr(command, "commands", {})
    return [found for each in inner.values() for found in commands(each)] if inner else [command]


def test_every_verb_has_debug_and_the_next_command_has_it_not(command) -> None:
    for verb in commands(typer.main.get_command(app)):
        assert [option for option in verb.params if "--debug" in option.opts], verb.name
    assert "Traceback" in command("info", "nowhere", "--debug").err
    assert "Traceback" not in command("info", "nowhere").err


def test_a_sweep_hands_debug_on_to_its_cells(command, tmp_path: Path) -> None:
    words = ("sweep", "--out", tmp_path / "sweep", "--dry-run", "--set", "model.layers=1,2")
    assert "--debug" not in command(*words).out
    assert command(*words, "--debug").out.count(" --debug ") == 2


def test_reporting_needs_no_memory(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def fail(*_: str) -> None:
        raise MemoryError

    monkeypatch.setattr(failures, "print_status", fail)
    assert failures.report_failure(MemoryError(), []) == 1
    assert capfd.readouterr().err.startswith("regard: out of memory")


def test_threads_and_destructors_that_fail_are_one_line(command, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import threading

    class Broken:
        def __del__(self) -> None:
            raise ValueError("in a \x1b destructor")

    def fail() -> None:
        raise ValueError("in a \x1b thread")

    def work(*_: object) -> str:
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        Broken()
        return ""

    monkeypatch.setattr(template, "settings_template", work)
    monkeypatch.setattr(sys, "unraisablehook", failures.report_unraisable)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    lines = command("init").err.splitlines()
    assert lines[0] == rf"regard: warning: a thread failed: ValueError: in a \x1b thread; {HINT}"
    assert lines[1].startswith(r"regard: warning: ignored: ValueError: in a \x1b destructor")
    assert len(lines) == 2


@pytest.mark.parametrize("verb", ["translate"])
def test_a_text_as_an_argument_is_told_how_to_be_given(command, verb: str) -> None:
    result = command(verb, "runs/none", "some text")
    assert result.code == 2
    piped = f'; the text is piped, echo "TEXT" | regard {verb} DIR, or read from a file, regard {verb} DIR -i FILE'
    assert piped in result.err
