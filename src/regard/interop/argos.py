"""Argos Translate's packages (`.argosmodel`): a zip file of one folder with a CTranslate2 model, a sentencepiece model and `metadata.json`.

LibreTranslate serves them too. The program splits a text into sentences by itself; its splitter is no part of the package.
"""

from pathlib import Path

from regard.bundle.config import Languages, installed_version
from regard.bundle.ctranslate2 import convert
from regard.bundle.opened import OpenBundle
from regard.bundle.precision import Precision
from regard.errors import BundleError, ConfigError
from regard.files import disk_errors, to_json
from regard.interop.languages import language_name
from regard.interop.sentencepiece import spm_of

METADATA, MODEL, TOKENIZER = "metadata.json", "model", "sentencepiece.model"
_ARGOS_VERSION = "1.9.0"  # the least version that reads such a package


def check_argos(bundle: OpenBundle, languages: Languages) -> None:
    """Refuse a model whose tokenizer is not one sentencepiece model, or whose languages are not known."""
    tokenizers = bundle.tokenizers
    where = f"{bundle.directory}: an Argos package"
    if bundle.config.directions:
        raise BundleError(
            f"{where} has one direction and puts no tag before a source, and this model translates "
            f"{' and '.join(bundle.config.direction_names)}; use --to ct2 or hf"
        )
    if not tokenizers.joint:
        raise BundleError(f"{where} has one tokenizer for both languages; train with text.joint = true")
    if spm_of(tokenizers.source) is None:
        kind = tokenizers.source.kind
        raise BundleError(
            f"{where} needs a sentencepiece tokenizer, not text.kind {kind!r}; train with text.kind = 'bpe'"
        )
    if tokenizers.source.lowercase:
        raise BundleError(f"{where} does not lowercase its input; train with text.lowercase = false")
    for flag, code in (("--src-lang", languages.source), ("--tgt-lang", languages.target)):
        if not code:
            raise ConfigError(f"{where} names its languages, and the bundle does not know them; give {flag} CODE")


def write_argos(bundle: OpenBundle, directory: Path, languages: Languages, precision: Precision) -> None:
    """Write the files of the package's folder."""
    assert languages.source is not None
    assert languages.target is not None
    model = spm_of(bundle.tokenizers.source)
    assert model is not None, "check_argos refuses it"
    metadata = {
        "package_version": "1.0",
        "argos_version": _ARGOS_VERSION,
        "from_code": languages.source,
        "from_name": language_name(languages.source),
        "to_code": languages.target,
        "to_name": language_name(languages.target),
        "writer": f"regard {installed_version()}",
    }
    with disk_errors(directory):
        (directory / METADATA).write_text(to_json(metadata), encoding="utf-8")
        (directory / TOKENIZER).write_bytes(model)
        (directory / MODEL).mkdir()
    convert(bundle, "int8" if precision == "int8" else "float32", directory / MODEL)
