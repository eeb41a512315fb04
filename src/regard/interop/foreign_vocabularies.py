"""Reads lists of pieces that strangers wrote: JSON of pieces and ids, a line for each piece, and the marks among them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.manifest import json_object, reading
from regard.errors import BundleError, shown
from regard.foreign import parse_json, read_bytes
from regard.text.build import MODEL_BYTES

_MARKS = (
    *("eos_token", "unk_token", "pad_token", "bos_token"),
    *("cls_token", "sep_token", "mask_token"),
)
USUAL_MARKS = (
    *("</s>", "<unk>", "<pad>", "<s>", "<mask>", "<|endoftext|>"),
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
)


@dataclass(frozen=True)
class TokenizerConfig:
    """The content of `tokenizer_config.json`; empty if there is none."""

    path: Path
    values: Mapping[str, Any]

    @classmethod
    def read(cls, directory: Path) -> "TokenizerConfig":
        path = directory / "tokenizer_config.json"
        if not path.exists():
            return cls(path, {})
        with reading(path):
            return cls(path, json_object(read_bytes(path, MODEL_BYTES, root=directory), path))

    @property
    def marks(self) -> dict[str, str]:
        """The names of the marks: eos_token, unk_token and so on."""
        names = {key: self.values.get(key) for key in _MARKS}
        plain = {key: name.get("content") if isinstance(name, dict) else name for key, name in names.items()}
        return {key: name for key, name in plain.items() if isinstance(name, str)}

    def text(self, key: str) -> str | None:
        """A value that is text; None: there is none."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def flag(self, key: str, default: bool) -> bool:
        """A value that is true or false."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise BundleError(f"{self.path}: {key} = {value!r}: expected true or false; copy it again")
        return value


def read_json(directory: Path, name: str) -> Any:
    """The value of a JSON file of a tokenizer."""
    path = directory / name
    with reading(path):
        text = read_bytes(path, MODEL_BYTES, root=directory).decode("utf-8", "replace")
    return parse_json(text, path, limit=MODEL_BYTES)


def read_ids(directory: Path, name: str) -> dict[str, int]:
    """The pieces and their ids of a JSON file."""
    return checked_ids(read_json(directory, name), directory / name)


def checked_ids(values: Any, path: Path) -> dict[str, int]:
    """Pieces and their ids, no two of which are equal."""
    if not isinstance(values, dict) or not all(type(index) is int for index in values.values()):
        raise BundleError(f"{path}: not a JSON object of pieces and their ids; copy it again")
    if len(set(values.values())) != len(values):
        raise BundleError(f"{path}: two pieces have the same id; copy it again")
    return values


def read_lines(directory: Path, name: str) -> list[str]:
    """The lines of a text file."""
    path = directory / name
    with reading(path):
        content = read_bytes(path, MODEL_BYTES, root=directory)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BundleError(f"{path}: not UTF-8 text ({error.reason}); copy it again") from None
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def read_listed_ids(directory: Path, name: str) -> dict[str, int]:
    """The pieces of a file with one in each line. Its number is its id."""
    pieces = read_lines(directory, name)
    ids = {piece: index for index, piece in enumerate(pieces)}
    if len(ids) < len(pieces):
        [twice] = [piece for index, piece in enumerate(pieces) if ids[piece] != index][:1]
        raise BundleError(f"{directory / name}: the piece {shown(twice, 50)!r} is there twice; copy it again")
    return ids


def filled(pieces: Mapping[int, str], size: int, path: Path) -> list[str]:
    """The pieces of the ids from 0 to size - 1. An id without a piece gets a name that no text has."""
    beyond = next((index for index in pieces if not 0 <= index < size), None)
    if beyond is not None:
        raise BundleError(
            f"{path}: {shown(pieces[beyond], 50)!r} has the id {beyond}, and config.json has {size} rows; they are of different models"
        )
    return [pieces.get(index, f"<unused_{index}>") for index in range(size)]
