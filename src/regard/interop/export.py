"""`export_model`: writes a trained model in the format of another program. `EXPORTS` is the table of formats.

A directory or file is written aside and renamed, so that it is there whole or not at all. What a format cannot hold is refused before
anything is written, with the setting to train with.
"""

import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from regard.activity import activity
from regard.bundle.adapter import ADAPTER, ADAPTER_WEIGHTS
from regard.bundle.bundle import read_weights
from regard.bundle.config import CONFIG
from regard.bundle.ctranslate2 import convert, obstacle
from regard.bundle.manifest import write_manifest
from regard.bundle.opened import FOR_RESUMING, OpenBundle
from regard.bundle.quantised import is_quantised
from regard.bundle.tensors import write_tensors
from regard.bundle.weights import WEIGHTS
from regard.errors import BundleError, ConfigError
from regard.files import check_place, disk_errors, refuse_taken, scratch_directory, to_json, whole_directory, whole_file
from regard.interop.argos import check_argos, write_argos
from regard.interop.card import CARD, CardFacts, card_of_copy, model_card
from regard.interop.hf_language import check_language_model, write_language_model
from regard.interop.hugging_face import check_hugging_face, write_hugging_face
from regard.interop.onnx_export import check_onnx, write_onnx
from regard.interop.sentencepiece import write_spm_files
from regard.tasks.load import open_given
from regard.text.marked import MarksRecord, marks_of

StoredPrecision = Literal["float32", "int8"]
_DATE = (1980, 1, 1, 0, 0, 0)  # of every entry: the same model gives the same bytes
_INCOMPRESSIBLE = (".safetensors", ".bin")


@dataclass(frozen=True)
class ExportOptions:
    """The settings of an export."""

    precision: StoredPrecision = "float32"
    """Of the weights of CTranslate2, also in an Argos package."""
    facts: CardFacts = field(default_factory=CardFacts)
    """The facts of the model card that the bundle does not have."""


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """A format: how its files are written into an existing directory."""

    check: Callable[[OpenBundle, ExportOptions], None]
    """Refuses a model that the format cannot hold."""
    write: Callable[[OpenBundle, Path, ExportOptions], None]
    library: str
    """The program that reads it, for the model card."""
    zipped: bool = False
    """Whether it is one zip file. If not, it is a directory."""
    in_folder: bool = False
    """Whether the zip file holds one folder, not the files themselves."""
    suffix: str = ""
    """The end that the name of the file must have."""
    precisions: tuple[str, ...] = ("float32",)


def export_model(bundle: OpenBundle, out: Path, to: str, options: ExportOptions | None = None) -> None:
    """Write the model of a bundle to `out`, which must not exist, in the format `to`, one of `EXPORTS`."""
    options = options or ExportOptions()
    exporter = _exporter(to, out, options)
    exporter.check(bundle, options)
    with activity(f"writing {out.name}"):
        if not exporter.zipped:
            with whole_directory(out) as staging:
                _write(exporter, bundle, staging, options, out.name)
            return
        with whole_file(out) as staging, scratch_directory(out) as scratch:
            _write(exporter, bundle, scratch, options, out.name)
            _write_zip(scratch, staging, f"{out.stem}/" if exporter.in_folder else "")


def export_path(path: str | Path, out: str | Path, to: str, precision: str, facts: CardFacts) -> None:
    """`export_model` of a bundle, a zip file of one, or the best checkpoint of a run."""
    if precision not in get_args(StoredPrecision):
        raise ConfigError(f"precision = {precision!r}: not one of {', '.join(get_args(StoredPrecision))}")
    export_model(open_given(path), Path(out), to, ExportOptions(cast(StoredPrecision, precision), facts))


def _exporter(to: str, out: Path, options: ExportOptions) -> Exporter:
    """The row of a format. Refused are an unknown format, a place that is taken, and a precision that the format does not have."""
    if to not in EXPORTS:
        raise ConfigError(f"--to {to}: not one of {', '.join(EXPORTS)}")
    exporter = EXPORTS[to]
    if options.precision not in exporter.precisions:
        raise ConfigError(
            f"--precision {options.precision}: --to {to} has only {' and '.join(exporter.precisions)}; leave it out"
        )
    if not out.name.endswith(exporter.suffix):
        others = {other.suffix for other in EXPORTS.values() if other.suffix}
        stem = out.with_suffix("") if out.suffix in others else out
        raise ConfigError(f"{out}: a file of --to {to} ends in {exporter.suffix}; write {stem}{exporter.suffix}")
    refuse_taken(out)
    check_place(out)
    return exporter


def _write(exporter: Exporter, bundle: OpenBundle, directory: Path, options: ExportOptions, place: str) -> None:
    """Write the files and their card. place: the name of the file or directory that they will be in."""
    exporter.write(bundle, directory, options)
    with disk_errors(directory):
        library, facts = exporter.library, options.facts
        card = card_of_copy(bundle, facts) if library == "regard" else model_card(bundle, library, facts, place=place)
        # last: in a bundle it is not listed, so that it may be edited
        (directory / CARD).write_text(card, encoding="utf-8")


def _write_zip(directory: Path, path: Path, folder: str) -> None:
    """Pack a directory. The date of the entries does not depend on the clock."""
    with disk_errors(path), zipfile.ZipFile(path, "w", strict_timestamps=False) as archive:
        for file in sorted(file for file in directory.rglob("*") if file.is_file()):
            entry = zipfile.ZipInfo(f"{folder}{file.relative_to(directory).as_posix()}", _DATE)
            entry.external_attr = 0o644 << 16
            compressible = file.suffix not in _INCOMPRESSIBLE
            entry.compress_type = zipfile.ZIP_DEFLATED if compressible else zipfile.ZIP_STORED
            entry.file_size = file.stat().st_size  # so that sizes of 64 bits are written where they are needed
            with file.open("rb") as source, archive.open(entry, "w") as target:
                while chunk := source.read(1 << 20):
                    target.write(chunk)


def _check_nothing(bundle: OpenBundle, options: ExportOptions) -> None:
    """Every bundle can be copied."""


def _write_bundle(bundle: OpenBundle, directory: Path, options: ExportOptions) -> None:
    """The bundle alone, in the newest format, without what only resuming its training needs."""
    with disk_errors(directory):
        for name in bundle.files.digests:
            if name not in (*FOR_RESUMING, CARD, WEIGHTS, CONFIG, ADAPTER, ADAPTER_WEIGHTS):
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (directory / name).write_bytes(bundle.files.read(name, sys.maxsize))
        (directory / CONFIG).write_text(to_json(bundle.config.model_dump(mode="json")), encoding="utf-8")
        if is_quantised(bundle.files):
            (directory / WEIGHTS).write_bytes(bundle.files.read(WEIGHTS, sys.maxsize))
    if not is_quantised(bundle.files):
        write_tensors(directory / WEIGHTS, read_weights(bundle))
    write_manifest(directory)


def _check_ctranslate2(bundle: OpenBundle, options: ExportOptions) -> None:
    _refuse_other_tasks(bundle, "ct2", "translate")
    _refuse_obstacle(bundle, options)


def _refuse_obstacle(bundle: OpenBundle, options: ExportOptions) -> None:
    """Refuse a translator that CTranslate2 cannot run, and weights that are not there any more."""
    _refuse_marks(bundle)
    why = obstacle(bundle.config.model)
    if why is not None:
        raise BundleError(f"{bundle.directory}: cannot be exported for CTranslate2: {why}")
    if options.precision != "int8" and is_quantised(bundle.files):
        raise BundleError(
            f"{bundle.directory}: its weights have 8 bits, so they are not written as {options.precision}; use --precision int8"
        )


def _refuse_marks(bundle: OpenBundle) -> None:
    """Refuse a model whose texts need marks around them: the programs that read sentencepiece models put none."""
    tokenizers = bundle.tokenizers
    source, target = tokenizers.source, tokenizers.target
    if any(marks_of(tokenizer) != MarksRecord() for tokenizer in (source, target)):
        raise BundleError(
            f"{bundle.directory}: it was imported, and its texts have marks around them that other programs would not put; "
            "export what you import from there"
        )
    if source.vocabulary.marks.end != target.vocabulary.marks.end:
        raise BundleError(f"{bundle.directory}: its sources and its outputs have different end marks; use --to zip")


def _refuse_other_tasks(bundle: OpenBundle, to: str, *tasks: str) -> None:
    """Refuse a model whose task a format has no place for."""
    if bundle.config.task not in tasks:
        raise BundleError(
            f"{bundle.directory}: its task is to {bundle.config.task}, and --to {to} is for models that {' or '.join(tasks)}; "
            "use --to safetensors or zip"
        )


def _write_ctranslate2(bundle: OpenBundle, directory: Path, options: ExportOptions) -> None:
    convert(bundle, options.precision, directory)
    write_spm_files(bundle.tokenizers, directory)


def _check_argos(bundle: OpenBundle, options: ExportOptions) -> None:
    _refuse_other_tasks(bundle, "argos", "translate")
    _refuse_obstacle(bundle, options)
    check_argos(bundle, options.facts.languages(bundle))


def _write_argos(bundle: OpenBundle, directory: Path, options: ExportOptions) -> None:
    write_argos(bundle, directory, options.facts.languages(bundle), options.precision)


def _check_hugging_face(bundle: OpenBundle, options: ExportOptions) -> None:
    _refuse_other_tasks(bundle, "hf", "translate", "generate")
    check = check_language_model if bundle.config.task == "generate" else check_hugging_face
    check(bundle)


def _write_hugging_face(bundle: OpenBundle, directory: Path, options: ExportOptions) -> None:
    write = write_language_model if bundle.config.task == "generate" else write_hugging_face
    write(bundle, directory)


def _check_onnx(bundle: OpenBundle, options: ExportOptions) -> None:
    _refuse_other_tasks(bundle, "onnx", "translate", "generate", "classify")
    _refuse_marks(bundle)
    if getattr(bundle.config.model, "causal", False):
        raise BundleError(f"{bundle.directory}: model.causal has no form in ONNX here; train a classifier without it")
    check_onnx(bundle)


def _write_onnx(bundle: OpenBundle, directory: Path, options: ExportOptions) -> None:
    write_onnx(bundle, directory)


EXPORTS: dict[str, Exporter] = {
    "hf": Exporter(check=_check_hugging_face, write=_write_hugging_face, library="transformers"),
    "ct2": Exporter(
        check=_check_ctranslate2,
        write=_write_ctranslate2,
        library="ctranslate2",
        precisions=("float32", "int8"),
    ),
    "onnx": Exporter(check=_check_onnx, write=_write_onnx, library="onnxruntime"),
    "argos": Exporter(
        check=_check_argos,
        write=_write_argos,
        library="argostranslate",
        zipped=True,
        in_folder=True,
        suffix=".argosmodel",
        precisions=("float32", "int8"),
    ),
    "safetensors": Exporter(check=_check_nothing, write=_write_bundle, library="regard"),
    "zip": Exporter(check=_check_nothing, write=_write_bundle, library="regard", zipped=True, suffix=".zip"),
}
"""Every format by its name in `--to`."""
