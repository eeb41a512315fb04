"""Output streams. Results go to stdout or to the file of `-o`; everything else goes to stderr."""

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from regard.cli.display import print_above_bar
from regard.errors import ConfigError, DiskError
from regard.files import STAGING_MARK, disk_errors


def print_status(message: str) -> None:
    """Print a message to stderr, above the bar if there is one."""
    if not print_above_bar(message):
        print(message, file=sys.stderr, flush=True)  # noqa: T201


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
    if sys.stdout is None:
        raise DiskError("standard output is closed; open it, or use -o FILE where there is one")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    try:
        with disk_errors(Path("standard output")):
            yield sys.stdout
            sys.stdout.flush()
    except BrokenPipeError:  # a closed pipe (`| head`) is not an error
        _silence_output()
        raise SystemExit(0) from None
    except DiskError:
        _silence_output()
        raise


def _silence_output() -> None:
    """Redirect stdout to /dev/null, so that flushing its buffer at exit does not raise again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
