"""`quantize_model`: writes a bundle whose weights have 8 bits, with its size and its scores before and after."""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from regard.activity import activity
from regard.bundle.adapter import refuse_adapter
from regard.bundle.config import CONFIG
from regard.bundle.ctranslate2 import obstacle
from regard.bundle.manifest import write_manifest
from regard.bundle.opened import OpenBundle
from regard.bundle.precision import MeasuredPrecisions
from regard.bundle.quantised import QUANTISED, Quantised, Stored, refuse_quantised, write_quantised
from regard.bundle.shortlist import SHORTLIST, has_shortlist
from regard.bundle.weights import WEIGHTS, numpy_weights
from regard.errors import BundleError, ConfigError, DataError
from regard.files import check_place, disk_errors, refuse_taken, to_json, whole_directory
from regard.foreign import RECORD_BYTES
from regard.interop.card import CARD, CardFacts, model_card
from regard.metrics.translation import CorpusScore, bleu, chrf
from regard.tasks.load import load_translator, open_given
from regard.tasks.translate.validation import validation_pairs

_PRECISIONS: tuple[Stored, ...] = get_args(Stored)


def quantize_model(
    path: str | Path,
    out: str | Path,
    pairs: tuple[Sequence[str], Sequence[str]] | None = None,
    *,
    to: str | Sequence[str] | None = None,
    from_: str | None = None,
    judged_on: str = "given",
    beam: int = 5,
    tokenize: str = "13a",
    licence: str | None = None,
) -> Quantised:
    """Write the translator of a bundle or run to `out`, which must not exist, with weights of 8 bits.

    pairs: sources and references that both are judged on; None: the validation set of the run. judged_on: their name. to, from_: their
    languages, of a model of several directions; the validation set tells its own.
    """
    path, out = Path(path), Path(out)
    bundle = open_given(path)
    _check(bundle, out)
    if pairs is None:
        if (language := to or from_) is not None:
            raise ConfigError(
                f"{language!r}: the validation set of the run has its own languages; give --src and --ref too"
            )
        own_sources, own_references, directions = validation_pairs(path)
        to = None if directions is None else [target for _, target in directions]
        pairs, judged_on = (own_sources, own_references), "validation"
    sources, references = pairs
    if not any(map(str.strip, sources)):
        raise DataError(f"{path}: no sentences to judge it on; give the sentences of a validation set")
    scores = {name: _scores(path, name, sources, references, (to, from_), beam, tokenize) for name in _PRECISIONS}
    with activity(f"writing {out.name}"), whole_directory(out) as staging:
        write_quantised(staging / WEIGHTS, numpy_weights(bundle))
        sizes: dict[Stored, Path] = {"float32": bundle.directory / WEIGHTS, "int8": staging / WEIGHTS}
        record = Quantised(
            of=bundle.files.identity,
            sizes={name: file.stat().st_size for name, file in sizes.items()},
            judged_on=judged_on,
            sentences=len(sources),
            beam=beam,
            scores={
                row.name: {name: scores[name][at].value for name in scores} for at, row in enumerate(scores["int8"])
            },
            signatures={score.name: score.signature for score in scores["int8"]},
        )
        with disk_errors(staging):
            (staging / CONFIG).write_text(to_json(bundle.config.model_dump(mode="json")), encoding="utf-8")
            bundle.config.save_codecs(bundle.codecs, staging)
            if has_shortlist(bundle):
                (staging / SHORTLIST).write_bytes(bundle.files.read(SHORTLIST, RECORD_BYTES))
            (staging / QUANTISED).write_text(to_json(record.model_dump(mode="json")), encoding="utf-8")
            write_manifest(staging)
            card = model_card(bundle, "regard", CardFacts(licence=licence), record)
            (staging / CARD).write_text(card, encoding="utf-8")  # not listed, so that it may be edited
    return record


def measured(record: Quantised) -> MeasuredPrecisions:
    """The BLEU of both, as `--precision auto` judges it."""
    return MeasuredPrecisions(
        sentences=record.sentences, bleu={name: record.scores["bleu"][name] for name in _PRECISIONS}
    )


def _check(bundle: OpenBundle, out: Path) -> None:
    """Refuse a model that CTranslate2 lacks or that is quantised already, and a place that is taken."""
    if bundle.config.task != "translate":
        raise BundleError(f"{bundle.directory}: its task is to {bundle.config.task}; only translators are quantised")
    refuse_adapter(bundle.files, "which are what is quantised")
    refuse_quantised(bundle.files, "quantise the bundle that it was made of")
    why = obstacle(bundle.config.model)
    if why is not None:
        raise BundleError(f"{bundle.directory}: only CTranslate2 runs weights of 8 bits, and {why}")
    refuse_taken(out)
    check_place(out)


def _scores(
    path: Path,
    precision: Stored,
    sources: Sequence[str],
    references: Sequence[str],
    languages: tuple[str | Sequence[str] | None, str | None],
    beam: int,
    tokenize: str,
) -> list[CorpusScore]:
    """BLEU and chrF of a bundle in a precision."""
    with activity(f"translating in {precision}"):
        translator = load_translator(path, engine="ct2", precision=precision)
        texts = [one.text for one in translator.translate(sources, to=languages[0], from_=languages[1], beam=beam)]
    exact = [bleu(texts, references, tokenize=tokenize), chrf(texts, references)]
    return [CorpusScore(one.name, min(one.value, 100.0), one.signature) for one in exact]  # rounding may exceed it
