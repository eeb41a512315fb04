"""What is kept of prepared corpora: entries of a cache, each under a key of all that it depends on.

An entry appears whole, carries a SHA-256 of each file, and is built again if it is damaged. Two processes may build the same at once:
the first to finish wins. It knows nothing of what an entry holds.
"""

import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.data.config import STDIN, DataConfig, languages
from regard.data.readers import opened, shown
from regard.errors import DataError
from regard.files import STAGING_MARK, disk_errors, sha256_of, to_json, whole_directory

RECORD = "prepared.json"
STALE_SECONDS = 24 * 3600


def entry(cache: Path, key: str, build: Callable[[Path], Mapping[str, Any]]) -> tuple[Path, dict[str, Any]]:
    """The directory of an entry and its record; where it is not there or damaged, `build` fills it and says what to record."""
    directory = cache / key
    if not is_intact(directory):
        # Not straight to `directory`: another process may have put its own there by the time we are done.
        built = cache / f"{key}{STAGING_MARK}{uuid.uuid4().hex[:8]}"
        with whole_directory(built) as staging:
            record = dict(build(staging))
            names = [str(file.relative_to(staging)) for file in sorted(staging.rglob("*")) if file.is_file()]
            (staging / RECORD).write_text(to_json({**record, "files": _digests(staging, names)}), encoding="utf-8")
        _install(built, directory)
    found: dict[str, Any] = json.loads((directory / RECORD).read_text(encoding="utf-8"))
    return directory, found


def is_intact(directory: Path) -> bool:
    """Whether an entry of the cache is there with every file as it was written."""
    try:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
        return bool(_digests(directory, record["files"]) == record["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _digests(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each file, several at a time: hashing needs no interpreter."""
    with ThreadPoolExecutor() as threads:
        return dict(threads.map(lambda name: (name, sha256_of(directory / name)), names))


def _install(built: Path, directory: Path) -> None:
    """Give a finished entry its name, unless a sound one has it already; a damaged one is replaced."""
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
def settled(data: DataConfig, roles: Iterable[str], cache: Path) -> Iterator[DataConfig]:
    """`data` with each input that can be read only once (standard input, a pipe) replaced by a copy in the cache."""
    with disk_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
        _remove_stale(cache)
    streams = {role: path for role in roles if (path := getattr(data, role)) and _is_stream(path)}
    copies = {
        role: cache / f"input{STAGING_MARK}{uuid.uuid4().hex[:8]}{_suffix(path)}" for role, path in streams.items()
    }
    source_language, target_language = languages(data)
    changes = {role: str(copy) for role, copy in copies.items()}
    try:
        for role, path in streams.items():
            with opened(path) as stream, disk_errors(copies[role]), copies[role].open("wb") as copy:
                shutil.copyfileobj(stream, copy)
        yield data.model_copy(update={**changes, "src_lang": source_language, "tgt_lang": target_language})
    except DataError as error:
        message = str(error)
        for role, spool in copies.items():  # name what the user gave, not our copy of it
            message = message.replace(str(spool), shown(streams[role]))
        raise DataError(message) from None
    finally:
        for spool in copies.values():
            spool.unlink(missing_ok=True)


def _is_stream(path: str) -> bool:
    return path == STDIN or (Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir())


def _suffix(path: str) -> str:
    """The suffix that tells the format; the copy is unpacked."""
    return Path(path.removesuffix(".gz")).suffix or ".tsv"


def _remove_stale(cache: Path) -> None:
    """Delete what writers left that were interrupted long ago; a younger one may be another process at work."""
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
