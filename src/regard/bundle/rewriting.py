"""Replaces the config of a bundle, and adds records to it. The weights stay as they are: no torch, unless they are of format 1."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from regard.bundle.archive import archives
from regard.bundle.config import CONFIG, BundleSettings
from regard.bundle.manifest import MANIFEST, write_manifest
from regard.bundle.opened import FOR_RESUMING, OpenBundle
from regard.bundle.weights import WEIGHTS
from regard.errors import BundleError
from regard.files import to_json, whole_directory
from regard.settings import Record


def rewrite_config(bundle: OpenBundle, config: BundleSettings) -> None:
    """Replace the config of a bundle atomically."""
    rewrite_bundle(bundle, config)


def rewrite_bundle(
    bundle: OpenBundle, config: BundleSettings | None = None, records: Mapping[str, Record] | None = None
) -> None:
    """Replace the config of a bundle, or add or replace records in JSON, atomically.

    The other files of its directory are kept; no link out of it is followed.
    """
    if bundle.directory.parent == archives():
        raise BundleError(
            f"{bundle.given or bundle.directory}: a zip file is not changed; unpack it, and give the directory"
        )
    config = config or bundle.config
    with whole_directory(bundle.directory) as staging:
        for name in bundle.files.digests:
            if name not in FOR_RESUMING or (bundle.directory / name).exists():
                (staging / name).parent.mkdir(parents=True, exist_ok=True)
                (staging / name).write_bytes(bundle.files.read(name, sys.maxsize))
        (staging / CONFIG).write_text(to_json(config.model_dump(mode="json")), encoding="utf-8")
        if bundle.stored_format == 1:  # the config is written in the newest format, so rename the tensors too
            from regard.bundle.bundle import read_weights
            from regard.bundle.tensors import write_tensors

            write_tensors(staging / WEIGHTS, read_weights(bundle))
        for name, record in (records or {}).items():
            (staging / name).write_text(record.model_dump_json(), encoding="utf-8")
        write_manifest(staging)
        for path in _unlisted(bundle):  # such as a README: it stays unlisted
            if path.as_posix() in (records or {}):
                continue
            (staging / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(bundle.directory / path, staging / path, follow_symlinks=False)


def _unlisted(bundle: OpenBundle) -> list[Path]:
    """The regular files of a bundle that are not in its manifest. No links."""
    paths = [Path(folder, name) for folder, _, names in os.walk(bundle.directory) for name in names]
    plain = [path.relative_to(bundle.directory) for path in paths if path.is_file() and not path.is_symlink()]
    return [name for name in plain if name.as_posix() not in {*bundle.files.digests, MANIFEST}]
