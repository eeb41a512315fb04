"""Checks the bytes of a sentencepiece model before sentencepiece reads them, and adds pieces. It walks the fields and interprets no text.

A model of regard has no map of characters: normalisation inside sentencepiece is the identity. Older versions of sentencepiece read
such a map without checking its bounds, so a model of regard that has one is refused. An imported model may have one, whose bounds are
checked here.

    4 bytes: the length of the trie | the trie, a double array of 32-bit units | texts, each with a zero byte at its end
"""

import struct
from collections.abc import Iterator, Sequence

_PIECE = 1 << 3 | 2  # the first byte of a piece: field 1, of bytes
_NORMALIZERS = (3, 5)  # fields of a model: normalizer_spec and denormalizer_spec
_CHARACTER_MAP = 2  # field of a normalizer: precompiled_charsmap
_TRAINER, _VOCABULARY_SIZE = 2, 4  # field of a model: trainer_spec; its field vocab_size
_NORMAL, _CONTROL = 1, 3  # types of a piece
_BYTES = 2  # wire type: a length, and so many bytes
_FIXED = {1: 8, 5: 4}  # wire type -> bytes


def check_model(model: bytes) -> None:
    """Raise a `ValueError` if `model` is not a protobuf message, or has a map of characters."""
    place, end = 0, len(model) - 1
    while place < end and model[place] == _PIECE and model[place + 1] < 128:  # almost all of a model, so without calls
        place += 2 + model[place + 1]
    for number, first, last in _fields(model, place, len(model)):
        if number in _NORMALIZERS and any(
            inner == _CHARACTER_MAP and b > a for inner, a, b in _fields(model, first, last)
        ):
            raise ValueError("it has a map of characters, which no tokeniser of regard has")


def check_imported_model(model: bytes) -> None:
    """Raise a `ValueError` if `model` is not a protobuf message, or has a map of characters that leads out of itself."""
    for number, first, last in _fields(model, 0, len(model)):
        if number in _NORMALIZERS:
            for inner, a, b in _fields(model, first, last):
                if inner == _CHARACTER_MAP and b > a:
                    _check_map(model[a:b])


def with_pieces(model: bytes, first: int, controls: Sequence[str], pieces: Sequence[tuple[str, float]]) -> bytes:
    """A model with control pieces before its piece `first`, and with further pieces and their scores behind its own."""
    own: list[bytes] = []
    rest = bytearray()
    place = 0
    for number, begin, end in _fields(model, 0, len(model)):
        if number == 1:
            own.append(model[place:end])
        elif number == _TRAINER:
            size = len(own) + len(controls) + len(pieces)
            rest += _message(_TRAINER, _with_size(model[begin:end], size))
        else:
            rest += model[place:end]
        place = end
    added = [_piece(name, 0.0, _CONTROL) for name in controls]
    more = [_piece(text, score, _NORMAL) for text, score in pieces]
    return b"".join([*own[:first], *added, *own[first:], *more, bytes(rest)])


def _with_size(trainer: bytes, size: int) -> bytes:
    """The trainer's settings of a model with another number of pieces."""
    result, place = bytearray(), 0
    for number, _, end in _fields(trainer, 0, len(trainer)):
        result += _number(_VOCABULARY_SIZE, size) if number == _VOCABULARY_SIZE else trainer[place:end]
        place = end
    return bytes(result)


def _piece(text: str, score: float, form: int) -> bytes:
    return _message(1, _message(1, text.encode()) + b"\x15" + struct.pack("<f", score) + _number(3, form))


def _number(field: int, value: int) -> bytes:
    return _written(field << 3) + _written(value)


def _message(field: int, content: bytes) -> bytes:
    return _written(field << 3 | _BYTES) + _written(len(content)) + content


def _written(value: int) -> bytes:
    """A number as protobuf writes it: seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _check_map(content: bytes) -> None:
    """Refuse a trie that has a way out of its array, or a value out of the texts behind it."""
    size = int.from_bytes(content[:4], "little")
    texts = content[4 + size :]
    if len(content) < 5 or size > len(content) - 5 or size % 1024 or not size or texts[-1:] != b"\0":
        raise ValueError(f"a map of characters of {len(content)} bytes with a trie of {size}")
    units = struct.unpack(f"<{size // 4}I", content[4 : 4 + size])
    for place, unit in enumerate(units):
        if unit >> 31:  # a leaf, whose value is the place of a text
            if unit & 0x7FFFFFFF >= len(texts):
                raise ValueError(
                    f"the map of characters has a text at {unit & 0x7FFFFFFF}, outside of {len(texts)} bytes"
                )
            continue
        offset = (unit >> 10) << ((unit & 0x200) >> 6)
        if (place ^ offset) | 0xFF >= len(units):
            raise ValueError(f"the map of characters leads out of its {len(units)} units at unit {place}")


def _fields(data: bytes, place: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number, first byte, byte after the last) of each field of a message."""
    if place > end:
        raise ValueError("not a protobuf message: it ends within a piece")
    while place < end:
        tag, place = _varint(data, place, end)
        if tag >> 32 or not tag >> 3:  # protobuf reads 32 bits of a tag: a longer one would be another field there
            raise ValueError(f"not a protobuf message: a field without a number at byte {place}")
        kind = tag & 7
        if kind == _BYTES:
            size, place = _varint(data, place, end)
        elif kind in _FIXED:
            size = _FIXED[kind]
        elif kind == 0:
            size = _varint(data, place, end)[1] - place
        else:
            raise ValueError(f"not a protobuf message: wire type {kind} at byte {place}")
        if size > end - place:
            raise ValueError(f"not a protobuf message: a field of {size} bytes at byte {place}")
        yield tag >> 3, place, place + size
        place += size


def _varint(data: bytes, place: int, end: int) -> tuple[int, int]:
    """(number, place after it)."""
    value = shift = 0
    while place < end and shift < 64:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
    raise ValueError(f"not a protobuf message: a number without end at byte {place}")
