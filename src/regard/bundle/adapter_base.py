"""Finds the base of an adapter bundle: the model that its additions belong to. It reads no weights."""

import os
from collections.abc import Iterator
from pathlib import Path

from regard.bundle.adapter import Adapter, adapter_record
from regard.bundle.locate import find_bundle
from regard.bundle.manifest import Manifest, open_manifest
from regard.bundle.weights import WEIGHTS
from regard.errors import BundleError, shown


def find_base(files: Manifest, given: Path | None = None) -> Path:
    """The directory of the base of an adapter bundle, which has the SHA-256 that the adapter names.

    given: where the base is, in place of the path that the adapter names.
    """
    record = adapter_record(files)
    other: Path | None = None
    for path in [given] if given is not None else _places(files.directory, record):
        try:
            directory = find_bundle(path)
            found = open_manifest(directory)
        except BundleError:
            if given is not None:
                raise
            continue
        same_weights = record.weights_sha256 is not None and found.digests.get(WEIGHTS) == record.weights_sha256
        if found.identity == record.sha256 or same_weights:
            return directory
        other = other or directory
    fix = f"give the base it was trained from: regard merge {files.directory} OUT --base DIR"
    if other is not None:
        raise BundleError(
            f"{files.directory}: an adapter of {shown(record.base)}, and {shown(other)} is another model than it was trained from "
            f"(SHA-256 {record.sha256[:12]}.. is needed); {fix}"
        )
    raise BundleError(
        f"{files.directory}: an adapter, and its base {shown(record.base)} is not there; restore it, or {fix}"
    )


def _places(directory: Path, record: Adapter) -> Iterator[Path]:
    """The places where the base may be: as the adapter was trained, then as it lay beside the adapter."""
    yield Path(record.base)
    if record.from_here is not None:
        yield directory / record.from_here


def path_from(directory: Path, base: Path) -> str | None:
    """The relative path from a directory to the bundle of a base; None: there is none, as between two drives."""
    try:
        return Path(os.path.relpath(base.resolve(), directory.resolve())).as_posix()
    except ValueError:
        return None
