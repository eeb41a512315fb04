"""A result file whose writing can be resumed. OUT appears when it is complete; until then there are OUT.partial and OUT.partial.json.

OUT.partial.json states how many input lines OUT.partial answers, their digest, and the settings. It is written after OUT.partial has
reached the disk. A resumed command cuts off whatever a killed one wrote beyond it. OUT.gz is compressed part by part.
"""

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import NonNegativeInt

from regard.cache import try_lock
from regard.cli.streams import print_status
from regard.errors import ConfigError, DataError, DiskError, FileError
from regard.files import disk_errors, to_json, write_whole
from regard.foreign import parse_json, read_text, refuse_exhausted, regular_handle
from regard.settings import Record

FORMAT = 1
PARTIAL = ".partial"
OR_DELETE = "or delete it to start anew"


class _State(Record):
    """OUT.partial.json."""

    settings: dict[str, Any]
    lines: NonNegativeInt
    input: str
    bytes: NonNegativeInt


class ResumableFile:
    """A partial result file and its state. Use `resumable` to make one."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.partial = path.with_name(f"{path.name}{PARTIAL}")
        self.lines = 0
        """Input lines that are answered."""
        self.digest = ""
        """Digest of those lines."""
        self._settings = {"format": FORMAT, **settings}
        self._unverified = False  # whether the partial file may be of another input or command
        self._state_path = path.with_name(f"{path.name}.partial.json")
        self._file = self._open_locked()

    def resume(self) -> None:
        """Continue the partial file of an earlier command. Other settings are refused."""
        size = 0
        if self._state_path.exists() and self.partial.stat().st_size:
            self._unverified = True
            state = self._read_state()
            self.lines, self.digest, size = state.lines, state.input, state.bytes
            if changes := _changes(state.settings, self._settings):
                raise ConfigError(
                    f"{self.partial}: begun with other settings ({'; '.join(changes)}); give the same ones to go on, {OR_DELETE}"
                )
        self._file.truncate(size)
        self._file.seek(0, os.SEEK_END)

    def check_input(self, lines: int, digest: str) -> None:
        """Check that the answered lines are the first lines of this input; others are refused."""
        if (lines, digest) != (self.lines, self.digest):
            raise DataError(
                f"{self.partial}: made from another text, as its first {self.lines:,} lines show; give the same input to go on, {OR_DELETE}"
            )
        self._unverified = False

    def append(self, results: str, lines: int, digest: str) -> None:
        """Append the results of the input up to line `lines`, and sync them to the disk."""
        content = results.encode("utf-8")
        with disk_errors(self.partial):
            self._file.write(gzip.compress(content, mtime=0) if self.path.suffix == ".gz" else content)
            self._file.flush()
            os.fsync(self._file.fileno())
            state = {"settings": self._settings, "lines": lines, "input": digest, "bytes": self._file.tell()}
            write_whole(self._state_path, to_json(state))
        self.lines, self.digest = lines, digest

    def finish(self) -> None:
        """Rename the complete file to its final name."""
        with disk_errors(self.path):
            self.partial.replace(self.path)
            self._state_path.unlink(missing_ok=True)
            self._file.close()  # also releases the lock

    def abandon(self, *, interrupted: bool = False) -> None:
        """Keep a partial file that can be resumed or is not ours; delete an empty one. interrupted: by Ctrl-C."""
        if not self.lines and not self._unverified:
            self.partial.unlink(missing_ok=True)
            self._state_path.unlink(missing_ok=True)
        with suppress(OSError):  # a full disk refuses again what it refused before
            self._file.close()
        if self.lines and not self._unverified:
            print_status(
                f"{self.lines:,} {'line is' if self.lines == 1 else 'lines are'} done and kept in {self.partial}; "
                "the same command goes on from there"
            )
        elif interrupted and not self._unverified:
            print_status(f"interrupted before the first lines were done; {self.path} was not written")

    def _open_locked(self) -> BinaryIO:
        """The partial file, open for appending and locked against other processes."""
        handle = try_lock(self.partial, _appending_handle)
        if handle is None:
            raise DiskError(f"{self.partial}: another process is writing it; wait for it, or choose another -o")
        return os.fdopen(handle, "ab")

    def _read_state(self) -> "_State":
        """The content of OUT.partial.json; a damaged one is refused."""
        try:
            state = _State.parse(parse_json(read_text(self._state_path), self._state_path), str(self._state_path))
            valid = state.bytes <= self.partial.stat().st_size
        except OSError as error:
            refuse_exhausted(self._state_path, error)
            valid = False
        except (UnicodeDecodeError, FileError, ConfigError):
            valid = False
        if not valid:
            raise DataError(f"{self._state_path}: damaged; delete it and {self.partial.name} to start anew")
        return state


def _appending_handle(path: Path) -> int:
    """The handle of a file that is appended to; it is made if there is none. A pipe is refused, not waited for."""
    with disk_errors(path.with_name(path.name.removesuffix(PARTIAL))):  # the name that the user gave
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return regular_handle(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except FileError as error:
            raise DiskError(f"{error}; delete it, or choose another -o") from None


@contextmanager
def resumable(path: Path, settings: Mapping[str, Any]) -> Iterator[ResumableFile]:
    """The file to append results to. It gets its final name when the block ends without an error."""
    file = ResumableFile(path, settings)
    try:
        file.resume()
        yield file
        file.finish()
    except BaseException as error:
        file.abandon(interrupted=isinstance(error, KeyboardInterrupt))
        raise


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The settings that differ, such as `beam 5 -> 4`."""
    plain = json.loads(json.dumps(now))  # tuples become lists, as in the stored settings
    return [
        f"{key} {before.get(key)} -> {plain.get(key)}"
        for key in sorted(before.keys() | plain.keys())
        if before.get(key) != plain.get(key)
    ]
