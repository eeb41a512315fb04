"""Finds the bundle of a path that is a bundle, a zip file of one, or a run; reads and writes the pointers `best` and `latest` of a run.

It opens no bundle.
"""

import re
from pathlib import Path, PurePosixPath
from typing import Literal

from regard.bundle.archive import unpacked
from regard.bundle.manifest import MANIFEST, reading
from regard.bundle.weights import WEIGHTS
from regard.errors import BundleError, FileError
from regard.files import write_whole
from regard.foreign import parse_json, read_text, refuse_exhausted
from regard.zips import is_zip

CHECKPOINTS = "checkpoints"
LOCK = ".lock"  # in a run: locked while a process trains it
Pointer = Literal["best", "latest"]
_LONGEST_POINTER = 4096  # bytes
_HARMLESS = re.compile(
    rf"{CHECKPOINTS}/[\w-]{{1,80}}"
)  # what an error may repeat: the pointer may be a link to a secret


def find_bundle(path: str | Path) -> Path:
    """The directory of a bundle: `path` itself, or the target of the run's `best` pointer, else of `latest`. A zip file is unpacked."""
    directory = Path(path)
    with reading(directory):
        return _find_bundle(directory)


def _find_bundle(directory: Path) -> Path:
    if not directory.exists():
        raise BundleError(f"{directory}: no such directory; give a bundle or the directory of a run")
    if is_zip(directory):
        return unpacked(directory)
    if not directory.is_dir():
        raise BundleError(
            f"{directory}: a file, not a directory or a zip file; give a bundle or the directory of a run"
        )
    if (directory / MANIFEST).exists() or (directory / WEIGHTS).exists():
        return directory
    names: tuple[Pointer, ...] = ("best", "latest")
    for name in names:
        target = read_pointer(directory, name)
        if target is not None:
            return target
    if (directory / CHECKPOINTS).is_dir():
        raise BundleError(
            f"{directory}: a run without a checkpoint yet; let `regard train` reach its first one{_first_checkpoint(directory)}"
        )
    raise BundleError(f"{directory}: neither a bundle (no {MANIFEST}) nor a run (no `best` or `latest` pointer)")


def _first_checkpoint(run: Path) -> str:
    """When the first checkpoint of a run comes, as the end of a sentence; empty if its config.json does not say it."""
    try:
        train = parse_json(read_text(run / "config.json", root=run), run / "config.json")["train"]
        steps = [int(train[name]) for name in ("validate_every", "save_every")]
    except (OSError, UnicodeDecodeError, FileError, KeyError, TypeError, ValueError):
        return ""
    return f", after step {min(steps):,}, or stop it with Ctrl-C, which saves one"


def write_pointer(run: Path, name: Pointer, target: str | Path) -> None:
    """Point `run/name` at a directory inside of the run, atomically. `target` is relative to the run, or a path inside it."""
    relative = Path(target)
    if relative.is_relative_to(run):
        relative = relative.relative_to(run)
    outside = relative.is_absolute() or ".." in relative.parts
    assert not outside, f"{target} is outside of {run}"
    write_whole(run / name, f"{relative.as_posix()}\n")


def read_pointer(run: Path, name: Pointer) -> Path | None:
    """The directory that `run/name` points at; None if there is no such pointer."""
    path = run / name
    try:
        content = read_text(path, _LONGEST_POINTER, root=run).removesuffix("\n")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise BundleError(
            f"{path}: cannot be read as a pointer: not UTF-8; write a checkpoint's path into it"
        ) from None
    except FileError as error:
        raise BundleError(f"{error}; write a checkpoint's path into {path}") from None
    except OSError as error:
        refuse_exhausted(path, error)
        raise BundleError(
            f"{path}: cannot be read as a pointer: {error.strerror}; write a checkpoint's path into it"
        ) from None
    inside = PurePosixPath(content)
    if not content.strip() or "\n" in content or "\0" in content:
        raise BundleError(f"{path}: damaged pointer; write a path such as {CHECKPOINTS}/step-00001000 into it")
    if inside.is_absolute() or ".." in inside.parts:
        raise BundleError(f"{path}: points to the outside of the run; write a path inside of it")
    target = run / inside
    if not _is_directory(target):
        named = content if _HARMLESS.fullmatch(content) else "a directory"
        raise BundleError(f"{path}: points at {named}, which is not there; restore it or name another checkpoint")
    return target


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long
        return False
