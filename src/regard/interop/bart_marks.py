"""The marks that BART's family puts around its texts, and the languages of mBART.

| | a source | an output begins with |
| --- | --- | --- |
| Marian, Pegasus | the text, end mark | what is forced, if anything is |
| BART | `<s>`, the text, end mark | what is forced, which is `<s>` |
| mBART-50 | language, the text, end mark | language, which is forced |
| mBART | the text, end mark, language | nothing: the decoder starts from the language |
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.bundle.config import Languages
from regard.errors import BundleError
from regard.interop.foreign_config import ForeignConfig, mark_of
from regard.interop.foreign_vocabularies import TokenizerConfig
from regard.text.marked import MarksRecord

_CODE = re.compile(r"[a-z]{2,3}_[A-Z]{2}")


@dataclass(frozen=True)
class Marks:
    """The ids of the marks of a model, and the pieces around the texts of each side."""

    source_end: int
    """The last id of a source."""
    target_end: int
    """The id that ends an output."""
    start: int
    """The id that the decoder starts from."""
    source: MarksRecord = field(default_factory=MarksRecord)
    target: MarksRecord = field(default_factory=MarksRecord)


def marks_of_model(
    config: ForeignConfig,
    generation: ForeignConfig,
    tokenizer: TokenizerConfig,
    pieces: tuple[Sequence[str], Sequence[str]],
    languages: Languages,
) -> Marks:
    """The marks of a model of the family. pieces: of the source and the target."""
    model_type, target = config.raw("model_type"), pieces[1]
    end = mark_of(config, generation, "eos_token_id", 2 if model_type in ("bart", "mbart") else None)
    if model_type == "mbart":
        return _mbart(config, generation, tokenizer, pieces, languages, end)
    default = end if model_type == "bart" else mark_of(config, generation, "pad_token_id")
    start = mark_of(config, generation, "decoder_start_token_id", default)
    holder = generation if "forced_bos_token_id" in generation else config
    forced = []
    if "forced_bos_token_id" in holder:
        forced = [_piece(holder, target, mark_of(config, generation, "forced_bos_token_id"))]
    begin = [tokenizer.marks.get("cls_token", tokenizer.marks.get("bos_token", "<s>"))] if model_type == "bart" else []
    if begin and begin[0] not in pieces[0]:
        raise BundleError(
            f"{tokenizer.path}: no piece {begin[0]!r}, with which a source of BART begins; copy the tokenizer again"
        )
    return Marks(end, end, start, MarksRecord(begin=tuple(begin)), MarksRecord(begin=tuple(forced)))


def _mbart(
    config: ForeignConfig,
    generation: ForeignConfig,
    tokenizer: TokenizerConfig,
    pieces: tuple[Sequence[str], Sequence[str]],
    languages: Languages,
    end: int,
) -> Marks:
    codes = [piece for piece in pieces[0] if _CODE.fullmatch(piece)]
    first = bool(tokenizer.text("tokenizer_class") or "") and "50" in str(tokenizer.text("tokenizer_class"))
    stated = generation.raw("decoder_start_token_id") or config.raw("decoder_start_token_id")
    if tokenizer.text("tokenizer_class") is None:  # mBART-50 starts from the end mark
        first = stated in (None, end)
    forced = generation.raw("forced_bos_token_id") or config.raw("forced_bos_token_id")
    target_id = forced if first else stated
    known = pieces[1][target_id] if type(target_id) is int and 0 <= target_id < len(pieces[1]) else None
    source = _language("--src-lang", languages.source or tokenizer.text("src_lang"), codes, config)
    target = _language("--tgt-lang", languages.target or known or tokenizer.text("tgt_lang"), codes, config)
    names = {piece: index for index, piece in enumerate(pieces[0])}
    if first:
        start = mark_of(config, generation, "decoder_start_token_id", end)
        return Marks(end, end, start, MarksRecord(begin=(source,)), MarksRecord(begin=(target,)))
    return Marks(names[source], end, names[target], MarksRecord(end=(_piece(config, pieces[0], end),)))


def _language(flag: str, wanted: str | None, codes: Sequence[str], config: ForeignConfig) -> str:
    """The code of a language that a person named, such as `de_DE` for `de`."""
    matching = [code for code in codes if wanted is not None and (code == wanted or code.split("_")[0] == wanted)]
    if not matching:
        what = "the model does not say its language" if wanted is None else f"{wanted!r} is no language of this model"
        raise BundleError(f"{config.path}: {what}; give {flag} CODE, one of {', '.join(codes) or 'none'}")
    return matching[0]


def _piece(holder: ForeignConfig, pieces: Sequence[str], index: int) -> str:
    if index >= len(pieces):
        raise BundleError(
            f"{holder.path}: a mark has the id {index}, outside of the vocabulary of {len(pieces)} pieces; save the model again"
        )
    return pieces[index]
