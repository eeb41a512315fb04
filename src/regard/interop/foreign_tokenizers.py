"""Reads the tokenizers of a Hugging Face directory: the pieces in the order of their ids, and the sentencepiece model of each side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.manifest import json_object, reading
from regard.errors import BundleError
from regard.foreign import parse_json, read_bytes
from regard.interop.sentencepiece import scored_pieces
from regard.text.build import MODEL_BYTES
from regard.text.protobuf import check_imported_model

_SINGLE = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
_PEGASUS_OFFSET = 103
_T5_EXTRA = 100


@dataclass(frozen=True)
class ForeignTokenizer:
    """A sentencepiece model, and the pieces of the vocabulary in the order of their ids."""

    model: bytes
    pieces: Sequence[str]
    unknown: int
    """The id of the unknown mark."""
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
    name = next((name for name in _SINGLE if (directory / name).exists()), None)
    if name is None:
        raise BundleError(
            f"{directory}: no sentencepiece model (source.spm or {', '.join(_SINGLE)}); other tokenizers are not read"
        )
    tokenizer = _single(directory, name, model_type, sizes[0])
    return tokenizer, tokenizer


def _mapped(directory: Path, model: str, vocabulary: str, size: int) -> ForeignTokenizer:
    """Marian's: the ids are in a JSON file, the segmentation in a sentencepiece model."""
    path = directory / vocabulary
    with reading(path):
        text = read_bytes(path, MODEL_BYTES, root=directory)
    ids = _ids(parse_json(text.decode("utf-8", "replace"), path, limit=MODEL_BYTES), path)
    pieces = _filled({index: piece for piece, index in ids.items()}, size, path)
    marks = _marks(directory)
    unknown = marks.get("unk_token", "<unk>")
    if unknown not in ids:
        raise BundleError(f"{path}: no piece {unknown!r} for unknown text; it is not a vocabulary of Marian")
    special = [piece for piece in (*marks.values(), "</s>", "<unk>", "<pad>", "<s>") if piece in ids]
    unused = [piece for piece in pieces if piece not in ids]
    return ForeignTokenizer(_model(directory, model), pieces, ids[unknown], [*dict.fromkeys((*special, *unused))])


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
    else:
        raise BundleError(
            f"{path}: the ids of a {model_type} model in such a file are not known; give one with source.spm and vocab.json"
        )
    filled = _filled(pieces, size, path)
    marks = {"<pad>", "</s>", "<s>", "<unk>"}
    silent = [
        piece
        for piece in filled
        if piece in marks or (piece.startswith("<") and piece.endswith(">") and piece not in own)
    ]
    return ForeignTokenizer(model, filled, unknown, silent)


def _filled(pieces: Mapping[int, str], size: int, path: Path) -> list[str]:
    """The pieces of the ids from 0 to size - 1. An id without a piece gets a name that no text has."""
    beyond = next((index for index in pieces if not 0 <= index < size), None)
    if beyond is not None:
        raise BundleError(
            f"{path}: {pieces[beyond]!r} has the id {beyond}, and config.json has {size} rows; they are of different models"
        )
    return [pieces.get(index, f"<unused_{index}>") for index in range(size)]


def _ids(values: Any, path: Path) -> dict[str, int]:
    if not isinstance(values, dict) or not all(type(index) is int for index in values.values()):
        raise BundleError(f"{path}: not a JSON object of pieces and their ids; copy it again")
    if len(set(values.values())) != len(values):
        raise BundleError(f"{path}: two pieces have the same id; copy it again")
    return values


def _marks(directory: Path) -> dict[str, str]:
    """The names of the marks in tokenizer_config.json: eos_token, unk_token and so on."""
    path = directory / "tokenizer_config.json"
    if not path.exists():
        return {}
    with reading(path):
        values = json_object(read_bytes(path, MODEL_BYTES, root=directory), path)
    names = {key: value.get("content") if isinstance(value, dict) else value for key, value in values.items()}
    return {
        key: str(names[key])
        for key in ("eos_token", "unk_token", "pad_token", "bos_token")
        if isinstance(names.get(key), str)
    }


def _model(directory: Path, name: str) -> bytes:
    path = directory / name
    with reading(path):
        content = read_bytes(path, MODEL_BYTES, root=directory)
    try:
        check_imported_model(content)
    except ValueError as error:
        raise BundleError(f"{path}: not a sentencepiece model ({error}); copy it again") from None
    return content
