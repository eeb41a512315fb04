"""A command under a real pseudo-terminal, and what the screen shows in the end."""

import os
import pty
import re
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from regard.cli import display
from regard.cli.main import run

_PARTS = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|([\r\n\b])|([^\x1b\r\n\b]+)")


class Screen:
    """The part of a terminal that progress bars use: new lines, moving up, clearing a line. Colours are ignored."""

    def __init__(self, written: str) -> None:
        self.lines, self._row, self._column = [""], 0, 0
        for code, letter, control, text in _PARTS.findall(written):
            if letter == "A":
                self._row = max(0, self._row - int(code or 1))
            elif letter == "K":
                kept = "" if code == "2" else self.lines[self._row][: self._column]
                self.lines[self._row] = kept
            elif control == "\r":
                self._column = 0
            elif control == "\b":
                self._column = max(0, self._column - 1)
            elif control == "\n":
                self._row += 1
                self.lines += [""] * (self._row + 1 - len(self.lines))
            elif text:
                line = self.lines[self._row].ljust(self._column)
                self.lines[self._row] = line[: self._column] + text + line[self._column + len(text) :]
                self._column += len(text)

    @property
    def shown(self) -> list[str]:
        """The lines without the empty ones at the end."""
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n").split("\n")


def without_colours(written: str) -> str:
    """What was written, without the codes that only change the look of letters."""
    return re.sub(r"\x1b\[[\d;]*m", "", written)


def on_terminal(
    *arguments: str | Path,
    stdin: bytes | None = None,
    typed: bytes | None = None,
    output: Path | None = None,
    change: Callable[[], None] = lambda: None,
) -> tuple[int, str]:
    """The exit code, and all that a command wrote to its terminal; every activity is shown at once.

    stdin: given by a pipe; typed: typed by the user, where stdin is the terminal; output: stdout is this file, not the terminal.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on: torch's idle threads are not forked
        child, terminal = pty.fork()
    if not child:
        _command([*map(str, arguments)], stdin, output, change)
    if typed is not None:
        os.write(terminal, typed)
    written = b""
    with suppress(OSError):  # the other end is closed
        while part := os.read(terminal, 1 << 16):
            written += part
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), written.decode("utf-8")


def _command(arguments: list[str], stdin: bytes | None, output: Path | None, change: Callable[[], None]) -> None:
    """For the child: the command. It never returns."""
    code: object = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if stdin is not None:
            ours, theirs = os.pipe()
            os.write(theirs, stdin)
            os.close(theirs)
            os.dup2(ours, 0)
        if output is not None:
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT), 1)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
        os.environ.update(TERM="xterm", COLUMNS="200", LINES="40")
        sys.argv = ["regard", *arguments]
        display.DELAY = 0.0
        change()
        run()
    except SystemExit as stop:
        code = stop.code
    finally:
        sys.stdout.flush()
        os._exit(code if isinstance(code, int) else 0)
