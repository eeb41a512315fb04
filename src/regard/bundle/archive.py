"""Reads a bundle from a zip file: `regard export DIR model.zip --to zip` makes one.

A zip file may come from a stranger, so `regard.zips` checks it first. The bundle is unpacked into the cache, under the SHA-256 of the
zip file.
"""

from contextlib import AbstractContextManager, ExitStack
from hashlib import file_digest
from pathlib import Path, PurePosixPath

from regard.activity import activity
from regard.bundle.manifest import MANIFEST, verify_manifest
from regard.cache import locked_entry, mark_used, new_entry, prune, remove_stale
from regard.errors import BundleError
from regard.files import cache_directory, remove_whole
from regard.zips import Archive, ZipKind, open_zip

MODEL = ZipKind("a model", BundleError, times=20, free_bytes=64 << 20)


def open_archive(path: Path) -> AbstractContextManager[Archive]:
    """A zip file of a model whose directory, names, kinds and sizes were checked; a `BundleError` says what is refused."""
    return open_zip(path, MODEL)


def unpacked(path: Path) -> Path:
    """The directory of the bundle in a zip file. It is in the cache, and stays as it is."""
    home = archives()
    with open_archive(path) as archive:
        names, below = _bundle_of(archive)
        assert archive.file.fp is not None
        archive.file.fp.seek(0)
        entry = home / file_digest(archive.file.fp, "sha256").hexdigest()[:32]  # type: ignore[arg-type]
        with locked_entry(entry, "waiting for another process that unpacks the model"):
            if not _is_sound(entry):
                remove_whole(entry)
                remove_stale(home)
                with activity("unpacking the model"), ExitStack() as writing, new_entry(entry, writing) as staging:
                    archive.unpack(names, staging, below)
                    _verify(archive, staging)
                prune(home, keep=entry)
            mark_used(entry)
    return entry


def archives() -> Path:
    """The directory of the cache with unpacked zip files."""
    return cache_directory() / "archives"


def _bundle_of(archive: Archive) -> tuple[list[str], str]:
    """(the entries of the bundle, the folder that they are in)."""
    names = [entry.filename for entry in archive.entries]
    manifests = [name for name in names if PurePosixPath(name).name == MANIFEST and name.count("/") <= 1]
    if len(manifests) != 1:
        count = "no" if not manifests else f"{len(manifests)}"
        raise BundleError(
            f"{archive.path}: {count} {MANIFEST} at its top, so it is not one bundle; "
            "make it with `regard export DIR OUT.zip --to zip`, or read other formats with `regard import`"
        )
    below = manifests[0].removesuffix(MANIFEST)
    return [name for name in names if name.startswith(below)], below


def _verify(archive: Archive, directory: Path) -> None:
    try:
        verify_manifest(directory)
    except BundleError as error:
        raise BundleError(str(error).replace(str(directory), str(archive.path))) from None


def _is_sound(entry: Path) -> bool:
    try:
        verify_manifest(entry)
    except BundleError:
        return False
    return True
