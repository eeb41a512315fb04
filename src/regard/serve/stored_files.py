"""`StoredFiles`: translated files that wait for their download, in a private temporary directory, bounded in number, bytes and time."""

import secrets
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regard.serve.errors import NotFoundError
from regard.serve.settings import StorageSettings

_RANDOM_BYTES = 24
"""Of a name. Nobody guesses one, and no part of it comes from a request."""


@dataclass(frozen=True)
class StoredFile:
    """A file and the name under which it is saved at the client."""

    path: Path
    shown_name: str
    size: int
    expires: float


class StoredFiles:
    """Files by unguessable names. The oldest goes first when there is no room."""

    def __init__(self, settings: StorageSettings, now: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._now = settings, now
        self._files: OrderedDict[str, StoredFile] = OrderedDict()
        self._directory: Path | None = None
        self._lock = threading.Lock()

    def add(self, content: bytes, suffix: str, shown_name: str) -> str:
        """Keep a file; returns its name. suffix: one of the formats that the server knows."""
        with self._lock:
            self._remove_expired()
            while self._files and (
                len(self._files) >= self._settings.files or self._size() + len(content) > self._settings.bytes
            ):
                self._remove(next(iter(self._files)))
            if self._directory is None:
                self._directory = Path(tempfile.mkdtemp(prefix="regard-serve-"))  # only this user may enter it
            name = f"{secrets.token_urlsafe(_RANDOM_BYTES)}{suffix}"
            path = self._directory / name
            path.write_bytes(content)
            self._files[name] = StoredFile(path, shown_name, len(content), self._now() + self._settings.seconds)
            return name

    def read(self, name: str) -> tuple[bytes, str]:
        """The content of a file and the name that it is saved under. The name is looked up; no path is made of it."""
        with self._lock:
            self._remove_expired()
            if name not in self._files:
                raise NotFoundError("no such file; translated files are kept for a limited time")
            found = self._files[name]
            return found.path.read_bytes(), found.shown_name

    def remove_expired(self) -> None:
        """Remove the files whose time is over."""
        with self._lock:
            self._remove_expired()

    def close(self) -> None:
        """Remove all files and their directory."""
        with self._lock:
            self._files.clear()
            if self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)
                self._directory = None

    def _size(self) -> int:
        return sum(file.size for file in self._files.values())

    def _remove_expired(self) -> None:
        for name in [name for name, file in self._files.items() if file.expires <= self._now()]:
            self._remove(name)

    def _remove(self, name: str) -> None:
        self._files.pop(name).path.unlink(missing_ok=True)
