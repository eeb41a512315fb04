"""`tokenizer.json`: a tokenizer of regard as the library `tokenizers` reads it, written without that library.

The normalisation of regard, the pieces and the spelling of rare characters in bytes are all in the file. Details differ: final sigmas
of lowercased Greek; how many U+FFFD an invalid sequence of bytes becomes; and a unigram tokenizer takes `</s>` or `<0x41>` in a text
for the piece of that name.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from regard.errors import BundleError
from regard.interop.sentencepiece import scored_pieces, spm_of
from regard.text.normalise import SPACE_MARK
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import END, FIXED_NAMES, PAD, UNKNOWN, Vocabulary

_DROPPED = r"[\x{00}-\x{08}\x{0e}-\x{1b}\x{7f}-\x{84}\x{86}-\x{9f}\x{feff}]"
_SPACES = (
    r"[\t\n\x{0b}\x{0c}\r\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+"
)
_FORMS = {"nfc": "NFC", "nfkc": "NFKC"}


def tokenizer_json(tokenizer: Tokenizer, *, language_model: bool = False) -> dict[str, Any]:
    """The content of the file for a tokenizer of subwords or characters.

    language_model: texts of several lines, that begin with the unknown mark in place of ending with the end mark, and no padding.
    """
    pieces = tokenizer.vocabulary.pieces
    marks_first = tokenizer.kind != "char"  # a space mark before the first word too
    special = [(Vocabulary.EOS, END), (Vocabulary.UNK, UNKNOWN)]
    special += [(index, name) for name, index in tokenizer.vocabulary.reserved.names.items()]
    mark, place = (UNKNOWN, Vocabulary.UNK) if language_model else (END, Vocabulary.EOS)
    if language_model:
        pieces = pieces[:-1]
    else:
        special.append((tokenizer.vocabulary.pad, PAD))
    marked: dict[str, Any] = {"SpecialToken": {"id": mark, "type_id": 0}}
    single: list[dict[str, Any]] = [{"Sequence": {"id": "A", "type_id": 0}}]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 0}}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": index,
                "content": piece,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for index, piece in special
        ],
        "normalizer": exported_normalizers(tokenizer.form, tokenizer.lowercase, marks_first, lines=language_model),
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [marked, *single] if language_model else [*single, marked],
            "pair": [marked, *pair] if language_model else [*pair, marked],
            "special_tokens": {mark: {"id": mark, "ids": [place], "tokens": [mark]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE_MARK}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                *([_DECODED_LINE] if language_model and marks_first else []),
                {"type": "Strip", "content": " ", "start": int(marks_first), "stop": 0},
            ],
        },
        "model": _model(tokenizer, pieces),
    }


_DECODED_LINE = {"type": "Replace", "pattern": {"String": "\n "}, "content": "\n"}


def exported_normalizers(form: str, lowercase: bool, marks_first: bool, *, lines: bool = False) -> dict[str, Any]:
    """regard's normalisation and its space marks, as the file has them. marks_first: a space mark before the first word too.

    lines: texts have several lines, each normalised by itself.
    """
    return {"type": "Sequence", "normalizers": [*_normalizers(form, lowercase, marks_first, lines)]}


def _normalizers(form: str, lowercase: bool, marks_first: bool, lines: bool) -> Iterator[dict[str, Any]]:
    """regard's normalisation, step by step, and the space marks."""
    yield _replaced(_DROPPED, "")
    if form in _FORMS:
        yield {"type": _FORMS[form]}
    if lowercase:
        yield {"type": "Lowercase"}
        if form in _FORMS:
            yield {"type": _FORMS[form]}
    yield {"type": "Replace", "pattern": {"String": SPACE_MARK}, "content": "_"}
    if lines:
        yield _replaced(_SPACES.replace(r"\n", ""), " ")
        yield _replaced(r" *\n *", "\n")
        yield _replaced(r"\A +| +\z", "")
        if marks_first:
            yield _replaced(r"\n(?=[^\n])", f"\n{SPACE_MARK}")
            yield _replaced(r"\A(?=[^\n])", SPACE_MARK)
    else:
        yield _replaced(_SPACES, " ")
        yield {"type": "Strip", "strip_left": True, "strip_right": True}
        if marks_first:
            yield {"type": "Prepend", "prepend": SPACE_MARK}
    yield {"type": "Replace", "pattern": {"String": " "}, "content": SPACE_MARK}


def _replaced(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _model(tokenizer: Tokenizer, pieces: Sequence[str]) -> dict[str, Any]:
    if tokenizer.kind == "unigram":
        model = spm_of(tokenizer)
        assert model is not None
        scored = scored_pieces(model)
        vocabulary = [[piece, score] for piece, score in zip(*scored, strict=True)]
        vocabulary += [[piece, 0.0] for piece in pieces[len(vocabulary) :]]  # padding, if it is there
        return {"type": "Unigram", "unk_id": Vocabulary.UNK, "vocab": vocabulary, "byte_fallback": True}
    if tokenizer.kind not in ("bpe", "char"):
        raise BundleError(f"text.kind {tokenizer.kind!r} has no form in tokenizer.json; train with text.kind = 'bpe'")
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": UNKNOWN,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": True,
        "ignore_merges": False,
        "vocab": {piece: index for index, piece in enumerate(pieces)},
        "merges": _merges(tokenizer) if tokenizer.kind == "bpe" else [],
    }


def _merges(tokenizer: Tokenizer) -> list[list[str]]:
    """The merges in the order in which sentencepiece applies them: the piece with the best score first."""
    model = spm_of(tokenizer)
    assert model is not None
    scored = scored_pieces(model)
    known = {piece for piece in scored.pieces if not FIXED_NAMES.fullmatch(piece)} - tokenizer.vocabulary.silent
    ranked = sorted((-score, index) for index, score in enumerate(scored.scores))
    return [
        [piece[:cut], piece[cut:]]
        for _, index in ranked
        if (piece := scored.pieces[index]) in known
        for cut in range(1, len(piece))
        if piece[:cut] in known and piece[cut:] in known
    ]
