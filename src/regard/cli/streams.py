"""Results go to stdout, or to the file of `-o`, one line a line; everything else goes to stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from regard.files import disk_errors


def say(message: str) -> None:
    """Tell the user something that is not a result."""
    print(message, file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def results(path: str | None) -> Iterator[TextIO]:
    """Where results go, as UTF-8 with plain newlines whatever the locale."""
    if path is None or path == "-":
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        yield sys.stdout
        sys.stdout.flush()
    else:
        with disk_errors(Path(path)), Path(path).open("w", encoding="utf-8", newline="\n") as file:
            yield file
