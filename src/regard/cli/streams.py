"""Output streams. Results go to stdout or to the file of `-o`; everything else goes to stderr, escaped (`shown`)."""

import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TextIO

from regard.cli.display import print_above_bar
from regard.errors import LONGEST_MESSAGE, ConfigError, DiskError, shown
from regard.files import STAGING_MARK, disk_errors

CLOSED_OUTPUT = "standard output is closed; open it, or use -o FILE where there is one"


def print_status(*lines: str) -> None:
    """Print lines to stderr, above the bar if there is one. Whatever they repeat is escaped. A stderr that fails is given up."""
    for line in lines:
        safe = shown(line, LONGEST_MESSAGE)
        if print_above_bar(safe):
            continue
        try:
            print(safe, file=sys.stderr, flush=True)  # noqa: T201
        except OSError:  # full, or its reader has gone: there is nobody to tell
            silence_stream(2)


class ClosedOutput(io.TextIOBase):
    """Stands for a standard output that is closed: writing is an error that says so."""

    def write(self, text: str) -> NoReturn:
        raise DiskError(CLOSED_OUTPUT)


def replace_closed_streams() -> None:
    """Put something into the place of standard streams that are closed.

    Else the next file that is opened would get their number, and whatever a library prints. A closed stdin stays None.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            silence_stream(number)
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def silence_stream(number: int) -> None:
    """Redirect a standard stream to /dev/null, so that what its buffer holds does not raise again at exit."""
    device = os.open(os.devnull, os.O_RDWR)
    if device != number:
        os.dup2(device, number)
        os.close(device)
    else:
        os.set_inheritable(device, True)


def refuse_own_input(output: str | None, *inputs: str | None) -> None:
    """Refuse an output file that is also an input file."""
    if output is None or not Path(output).is_file():
        return
    for path in inputs:
        if path is not None and Path(path).is_file() and Path(output).samefile(path):
            raise ConfigError(f"-o {output}: that is what is read; choose another place")


def resolve_link(path: str) -> Path:
    """The path to write to: the target of a symbolic link, so that the link is kept. A link to itself is replaced."""
    return Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)


@contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """A stream for results: UTF-8 with `\\n` in every locale. A file is replaced only when the block ends without an error."""
    if path is None or path == "-":
        with _standard_output() as stream:
            yield stream
    elif Path(path).exists() and not Path(path).is_file():  # a pipe or a device
        with disk_errors(Path(path)), Path(path).open("w", encoding="utf-8", newline="\n") as file:
            yield file
    else:
        target = resolve_link(path)
        staging = target.with_name(f"{target.name}{STAGING_MARK}{os.getpid()}")
        with disk_errors(Path(path)):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with _open_text(staging, compressed=path.endswith(".gz")) as file:
                    yield file
                staging.replace(target)
            finally:
                staging.unlink(missing_ok=True)


def _open_text(path: Path, *, compressed: bool) -> TextIO:
    if compressed:
        return gzip.open(path, "wt", encoding="utf-8", newline="\n")
    return path.open("w", encoding="utf-8", newline="\n")


@contextmanager
def _standard_output() -> Iterator[TextIO]:
    if sys.stdout is None or isinstance(sys.stdout, ClosedOutput):
        raise DiskError(CLOSED_OUTPUT)
    # a file name that is not UTF-8 has lone surrogates, which appear as in Python and in JSON: \udcff
    sys.stdout.reconfigure(encoding="utf-8", newline="\n", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with disk_errors(Path("standard output")):
            yield sys.stdout
            sys.stdout.flush()
    except BrokenPipeError:  # a closed pipe (`| head`) is not an error
        silence_output()
        raise SystemExit(0) from None


def silence_output() -> None:
    """Give up what stdout still holds."""
    with suppress(io.UnsupportedOperation):  # a stream of the caller's that is no file
        silence_stream(sys.stdout.fileno())
