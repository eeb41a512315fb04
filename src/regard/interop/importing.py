"""`import_model`: makes a bundle of a model of another program. CTranslate2 and Argos packages are told
by their files, Hugging Face's models by their `model_type` (`IMPORTERS`).

Nothing of the directory is run. The bundle is written aside and renamed, so that it is there whole or not at all.
"""

from collections.abc import Callable
from pathlib import Path

from regard.activity import activity
from regard.bundle.archive import open_archive
from regard.bundle.config import Languages
from regard.bundle.manifest import MANIFEST
from regard.errors import BundleError
from regard.files import refuse_taken, scratch_directory, whole_directory
from regard.interop.argos import METADATA, MODEL, TOKENIZER
from regard.interop.bart_family import import_bart_family
from regard.interop.bert import import_bert
from regard.interop.ct2_file import MODEL as CT2_FILE
from regard.interop.ct2_import import import_ctranslate2
from regard.interop.foreign_config import ForeignConfig
from regard.interop.gpt2 import import_gpt2
from regard.interop.hub import fetched_model, is_hub_name
from regard.interop.imported import ImportedModel, ImportOptions
from regard.interop.t5 import import_t5
from regard.interop.vit import import_vit

Importer = Callable[[Path, ForeignConfig, ImportOptions], ImportedModel]

IMPORTERS: dict[str, Importer] = {
    "marian": import_bart_family,
    "pegasus": import_bart_family,
    "bart": import_bart_family,
    "mbart": import_bart_family,
    "t5": import_t5,
    "mt5": import_t5,
    "gpt2": import_gpt2,
    "bert": import_bert,
    "vit": import_vit,
}
"""Hugging Face's `model_type` -> how such a directory is read."""


def import_model(path: str | Path, out: str | Path, options: ImportOptions | None = None) -> ImportedModel:
    """Read the model at `path`, write it as a bundle to `out`, which must not exist, and return it."""
    directory, place = Path(path), Path(out)
    refuse_taken(place)
    with activity("reading the model"):
        model = _read(directory, place, options or ImportOptions())
    with activity(f"writing {place.name}"), whole_directory(place) as staging:
        model.write(staging)
    return model


def import_any(path: str | Path, out: str | Path, options: ImportOptions, revision: str | None = None) -> ImportedModel:
    """`import_model`, where a path that does not exist may be the name of a model of the hub."""
    name = str(path)
    if Path(path).exists() or not is_hub_name(name):
        if revision is not None:
            raise BundleError(f"{path}: --revision {revision} is of a model of the hub, OWNER/NAME; leave it out")
        return import_model(path, out, options)
    refuse_taken(Path(out))
    with fetched_model(name, Path(out), revision) as directory:
        try:
            return import_model(directory, out, options)
        except BundleError as error:
            raise BundleError(str(error).replace(str(directory), name)) from None


def _read(path: Path, place: Path, options: ImportOptions) -> ImportedModel:
    """The model at a path; `place`: where an archive may be unpacked beside."""
    if path.is_file():
        with open_archive(path) as archive, scratch_directory(place) as scratch:
            archive.unpack([entry.filename for entry in archive.entries], scratch)
            return _read_argos(path, scratch, options.languages)
    if not path.is_dir():
        raise BundleError(f"{path}: no such directory; give the directory of a model, or an .argosmodel file")
    if (path / METADATA).exists() and (path / MODEL).is_dir():
        return _read_package(path, options.languages)
    if (path / CT2_FILE).exists():
        return import_ctranslate2(path, _spm_files(path), options.languages)
    if (path / MANIFEST).exists():
        raise BundleError(
            f"{path}: a bundle of regard already; use it as it is (from the hub: regard pull OWNER/NAME OUT)"
        )
    config = ForeignConfig.read(path / "config.json")
    kind = config.get("model_type", str, "")
    if kind not in IMPORTERS:
        raise BundleError(
            f"{config.path}: model_type = {kind!r}: not one of {', '.join(IMPORTERS)}, the models that can be imported"
        )
    return IMPORTERS[kind](path, config, options)


def _read_argos(path: Path, scratch: Path, languages: Languages) -> ImportedModel:
    """The model of an unpacked Argos package. Errors name the package, not the directory where it was unpacked."""
    packages = [folder for folder in (scratch, *sorted(scratch.iterdir())) if (folder / METADATA).is_file()]
    if len(packages) != 1:
        raise BundleError(f"{path}: not an Argos package: no folder with {METADATA}, or several")
    try:
        return _read_package(packages[0], languages)
    except BundleError as error:
        raise BundleError(str(error).replace(str(packages[0]), str(path))) from None


def _read_package(directory: Path, languages: Languages) -> ImportedModel:
    """The model of a folder of Argos: its languages are in its metadata."""
    metadata = ForeignConfig.read(directory / METADATA)
    if not (directory / TOKENIZER).exists():
        raise BundleError(f"{directory}: no {TOKENIZER}; packages with other tokenizers are not imported")
    codes = {side: metadata.raw(f"{key}_code") for side, key in (("source", "from"), ("target", "to"))}
    known = {side: code for side, code in codes.items() if isinstance(code, str)}
    given = {side: code for side, code in languages.model_dump().items() if code}
    spm = directory / TOKENIZER
    return import_ctranslate2(directory / MODEL, (spm, spm), Languages(**{**known, **given}))


def _spm_files(directory: Path) -> tuple[Path, Path]:
    """The sentencepiece models beside a CTranslate2 model: as regard exports them, or one for both sides."""
    source, target = directory / "source.spm", directory / "target.spm"
    if source.exists() and target.exists():
        return source, target
    one = next((directory / name for name in (TOKENIZER, "spiece.model") if (directory / name).exists()), None)
    if one is None:
        raise BundleError(
            f"{directory}: no source.spm and target.spm, and no {TOKENIZER}; copy the sentencepiece models there"
        )
    return one, one
