"""The cache of prepared corpora: directories under a key of everything that they depend on.

An entry is written atomically, has a SHA-256 of each file, and is built again if it is damaged, lacks a file or cannot be opened. Two
processes may build the same entry; the first to finish wins. It does not know what an entry holds.
"""

import shutil
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from regard.cache import locked, mark_used, new_entry, new_file, prune, remove_stale
from regard.data.config import STDIN
from regard.data.readers import display_name, open_bytes
from regard.errors import DataError, ResourceError
from regard.files import STAGING_MARK, disk_errors, sha256_of, to_json
from regard.foreign import parse_json, read_text, refuse_exhausted
from regard.settings import Settings
from regard.text.build import CONFIG_FILE

RECORD = "prepared.json"
TOKENIZER_CONFIG = f"tokenizers/{CONFIG_FILE}"
MOST_STREAMED = 8 << 30
"""Bytes of a stream (standard input, a pipe) that are copied into the cache. Give a longer text as a file."""
_BLOCK = 1 << 20

Data = TypeVar("Data", bound=Settings)
Opened = TypeVar("Opened")
Record = dict[str, Any]


def cached_entry(
    cache: Path,
    key: str,
    required: Collection[str],
    build: Callable[[Path], Mapping[str, Any]],
    opened: Callable[[Path, Record], Opened],
) -> Opened:
    """The result of `opened` for the directory and the record of an entry.

    If the entry is missing or damaged, lacks a `required` file, or cannot be opened, `build` fills it and returns its record.
    """
    directory = cache / key
    if is_intact(directory, required):
        try:
            return _open(directory, opened)
        except ResourceError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
            pass  # whatever is wrong with it: it is built again
        with disk_errors(directory):
            shutil.rmtree(directory, ignore_errors=True)
    _build_entry(cache, directory, required, build)
    try:
        return _open(directory, opened)
    except FileNotFoundError:  # another process has filled the cache meanwhile and pruned the entry
        _build_entry(cache, directory, required, build)
        return _open(directory, opened)


def _build_entry(
    cache: Path, directory: Path, required: Collection[str], build: Callable[[Path], Mapping[str, Any]]
) -> None:
    # Not directly to `directory`: another process may have written the entry meanwhile.
    built = cache / f"{directory.name}{STAGING_MARK}{uuid.uuid4().hex[:8]}"
    with ExitStack() as lock:
        with new_entry(built, lock) as staging:
            record = dict(build(staging))
            names = [str(file.relative_to(staging)) for file in sorted(staging.rglob("*")) if file.is_file()]
            _require_files(directory, names, required)
            (staging / RECORD).write_text(to_json({**record, "files": _digests(staging, names)}), encoding="utf-8")
        _install(built, directory, required)
    prune(cache, keep=directory)


def files_of_parts(parts: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """The required files of an entry with tokenisers and several parts, each a directory with the files `names`."""
    return (TOKENIZER_CONFIG, *(f"{part}/{name}" for part, name in product(parts, names)))


def _open(directory: Path, opened: Callable[[Path, Record], Opened]) -> Opened:
    with locked(directory, shared=True):  # nobody prunes it meanwhile; what is mapped into memory stays also afterwards
        mark_used(directory)
        return opened(directory, _record_of(directory))


def _record_of(directory: Path) -> Record:
    record: Record = parse_json(read_text(directory / RECORD), directory / RECORD)
    return record


def _require_files(directory: Path, names: Collection[str], required: Collection[str]) -> None:
    missing = sorted(set(required) - set(names))
    if missing:
        raise DataError(
            f"{directory}: {missing[0]} vanished while this entry of the cache was written; run the same command again"
        )


def is_intact(directory: Path, required: Collection[str] = ()) -> bool:
    """Whether an entry exists, has all `required` files, and every file has its recorded SHA-256."""
    try:
        files = _record_of(directory)["files"]
        return set(required) <= set(files) and bool(_digests(directory, files) == files)
    except OSError as error:
        refuse_exhausted(directory, error)
        return False
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _digests(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """File name -> SHA-256, hashed in parallel: hashing releases the interpreter lock."""
    with ThreadPoolExecutor() as threads:
        return dict(threads.map(lambda name: (name, sha256_of(directory / name)), names))


def _install(built: Path, directory: Path, required: Collection[str]) -> None:
    """Rename a finished entry to `directory`, unless an intact entry is there. A damaged one is replaced."""
    with disk_errors(directory):
        if directory.exists() and not is_intact(directory, required):
            shutil.rmtree(directory)
        try:
            built.rename(directory)  # fails if another process was quicker
        except OSError:
            shutil.rmtree(built, ignore_errors=True)
            if not is_intact(directory, required):
                raise


@contextmanager
def seekable_inputs(data: Data, roles: Iterable[str], cache: Path) -> Iterator[Data]:
    """`data` with every stream (standard input, a pipe) replaced by a temporary copy in the cache."""
    with disk_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
        remove_stale(cache)
    streams = {role: path for role in roles if (path := getattr(data, role)) and _is_stream(path)}
    copies = {
        role: cache / f"input{STAGING_MARK}{uuid.uuid4().hex[:8]}{_suffix(path)}" for role, path in streams.items()
    }
    changes = {role: str(copy) for role, copy in copies.items()}
    with ExitStack() as files:
        try:
            for role, path in streams.items():
                files.enter_context(new_file(copies[role]))
                _copy_stream(path, copies[role])
            yield data.model_copy(update=changes)
        except DataError as error:
            message = str(error)
            for role, spool in copies.items():  # name the user's input, not our copy
                message = message.replace(str(spool), display_name(streams[role]))
            raise DataError(message) from None


def _copy_stream(path: str, copy: Path) -> None:
    """Copy a stream, unpacked. One that does not end is refused."""
    size = 0
    with open_bytes(path) as stream, disk_errors(copy), copy.open("wb") as file:
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > MOST_STREAMED:
                raise DataError(
                    f"{display_name(path)}: more than {MOST_STREAMED:,} bytes, the most that is copied of a stream; give a file"
                )
            file.write(block)


def _is_stream(path: str) -> bool:
    return path == STDIN or (Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir())


def _suffix(path: str) -> str:
    """The suffix of the format, without .gz, since the copy is unpacked."""
    return Path(path.removesuffix(".gz")).suffix or ".tsv"
