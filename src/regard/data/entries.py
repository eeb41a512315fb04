"""The cache of prepared corpora: directories under a key of everything that they depend on.

An entry is written atomically, has a SHA-256 of each file, and is built again if it is damaged. Two processes may build the same entry;
the first to finish wins. It does not know what an entry holds.
"""

import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from regard.data.config import STDIN
from regard.data.readers import display_name, open_bytes
from regard.errors import DataError
from regard.files import STAGING_MARK, disk_errors, sha256_of, to_json, whole_directory
from regard.settings import Settings

RECORD = "prepared.json"
STALE_SECONDS = 24 * 3600

Data = TypeVar("Data", bound=Settings)


def cached_entry(cache: Path, key: str, build: Callable[[Path], Mapping[str, Any]]) -> tuple[Path, dict[str, Any]]:
    """The directory and the record of an entry. If it is missing or damaged, `build` fills it and returns the record."""
    directory = cache / key
    if not is_intact(directory):
        # Not directly to `directory`: another process may have written the entry meanwhile.
        built = cache / f"{key}{STAGING_MARK}{uuid.uuid4().hex[:8]}"
        with whole_directory(built) as staging:
            record = dict(build(staging))
            names = [str(file.relative_to(staging)) for file in sorted(staging.rglob("*")) if file.is_file()]
            (staging / RECORD).write_text(to_json({**record, "files": _digests(staging, names)}), encoding="utf-8")
        _install(built, directory)
    stored: dict[str, Any] = json.loads((directory / RECORD).read_text(encoding="utf-8"))
    return directory, stored


def is_intact(directory: Path) -> bool:
    """Whether an entry exists and every file has its recorded SHA-256."""
    try:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
        return bool(_digests(directory, record["files"]) == record["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _digests(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """File name -> SHA-256, hashed in parallel: hashing releases the interpreter lock."""
    with ThreadPoolExecutor() as threads:
        return dict(threads.map(lambda name: (name, sha256_of(directory / name)), names))


def _install(built: Path, directory: Path) -> None:
    """Rename a finished entry to `directory`, unless an intact entry is there. A damaged one is replaced."""
    with disk_errors(directory):
        if directory.exists() and not is_intact(directory):
            shutil.rmtree(directory)
        try:
            built.rename(directory)  # fails if another process was quicker
        except OSError:
            shutil.rmtree(built, ignore_errors=True)
            if not is_intact(directory):
                raise


@contextmanager
def seekable_inputs(data: Data, roles: Iterable[str], cache: Path) -> Iterator[Data]:
    """`data` with every stream (standard input, a pipe) replaced by a temporary copy in the cache."""
    with disk_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
        _remove_stale(cache)
    streams = {role: path for role in roles if (path := getattr(data, role)) and _is_stream(path)}
    copies = {
        role: cache / f"input{STAGING_MARK}{uuid.uuid4().hex[:8]}{_suffix(path)}" for role, path in streams.items()
    }
    changes = {role: str(copy) for role, copy in copies.items()}
    try:
        for role, path in streams.items():
            with open_bytes(path) as stream, disk_errors(copies[role]), copies[role].open("wb") as copy:
                shutil.copyfileobj(stream, copy)
        yield data.model_copy(update=changes)
    except DataError as error:
        message = str(error)
        for role, spool in copies.items():  # name the user's input, not our copy
            message = message.replace(str(spool), display_name(streams[role]))
        raise DataError(message) from None
    finally:
        for spool in copies.values():
            spool.unlink(missing_ok=True)


def _is_stream(path: str) -> bool:
    return path == STDIN or (Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir())


def _suffix(path: str) -> str:
    """The suffix of the format, without .gz, since the copy is unpacked."""
    return Path(path.removesuffix(".gz")).suffix or ".tsv"


def _remove_stale(cache: Path) -> None:
    """Delete old files of interrupted writers. Younger ones may belong to a running process."""
    for path in cache.glob(f"*{STAGING_MARK}*"):
        try:
            if time.time() - path.stat().st_mtime < STALE_SECONDS:
                continue
        except FileNotFoundError:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
