"""Reads the tokenizers of a Hugging Face directory: the pieces in the order of their ids, and how text is cut into them.

| files | tokenizer |
| --- | --- |
| `source.spm`, `target.spm`, `vocab.json` | Marian's |
| `spiece.model`, `sentencepiece.bpe.model` | sentencepiece, with the marks that the model's type has before or behind its pieces |
| `vocab.json`, `merges.txt` | byte-level BPE (GPT-2, BART) |
| `vocab.txt` | WordPiece (BERT) |
| `tokenizer.json` alone | any of these but Marian's, or what regard exported (`tokenizer_json_files.py`) |
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.bundle.manifest import reading
from regard.errors import BundleError
from regard.foreign import read_bytes
from regard.interop.foreign_vocabularies import (
    USUAL_MARKS,
    TokenizerConfig,
    filled,
    read_ids,
    read_lines,
    read_listed_ids,
)
from regard.interop.languages import MBART_25, MBART_50
from regard.interop.segmenters import ByteMerges, Segmenter, SentencePieceModel, WordPieces
from regard.interop.sentencepiece import scored_pieces
from regard.text.build import MODEL_BYTES
from regard.text.protobuf import check_imported_model
from regard.text.wordpiece import WordPieceRecord

_SINGLE = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
_PEGASUS_OFFSET = 103
_T5_EXTRA = 100
MOST_MERGES = 8
"""Merges for each piece of a vocabulary; a learned one has one."""


@dataclass(frozen=True)
class ForeignTokenizer:
    """The pieces of a vocabulary in the order of their ids, and how text is cut into them."""

    segmenter: Segmenter
    pieces: Sequence[str]
    unknown: int | None
    """The id of the unknown mark; None: there is none, because every text has pieces."""
    silent: Sequence[str]
    """The pieces that are no text."""


def read_tokenizers(
    directory: Path, model_type: str, sizes: tuple[int, int]
) -> tuple[ForeignTokenizer, ForeignTokenizer]:
    """The tokenizers of the source and the target. sizes: rows of their embeddings; further pieces are unused."""
    if (directory / "source.spm").exists():
        source = _mapped(directory, "source.spm", "vocab.json", sizes[0])
        target_vocabulary = "target_vocab.json" if (directory / "target_vocab.json").exists() else "vocab.json"
        return source, _mapped(directory, "target.spm", target_vocabulary, sizes[1])
    one = read_tokenizer(directory, model_type, sizes[0])
    return one, one


def read_tokenizer(directory: Path, model_type: str, size: int) -> ForeignTokenizer:
    """The one tokenizer of a directory, whose ids are the rows of the embedding."""
    from regard.interop.tokenizer_json_files import TOKENIZER_JSON, read_tokenizer_json

    name = next((name for name in _SINGLE if (directory / name).exists()), None)
    if name is not None:
        return _single(directory, name, model_type, size)
    if (directory / "merges.txt").exists():
        return _byte_bpe(directory, size)
    if (directory / "vocab.txt").exists():
        return _word_pieces(directory, size)
    if (directory / TOKENIZER_JSON).exists():
        return read_tokenizer_json(directory, size)
    raise BundleError(
        f"{directory}: no tokenizer: none of source.spm, {', '.join(_SINGLE)}, merges.txt, vocab.txt and {TOKENIZER_JSON}; "
        "copy the files of the tokenizer there"
    )


def _mapped(directory: Path, model: str, vocabulary: str, size: int) -> ForeignTokenizer:
    """Marian's: the ids are in a JSON file, the segmentation in a sentencepiece model."""
    path = directory / vocabulary
    ids = read_ids(directory, vocabulary)
    pieces = filled({index: piece for piece, index in ids.items()}, size, path)
    marks = TokenizerConfig.read(directory).marks
    unknown = marks.get("unk_token", "<unk>")
    if unknown not in ids:
        raise BundleError(f"{path}: no piece {unknown!r} for unknown text; it is not a vocabulary of Marian")
    segmenter = SentencePieceModel(_model(directory, model))
    return ForeignTokenizer(segmenter, pieces, ids[unknown], silent_pieces(pieces, ids, marks.values()))


def _single(directory: Path, name: str, model_type: str, size: int) -> ForeignTokenizer:
    """One sentencepiece model whose ids are those of the network, after the marks that the model's type has before or behind them."""
    model = _model(directory, name)
    path = directory / name
    try:
        own = list(scored_pieces(model).pieces)
    except RuntimeError as error:
        raise BundleError(f"{path}: not a sentencepiece model ({str(error).splitlines()[0]}); copy it again") from None
    if model_type == "pegasus":
        first = [
            "<pad>",
            "</s>",
            "<mask_1>",
            "<mask_2>",
            *(f"<unk_{number}>" for number in range(2, _PEGASUS_OFFSET - 2)),
        ]
        pieces = dict(enumerate(first))
        pieces |= {
            index + _PEGASUS_OFFSET: f"<{piece}>" if piece in first else piece for index, piece in enumerate(own)
        }
        unknown = _PEGASUS_OFFSET + 2
    elif model_type in ("t5", "mt5"):
        pieces = dict(enumerate(own))
        extra = [f"<extra_id_{number}>" for number in reversed(range(_T5_EXTRA))] if model_type == "t5" else []
        pieces |= {len(own) + number: piece for number, piece in enumerate(extra) if len(own) + number < size}
        unknown = 2
    elif model_type == "mbart":
        # the first three pieces of the model are marks, and every other one is one further than there
        codes = MBART_50 if size >= len(own) + 1 + len(MBART_50) else MBART_25
        pieces = dict(enumerate(["<s>", "<pad>", "</s>", "<unk>", *own[3:], *codes, "<mask>"]))
        pieces = {index: piece for index, piece in pieces.items() if index < size}
        unknown = 3
    else:
        raise BundleError(
            f"{path}: the ids of a {model_type} model in such a file are not known; give one with source.spm and vocab.json"
        )
    names = filled(pieces, size, path)
    marks = {"<pad>", "</s>", "<s>", "<unk>"}
    silent = [
        piece
        for piece in names
        if piece in marks or (piece.startswith("<") and piece.endswith(">") and piece not in own) or piece in MBART_50
    ]
    return ForeignTokenizer(SentencePieceModel(model), names, unknown, silent)


def _byte_bpe(directory: Path, size: int) -> ForeignTokenizer:
    """Byte-level BPE: pieces with their ids, and a merge in each line."""
    path, config = directory / "vocab.json", TokenizerConfig.read(directory)
    ids = read_ids(directory, path.name)
    if (directory / "added_tokens.json").exists():
        ids = {**read_ids(directory, "added_tokens.json"), **ids}
    pieces = filled({index: piece for piece, index in ids.items()}, size, path)
    lines = read_lines(directory, "merges.txt")
    merges = [line for number, line in enumerate(lines) if line.strip() and not (number == 0 and line[0] == "#")]
    prefix = config.flag("add_prefix_space", False)
    return byte_bpe_tokenizer(directory / "merges.txt", ids, pieces, merges, config, prefix_space=prefix)


def byte_bpe_tokenizer(
    path: Path,
    ids: dict[str, int],
    pieces: Sequence[str],
    merges: Sequence[str],
    config: TokenizerConfig,
    *,
    prefix_space: bool,
) -> ForeignTokenizer:
    """Byte-level BPE of these pieces and merges. path: the file that has the merges, for messages."""
    if len(merges) > MOST_MERGES * len(pieces):
        raise BundleError(
            f"{path}: {len(merges):,} merges for a vocabulary of {len(pieces):,} pieces; it is of another model"
        )
    odd = next((number for number, merge in enumerate(merges) if merge.count(" ") != 1), None)
    if odd is not None:
        raise BundleError(f"{path}: merge {odd + 1}, {merges[odd][:50]!r}: not two pieces and a space; copy it again")
    unknown = config.marks.get("unk_token", "<unk>")
    # GPT-2 names its end mark as the unknown mark too: it has pieces for every byte
    has_unknown = unknown in ids and unknown != config.marks.get("eos_token", "<|endoftext|>")
    segmenter = ByteMerges(path, merges, prefix_space, has_unknown)
    silent = silent_pieces(pieces, ids, config.marks.values())
    return ForeignTokenizer(segmenter, pieces, ids[unknown] if has_unknown else None, silent)


def _word_pieces(directory: Path, size: int) -> ForeignTokenizer:
    """WordPiece: a piece in each line; the rules are in the config of the tokenizer."""
    path, config = directory / "vocab.txt", TokenizerConfig.read(directory)
    ids = read_listed_ids(directory, path.name)
    lowercase = config.flag("do_lower_case", True)
    if not config.flag("do_basic_tokenize", True):
        raise BundleError(f"{config.path}: do_basic_tokenize = false: such tokenizers are not read")
    rules = WordPieceRecord(
        pieces=("", "", ""),
        lowercase=lowercase,
        strip_accents=config.flag("strip_accents", lowercase),
        split_ideographs=config.flag("tokenize_chinese_chars", True),
    )
    return word_piece_tokenizer(path, ids, filled({i: p for p, i in ids.items()}, size, path), rules, config)


def word_piece_tokenizer(
    path: Path, ids: dict[str, int], pieces: Sequence[str], rules: WordPieceRecord, config: TokenizerConfig
) -> ForeignTokenizer:
    """WordPiece of these pieces and rules."""
    unknown = config.marks.get("unk_token", "[UNK]")
    if unknown not in ids:
        raise BundleError(f"{path}: no piece {unknown!r} for unknown words; it is not a vocabulary of BERT")
    silent = [piece for piece in silent_pieces(pieces, ids, config.marks.values()) if piece != unknown]
    return ForeignTokenizer(WordPieces(rules), pieces, ids[unknown], silent)


def silent_pieces(pieces: Sequence[str], ids: dict[str, int], marks: Iterable[str]) -> list[str]:
    """The pieces that are no text: marks, and those of rows without a piece."""
    special = [piece for piece in (*marks, *USUAL_MARKS) if piece in ids]
    return [*dict.fromkeys((*special, *(piece for piece in pieces if piece not in ids)))]


def _model(directory: Path, name: str) -> bytes:
    path = directory / name
    with reading(path):
        content = read_bytes(path, MODEL_BYTES, root=directory)
    try:
        check_imported_model(content)
    except ValueError as error:
        raise BundleError(f"{path}: not a sentencepiece model ({error}); copy it again") from None
    return content
