"""A result file that can be gone on with: OUT appears when it is complete; until then there are OUT.partial and OUT.partial.json.

The second says how many lines of the input the first answers, what those lines were, and with which settings. It is written when the
first is on the disk, so what a killed command wrote beyond it is cut off, and whole lines remain. An OUT.gz is compressed part by
part. It knows nothing of what the lines mean.
"""

import fcntl
import gzip
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from regard.cli.streams import say
from regard.errors import ConfigError, DataError, DiskError
from regard.files import disk_errors, to_json, write_whole

FORMAT = 1
ANEW = "or delete it to start anew"


class ResumableFile:
    """Made by `resumable`."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.partial = path.with_name(f"{path.name}.partial")
        self.lines = 0
        """Lines of the input that are answered."""
        self.digest = ""
        """What identifies them."""
        self._settings = {"format": FORMAT, **settings}
        self._foreign = False  # whether what is there may be of another command
        self._about = path.with_name(f"{path.name}.partial.json")
        self._file = self._opened()

    def go_on(self) -> None:
        """Take up what an earlier command left; with other settings it is refused."""
        begun: dict[str, Any] = {"bytes": 0}
        if self._about.exists() and self.partial.stat().st_size:
            self._foreign = True
            begun = self._read()
            self.lines, self.digest = begun["lines"], begun["input"]
            if changes := _changes(begun["settings"], self._settings):
                raise ConfigError(
                    f"{self.partial}: begun with other settings ({'; '.join(changes)}); give the same ones to go on, {ANEW}"
                )
        self._file.truncate(begun["bytes"])
        self._file.seek(0, os.SEEK_END)

    def accept(self, lines: int, digest: str) -> None:
        """The first lines of the input, as many as are answered; if they are others, it is refused."""
        if (lines, digest) != (self.lines, self.digest):
            raise DataError(
                f"{self.partial}: made from another text, as its first {self.lines:,} lines show; give the same input to go on, {ANEW}"
            )
        self._foreign = False

    def add(self, results: str, lines: int, digest: str) -> None:
        """Keep what answers the input up to line `lines`."""
        content = results.encode("utf-8")
        with disk_errors(self.partial):
            self._file.write(gzip.compress(content, mtime=0) if self.path.suffix == ".gz" else content)
            self._file.flush()
            os.fsync(self._file.fileno())
            begun = {"settings": self._settings, "lines": lines, "input": digest, "bytes": self._file.tell()}
            write_whole(self._about, to_json(begun))
        self.lines, self.digest = lines, digest

    def finish(self) -> None:
        """Give the file its name."""
        with disk_errors(self.path):
            self.partial.replace(self.path)
            self._about.unlink(missing_ok=True)
            self._file.close()  # and with it the lock

    def abandon(self) -> None:
        """Leave what can be gone on with, or is not ours, and nothing else."""
        if not self.lines and not self._foreign:
            self.partial.unlink(missing_ok=True)
            self._about.unlink(missing_ok=True)
        self._file.close()
        if self.lines and not self._foreign:
            say(f"{self.lines:,} lines are done and kept in {self.partial}; the same command goes on from there")

    def _opened(self) -> BinaryIO:
        while True:
            with disk_errors(self.partial):
                file = self.partial.open("ab")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                raise DiskError(
                    f"{self.partial}: another process is writing it; wait for it, or choose another -o"
                ) from None
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), self.partial.stat()):
                    return file
            file.close()  # another process renamed or removed it between the two calls: it is not ours

    def _read(self) -> dict[str, Any]:
        try:
            begun: dict[str, Any] = json.loads(self._about.read_text(encoding="utf-8"))
            sound = isinstance(begun["settings"], dict) and begun["bytes"] <= self.partial.stat().st_size
            sound = sound and isinstance(begun["lines"], int) and isinstance(begun["input"], str)
        except (OSError, ValueError, KeyError, TypeError):
            sound = False
        if not sound:
            raise DataError(f"{self._about}: damaged; delete it and {self.partial.name} to start anew")
        return begun


@contextmanager
def resumable(path: Path, settings: Mapping[str, Any]) -> Iterator[ResumableFile]:
    """The file to add results to; it gets its name when all went well."""
    file = ResumableFile(path, settings)
    try:
        file.go_on()
        yield file
        file.finish()
    except BaseException:
        file.abandon()
        raise


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    plain = json.loads(json.dumps(now))  # as they are once they have been written and read
    return [
        f"{key} {before.get(key)} -> {plain.get(key)}"
        for key in sorted(before.keys() | plain.keys())
        if before.get(key) != plain.get(key)
    ]
