"""Finds the bundle of a path that is a bundle or a run; reads and writes the pointers `best` and `latest` of a run.

It opens no bundle.
"""

from pathlib import Path, PurePosixPath
from typing import Literal

from regard.bundle.manifest import MANIFEST
from regard.bundle.opened import WEIGHTS
from regard.errors import BundleError
from regard.files import write_whole

CHECKPOINTS = "checkpoints"
LOCK = ".lock"  # in a run: locked while a process trains it
Pointer = Literal["best", "latest"]


def find_bundle(path: str | Path) -> Path:
    """The directory of a bundle: `path` itself, or the target of the run's `best` pointer, else of `latest`."""
    directory = Path(path)
    if not directory.exists():
        raise BundleError(f"{directory}: no such directory; give a bundle or the directory of a run")
    if not directory.is_dir():
        raise BundleError(f"{directory}: a file, not a directory; give a bundle or the directory of a run")
    if (directory / MANIFEST).exists() or (directory / WEIGHTS).exists():
        return directory
    names: tuple[Pointer, ...] = ("best", "latest")
    for name in names:
        target = read_pointer(directory, name)
        if target is not None:
            return target
    if (directory / CHECKPOINTS).is_dir():
        raise BundleError(f"{directory}: a run without a checkpoint yet; let `regard train` reach its first one")
    raise BundleError(f"{directory}: neither a bundle (no {MANIFEST}) nor a run (no `best` or `latest` pointer)")


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
        content = path.read_text(encoding="utf-8").removesuffix("\n")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{path}: cannot be read as a pointer: {error}; write a checkpoint's path into it") from None
    inside = PurePosixPath(content)
    if not content.strip() or "\n" in content or "\0" in content:
        raise BundleError(f"{path}: damaged pointer {content[:80]!r}; write a path such as {CHECKPOINTS}/step-00001000")
    if inside.is_absolute() or ".." in inside.parts:
        raise BundleError(f"{path}: points at {content!r}, outside of the run; write a path inside of it")
    target = run / inside
    if not target.is_dir():
        raise BundleError(f"{path}: points at {content}, which is not there; restore it or name another checkpoint")
    return target
