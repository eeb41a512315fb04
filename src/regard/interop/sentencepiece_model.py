"""Writes sentencepiece models: the message that sentencepiece reads, of pieces and scores that another file had."""

import struct
from collections.abc import Collection, Sequence
from typing import Literal

_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6  # types of a piece
_MODELS = {"unigram": 1, "bpe": 2}


def sentencepiece_model(
    pieces: Sequence[str],
    scores: Sequence[float],
    kind: Literal["unigram", "bpe"],
    *,
    unknown: int,
    controls: Collection[int],
    byte_pieces: Collection[str] = (),
    character_map: bytes = b"",
    collapse_spaces: bool = True,
) -> bytes:
    """The bytes of a model. unknown: the id of the unknown piece; controls: the ids of pieces that no text has.

    character_map: the normalisation, as sentencepiece stores it; collapse_spaces: whether it makes single spaces of several.
    """
    bytes_of_text = frozenset(byte_pieces)
    body = bytearray()
    for index, (piece, score) in enumerate(zip(pieces, scores, strict=True)):
        form = _UNKNOWN if index == unknown else _CONTROL if index in controls else _NORMAL
        form = _BYTE if form == _NORMAL and piece in bytes_of_text else form
        body += _message(1, _message(1, piece.encode()) + b"\x15" + struct.pack("<f", score) + _number(3, form))
    trainer = _number(3, _MODELS[kind]) + _number(4, len(pieces)) + _number(35, int(bool(bytes_of_text)))
    absent = 0xFFFF_FFFF_FFFF_FFFF  # -1
    trainer += _number(40, unknown) + _number(41, absent) + _number(42, absent) + _number(43, absent)
    trainer += _message(45, pieces[unknown].encode())
    normalizer = _message(1, b"identity") if not character_map else _message(2, character_map)
    normalizer += _number(3, 1) + _number(4, int(collapse_spaces)) + _number(5, 1)
    return bytes(body + _message(2, trainer) + _message(3, normalizer))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
