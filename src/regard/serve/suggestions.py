"""`Suggestions`: better translations that users send, as TSV files that `regard train --pairs` and `regard improve` read.

There is one file for each direction, such as `fr-en.tsv`, with a source and its translation in each line.
"""

import re
import tempfile
import threading
from pathlib import Path

from regard.errors import ConfigError, DiskError
from regard.serve.errors import ForbiddenError, TooLargeError
from regard.serve.settings import SuggestionSettings

_BREAKS = re.compile(r"\s+")


class Suggestions:
    """The files of suggestions in a directory."""

    def __init__(self, settings: SuggestionSettings) -> None:
        """Makes the directory. One that cannot be made or written is a `ConfigError`."""
        self._settings = settings
        self._lock = threading.Lock()
        if settings.directory is not None:
            _prepare(settings.directory)

    @property
    def accepted(self) -> bool:
        """Whether suggestions are kept."""
        return self._settings.directory is not None

    def add(self, source: str, target: str, text: str, translation: str) -> None:
        """Keep a pair. source, target: languages that the server has, so that they may be part of a file name."""
        directory = self._settings.directory
        if directory is None:
            raise ForbiddenError("Suggestions are disabled on this server.")
        line = f"{_in_line(text)}\t{_in_line(translation)}\n".encode()
        path = Path(directory) / f"{source}-{target}.tsv"
        try:
            with self._lock:
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(path, "ab") as file:
                    if file.tell() + len(line) > self._settings.bytes:
                        raise TooLargeError("the file of suggestions is full; tell the server's operator")
                    file.write(line)
        except OSError as error:
            raise DiskError(f"suggestions cannot be kept: {error.strerror or error}") from None


def _prepare(directory: Path) -> None:
    """Make the directory, and try to write into it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(
            f"suggestions.directory = {str(directory)!r}: suggestions cannot be kept there: {reason}; choose another directory"
        ) from None


def _in_line(text: str) -> str:
    """A text without tabs and line breaks."""
    return _BREAKS.sub(" ", text).strip()
