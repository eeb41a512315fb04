"""Results go to stdout, or to the file of `-o`, one line a line; everything else goes to stderr."""

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from regard.errors import ConfigError, DiskError
from regard.files import STAGING_MARK, disk_errors


def say(message: str) -> None:
    """Tell the user something that is not a result."""
    print(message, file=sys.stderr, flush=True)  # noqa: T201


def refuse_own_input(output: str | None, *inputs: str | None) -> None:
    """An output that would take the place of what is read."""
    if output is None or not Path(output).is_file():
        return
    for path in inputs:
        if path is not None and Path(path).is_file() and Path(output).samefile(path):
            raise ConfigError(f"-o {output}: that is what is read; choose another place")


def followed(path: str) -> Path:
    """Where a file is to be written: a link's target, so that the link stays one. A link that leads to itself is replaced."""
    return Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)


@contextmanager
def results(path: str | None) -> Iterator[TextIO]:
    """Where results go, as UTF-8 with plain newlines whatever the locale. A file is replaced only when all went well."""
    if path is None or path == "-":
        with _standard_output() as stream:
            yield stream
    elif Path(path).exists() and not Path(path).is_file():  # a pipe or a device
        with disk_errors(Path(path)), Path(path).open("w", encoding="utf-8", newline="\n") as file:
            yield file
    else:
        place = followed(path)
        staging = place.with_name(f"{place.name}{STAGING_MARK}{os.getpid()}")
        with disk_errors(Path(path)):
            try:
                with _opened(staging, compressed=path.endswith(".gz")) as file:
                    yield file
                staging.replace(place)
            finally:
                staging.unlink(missing_ok=True)


def _opened(path: Path, *, compressed: bool) -> TextIO:
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
    except BrokenPipeError:  # the reader has gone, as `head` does; that is not an error
        _silence_output()
        raise SystemExit(0) from None
    except DiskError:
        _silence_output()
        raise


def _silence_output() -> None:
    """What is still buffered can go nowhere, and must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
