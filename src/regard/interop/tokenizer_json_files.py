"""Reads `tokenizer.json`, the file of the library `tokenizers`, without that library: byte-level BPE, WordPiece, unigram, and what
regard itself exported. Any other combination of its parts is refused by name.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from regard.errors import BundleError, ConfigError, shown
from regard.interop.foreign_tokenizers import ForeignTokenizer, byte_bpe_tokenizer, silent_pieces, word_piece_tokenizer
from regard.interop.foreign_vocabularies import TokenizerConfig, checked_ids, filled, read_json
from regard.interop.segmenters import OwnPieces, SentencePieceModel
from regard.interop.sentencepiece_model import sentencepiece_model
from regard.interop.tokenizer_json import exported_normalizers
from regard.text.config import Kind
from regard.text.normalise import Form
from regard.text.protobuf import check_imported_model
from regard.text.vocabulary import BYTE_PIECES, PAD, Vocabulary
from regard.text.wordpiece import WordPieceRecord

TOKENIZER_JSON = "tokenizer.json"
_ADVICE = "such tokenizers are not read"
_LARGEST_SCORE = 3.4e38  # of sentencepiece's numbers of 32 bits


def read_tokenizer_json(directory: Path, size: int) -> ForeignTokenizer:
    """The tokenizer of a directory. size: rows of the embedding."""
    path = directory / TOKENIZER_JSON
    values = read_json(directory, TOKENIZER_JSON)
    if not isinstance(values, dict) or not isinstance(values.get("model"), dict):
        raise BundleError(f"{path}: not a tokenizer: no object `model`; copy it again")
    file = _File(path, values, TokenizerConfig.read(directory), size)
    kind = file.model.get("type")
    if kind == "WordPiece":
        return _word_pieces(file)
    if kind == "BPE" and file.part("pre_tokenizer").get("type") == "ByteLevel":
        return _byte_bpe(file)
    if kind in ("BPE", "Unigram"):
        own = _exported_form(file)
        if own is not None:
            return _exported(file, *own)
    if kind == "Unigram":
        return _unigram(file)
    raise file.refused("model.type", kind)


class _File:
    """The parts of a file."""

    def __init__(self, path: Path, values: Mapping[str, Any], config: TokenizerConfig, size: int) -> None:
        self.path, self.values, self.config, self.size = path, values, config, size
        self.model: Mapping[str, Any] = values["model"]

    def part(self, name: str) -> Mapping[str, Any]:
        """A part such as the normalizer; empty if there is none. A sequence of one part is that part."""
        part = self.values.get(name)
        if isinstance(part, dict) and part.get("type") == "Sequence":
            parts = part.get("normalizers", part.get("pretokenizers"))
            part = parts[0] if isinstance(parts, list) and len(parts) == 1 else part
        if part is None:
            return {}
        if not isinstance(part, dict):
            raise self.refused(name, part)
        return part

    def expect(self, where: Mapping[str, Any], name: str, *allowed: object) -> None:
        if where.get(name, allowed[0]) not in allowed:
            raise self.refused(name, where.get(name))

    def refused(self, name: str, value: object) -> BundleError:
        return BundleError(f"{self.path}: {name} = {shown(repr(value), 80)}: {_ADVICE}")

    def ids(self) -> dict[str, int]:
        """The pieces and their ids, those of the added tokens included."""
        vocabulary = self.model.get("vocab")
        if isinstance(vocabulary, list):
            vocabulary = {piece: index for index, (piece, _) in enumerate(self.scored())}
        ids = dict(checked_ids(vocabulary, self.path))
        for token in self.added():
            if ids.setdefault(token["content"], token["id"]) != token["id"]:
                raise BundleError(f"{self.path}: {shown(token['content'], 50)!r} has two ids; copy it again")
        return checked_ids(ids, self.path)

    def added(self) -> Sequence[Mapping[str, Any]]:
        """The added tokens. One that is a word, not a mark, would be cut out of texts, which is not done here."""
        tokens = self.values.get("added_tokens") or []
        if not isinstance(tokens, list):
            raise self.refused("added_tokens", tokens)
        for token in tokens:
            if not isinstance(token, dict) or type(token.get("id")) is not int or type(token.get("content")) is not str:
                raise self.refused("added_tokens", token)
            if token.get("special") is not True:
                raise self.refused("added_tokens.special", token)
        return tokens

    def scored(self) -> list[tuple[str, float]]:
        """The pieces of a unigram model and their scores."""
        rows = self.model.get("vocab")
        plain = isinstance(rows, list) and all(
            isinstance(row, list) and len(row) == 2 and type(row[0]) is str and type(row[1]) in (int, float)
            for row in rows
        )
        if not plain:
            raise BundleError(f"{self.path}: model.vocab is not a list of pieces and scores; copy it again")
        assert isinstance(rows, list)
        if len({row[0] for row in rows}) < len(rows):
            raise BundleError(f"{self.path}: a piece is there twice; copy it again")
        for piece, score in rows:
            if not -_LARGEST_SCORE < score < _LARGEST_SCORE:  # NaN is neither
                raise BundleError(
                    f"{self.path}: {shown(piece, 50)!r} has the score {shown(repr(score), 20)}; copy it again"
                )
        return [(row[0], float(row[1])) for row in rows]

    def merges(self) -> list[str]:
        rows = self.model.get("merges")
        if not isinstance(rows, list):
            raise self.refused("model.merges", rows)
        return [
            row if isinstance(row, str) else " ".join(map(str, row)) if isinstance(row, list) else "" for row in rows
        ]

    def pieces(self, ids: Mapping[str, int]) -> list[str]:
        return filled({index: piece for piece, index in ids.items()}, self.size, self.path)


def _byte_bpe(file: _File) -> ForeignTokenizer:
    pre_tokenizer = file.part("pre_tokenizer")
    if file.part("normalizer"):
        raise file.refused("normalizer", file.values["normalizer"])
    file.expect(pre_tokenizer, "use_regex", True)
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        file.expect(file.model, name, None, "", 0.0)
    for name in ("byte_fallback", "ignore_merges", "fuse_unk"):
        file.expect(file.model, name, False)
    prefix = pre_tokenizer.get("add_prefix_space", True)
    ids = file.ids()
    return byte_bpe_tokenizer(
        file.path, ids, file.pieces(ids), file.merges(), file.config, prefix_space=prefix is not False
    )


def _word_pieces(file: _File) -> ForeignTokenizer:
    normalizer = file.part("normalizer")
    file.expect(normalizer, "type", "BertNormalizer")
    file.expect(file.part("pre_tokenizer"), "type", "BertPreTokenizer")
    lowercase, accents = normalizer.get("lowercase", True), normalizer.get("strip_accents")
    rules = {
        "pieces": ("", "", ""),
        "continuing": file.model.get("continuing_subword_prefix", "##"),
        "longest_word": file.model.get("max_input_chars_per_word", 100),
        "clean": normalizer.get("clean_text", True),
        "split_ideographs": normalizer.get("handle_chinese_chars", True),
        "strip_accents": lowercase if accents is None else accents,
        "lowercase": lowercase,
    }
    try:
        record = WordPieceRecord.parse(rules, str(file.path))
    except ConfigError as error:
        raise BundleError(f"{error}; {_ADVICE}") from None
    ids = file.ids()
    return word_piece_tokenizer(file.path, ids, file.pieces(ids), record, file.config)


def _unigram(file: _File) -> ForeignTokenizer:
    """A sentencepiece model with the same pieces, scores and normalisation."""
    unknown = file.model.get("unk_id")
    scored = file.scored()
    if type(unknown) is not int or not 0 <= unknown < len(scored):
        raise file.refused("model.unk_id", unknown)
    file.expect(file.model, "byte_fallback", False)
    ids = file.ids()
    pieces = file.pieces(ids)
    marks = [*file.config.marks.values(), *(token["content"] for token in file.added())]
    silent = silent_pieces(pieces, ids, [piece for piece in marks if piece in ids])
    named = frozenset(silent)
    controls = {index for index, (piece, _) in enumerate(scored) if piece in named}
    _check_spaces(file)
    model = sentencepiece_model(
        [piece for piece, _ in scored],
        [score for _, score in scored],
        "unigram",
        unknown=unknown,
        controls=controls,
        character_map=_character_map(file),
    )
    return ForeignTokenizer(SentencePieceModel(model), pieces, unknown, silent)


def _check_spaces(file: _File) -> None:
    """Refuse another treatment of spaces than sentencepiece's: one mark before each word."""
    part = file.values.get("pre_tokenizer")
    parts = part.get("pretokenizers", [part]) if isinstance(part, dict) else [part]
    if not isinstance(parts, list) or not all(isinstance(one, dict) for one in parts):
        raise file.refused("pre_tokenizer", part)
    types = [one.get("type") for one in parts]
    if types not in (["Metaspace"], ["WhitespaceSplit", "Metaspace"]):
        raise file.refused("pre_tokenizer", part)
    file.expect(parts[-1], "replacement", "\u2581")
    file.expect(parts[-1], "prepend_scheme", "always")
    file.expect(parts[-1], "add_prefix_space", True)


def _character_map(file: _File) -> bytes:
    """The map of characters of the normalizer, checked; empty: there is no normalizer."""
    part = file.values.get("normalizer")
    if part is None:
        return b""
    parts = part.get("normalizers", [part]) if isinstance(part, dict) else [part]
    if not isinstance(parts, list):
        raise file.refused("normalizer", part)
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    kept = [one for one in parts if one != spaces and (not isinstance(one, dict) or one.get("type") != "Strip")]
    if len(kept) != 1 or not isinstance(kept[0], dict) or kept[0].get("type") != "Precompiled":
        raise file.refused("normalizer", part)
    try:
        content = base64.b64decode(kept[0].get("precompiled_charsmap") or "", validate=True)
        model = sentencepiece_model(["<unk>"], [0.0], "unigram", unknown=0, controls=(), character_map=content)
        check_imported_model(model)
    except (binascii.Error, TypeError, ValueError) as error:
        raise BundleError(f"{file.path}: precompiled_charsmap: {error}; copy it again") from None
    return content


def _exported_form(file: _File) -> tuple[Form, bool, bool] | None:
    """(Unicode form, lowercased, whether a space mark comes before the first word), if regard exported the file; else None."""
    if file.values.get("pre_tokenizer") is not None or not isinstance(file.values.get("normalizer"), dict):
        return None
    for form in ("nfc", "nfkc", "none"):
        for lowercase in (False, True):
            for first in (True, False):
                if file.values["normalizer"] == exported_normalizers(form, lowercase, first):
                    return form, lowercase, first
    return None


def _exported(file: _File, form: Form, lowercase: bool, marks_first: bool) -> ForeignTokenizer:
    """A tokenizer of regard: its kind from the model, and a sentencepiece model of its pieces."""
    ids = file.ids()
    pieces = file.pieces(ids)
    kind: Kind = "unigram" if file.model.get("type") == "Unigram" else "bpe" if marks_first else "char"
    own = pieces[:-1]
    scores: list[float] = []
    if kind == "unigram":
        scores = [score for _, score in file.scored()][:-1]
    elif kind == "bpe":
        scores = _bpe_scores(own, file.merges())
    ordered = pieces[-1:] == [PAD] and set(BYTE_PIECES) <= set(own) and (kind == "char" or len(scores) == len(own))
    if not ordered or len(own) < 3:
        raise BundleError(f"{file.path}: its pieces are not in the order of regard; export the model again")
    content = b""
    if kind != "char":
        model: Literal["unigram", "bpe"] = "unigram" if kind == "unigram" else "bpe"
        content = sentencepiece_model(
            own,
            scores,
            model,
            unknown=Vocabulary.UNK,
            controls=(Vocabulary.EOS, *range(Vocabulary.UNK + 1, own.index(BYTE_PIECES[0]))),
            byte_pieces=BYTE_PIECES,
            collapse_spaces=False,
        )
    segmenter = OwnPieces(file.path, kind, form, lowercase, content)
    return ForeignTokenizer(segmenter, pieces, Vocabulary.UNK, [])


def _bpe_scores(pieces: Sequence[str], merges: Sequence[str]) -> list[float]:
    """A score for each piece, the best for what is merged first. A single character is merged of nothing."""
    ranks: dict[str, int] = {}
    for merge in merges:
        ranks.setdefault(merge.replace(" ", ""), len(ranks))
    return [-float(ranks.get(piece, len(ranks))) for piece in pieces]
