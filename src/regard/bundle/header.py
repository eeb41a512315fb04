"""The header of a safetensors file: name, type, shape and place of every tensor; and the writing of one. No torch, and no tensor is read.

    8 bytes: the length N of the header | N bytes: JSON {name: {"dtype", "shape", "data_offsets"}} | the tensors

Neither safetensors nor an engine compares the shapes with a network, so `bundle.weights` does, by this header.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from regard.bundle.manifest import MEND, reading
from regard.errors import BundleError, ConfigError, FileError
from regard.files import disk_errors, follow_umask
from regard.foreign import open_regular, parse_json
from regard.settings import Record

BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
"""The types of tensors that are read -> bytes of a number."""
FLOATS = ("F64", "F32", "F16", "BF16")
_LONGEST = 16 << 20  # bytes of a header
_PREFIX = 8
_METADATA = "__metadata__"

_Size = Annotated[int, Field(ge=0, lt=2**62, strict=True)]


class _TensorRecord(Record):
    """The header's record of one tensor."""

    dtype: str
    shape: Annotated[tuple[_Size, ...], Field(max_length=16)]
    data_offsets: tuple[_Size, _Size]


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a file: its type and shape, and the place of its bytes in the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file. The tensors fill the rest of it without gaps."""

    tensors: Mapping[str, StoredTensor]
    size: int
    """Bytes of the whole file."""


def read_header(path: Path, root: Path) -> Header:
    """The header of a safetensors file inside of `root`; a `BundleError` says what is wrong with it."""
    with reading(path), open_regular(path, root=root) as file:
        size = os.fstat(file.fileno()).st_size
        length = _length(path, file.read(_PREFIX), size)
        return _header(path, file.read(length), size)


def header_of(path: Path, content: bytearray) -> Header:
    """The header of the content of a file."""
    length = _length(path, content[:_PREFIX], len(content))
    return _header(path, bytes(content[_PREFIX : _PREFIX + length]), len(content))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A block that writes a file by safetensors. A full disk is a `DiskError`; the file follows the umask."""
    from safetensors import SafetensorError

    with disk_errors(path):
        try:
            yield
        except SafetensorError as error:
            raise _system_error(error) from error
    follow_umask(path)


def _system_error(error: Exception) -> Exception:
    """The `OSError` that safetensors hides in the message of a failure to write, `... (os error 28)`; else the error itself."""
    number = re.search(r"os error (\d+)", str(error))
    return error if number is None else OSError(int(number.group(1)), str(error))


def _length(path: Path, prefix: bytes | bytearray, size: int) -> int:
    length = int.from_bytes(prefix, "little")
    if length > min(_LONGEST, size - _PREFIX):
        raise _damaged(path, f"a header of {length:,} bytes in a file of {size:,}")
    return length


def _header(path: Path, text: bytes, size: int) -> Header:
    try:
        entries = parse_json(text.decode("utf-8"), "header")
    except (UnicodeDecodeError, FileError) as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(entries, dict):
        raise _damaged(path, "the header is not a JSON object")
    entries.pop(_METADATA, None)
    start = _PREFIX + len(text)
    tensors = {name: _tensor(path, name, entry, start) for name, entry in entries.items()}
    place = start
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if tensor.begin != place:
            raise _damaged(path, f"{name} begins at byte {tensor.begin:,}, not at {place:,}")
        place = tensor.end
    if place != size:
        raise _damaged(path, f"tensors of {place - start:,} bytes in a file that has {size - start:,} for them")
    return Header(tensors, size)


def _tensor(path: Path, name: str, entry: Any, start: int) -> StoredTensor:
    try:
        record = _TensorRecord.parse(entry, name)
    except ConfigError as error:
        raise _damaged(path, str(error)) from None
    if record.dtype not in BYTES:
        raise _damaged(path, f"{name} has the type {record.dtype!r}, which is not read")
    begin, end = record.data_offsets
    wanted = math.prod(record.shape) * BYTES[record.dtype]
    if end - begin != wanted:
        raise _damaged(
            path, f"{name} is {list(record.shape)} {record.dtype}, {wanted:,} bytes, in {end - begin:,} bytes"
        )
    return StoredTensor(record.dtype, record.shape, start + begin, start + end)


def _damaged(path: Path, reason: str) -> BundleError:
    return BundleError(f"{path}: damaged: not a readable safetensors file ({reason}); {MEND}")
