"""`import_model`: makes a bundle of a model of another program. `IMPORTERS` is the table of Hugging Face's model types.

Nothing of the directory is run. The bundle is written aside and renamed, so that it is there whole or not at all.
"""

from collections.abc import Callable
from pathlib import Path

from regard.activity import activity
from regard.bundle.config import Languages
from regard.errors import BundleError, DiskError
from regard.files import whole_directory
from regard.interop.bart_family import import_bart_family
from regard.interop.foreign_config import ForeignConfig
from regard.interop.imported import ImportedModel
from regard.interop.t5 import import_t5

Importer = Callable[[Path, ForeignConfig, Languages], ImportedModel]

IMPORTERS: dict[str, Importer] = {
    "marian": import_bart_family,
    "pegasus": import_bart_family,
    "t5": import_t5,
    "mt5": import_t5,
}
"""Hugging Face's `model_type` -> how such a directory is read."""


def import_model(path: str | Path, out: str | Path, languages: Languages | None = None) -> None:
    """Read the model at `path` and write it as a bundle to `out`, which must not exist."""
    directory, place = Path(path), Path(out)
    if place.exists() or place.is_symlink():
        raise DiskError(f"{place}: it is there already; choose another place, or delete it")
    with activity("reading the model"):
        model = _read(directory, languages or Languages())
    with activity(f"writing {place.name}"), whole_directory(place) as staging:
        model.write(staging)


def _read(directory: Path, languages: Languages) -> ImportedModel:
    if not directory.is_dir():
        what = "a file" if directory.exists() else "no such directory"
        raise BundleError(f"{directory}: {what}; give the directory of a model, with its config.json")
    config = ForeignConfig.read(directory / "config.json")
    kind = config.get("model_type", str, "")
    if kind not in IMPORTERS:
        raise BundleError(
            f"{config.path}: model_type = {kind!r}: not one of {', '.join(IMPORTERS)}, the models that can be imported"
        )
    return IMPORTERS[kind](directory, config, languages)
