"""Reads `model.bin` of CTranslate2: the names, types and places of its variables first, then the variables that are asked for.

    uint32 version 6 | name of the specification | uint32 revision | uint32 variables
    each variable: name | uint8 rank | uint32 sizes | uint8 type | uint32 bytes | the numbers
    uint32 aliases | each alias: name | name of the variable

A name is uint16 its length with the zero byte at its end. Integers of 8 bits have a scale a row, those of 16 bits one scale:
they are dequantised.
"""

import math
import os
import struct
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.manifest import reading
from regard.errors import BundleError
from regard.foreign import open_regular
from regard.models.shapes import Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL = "model.bin"
_VERSION = 6
_SPECIFICATION = "TransformerSpec"
_MOST_VARIABLES = 100_000
_LONGEST_NAME = 512
_TYPES = {0: ("<f4", 4), 1: ("i1", 1), 2: ("<i2", 2), 3: ("<i4", 4), 4: ("<f2", 2), 5: ("<u2", 2)}  # 5 is bfloat16
_QUANTISED, _BFLOAT16 = (1, 2), 5


@dataclass(frozen=True)
class _Variable:
    kind: int
    shape: Shape
    place: int
    size: int


class Ct2File:
    """The variables of a file, by name or alias."""

    def __init__(self, directory: Path) -> None:
        self.path, self._directory = directory / MODEL, directory
        self._variables: dict[str, _Variable] = {}
        self._aliases: dict[str, str] = {}
        self._used: set[str] = set()
        with reading(self.path), open_regular(self.path, root=directory) as file:
            self._scan(file, os.fstat(file.fileno()).st_size)

    def __contains__(self, name: str) -> bool:
        return self.variable(name) in self._variables

    def variable(self, name: str) -> str:
        """The name of the variable itself, where `name` may be an alias."""
        return self._aliases.get(name, name)

    def shape(self, name: str) -> Shape:
        """The shape of a variable; a `BundleError` if there is none of this name."""
        if name not in self:
            raise BundleError(f"{self.path}: no variable {name!r}; it is not a Transformer that can be imported")
        return self._variables[self.variable(name)].shape

    def size(self, name: str, axis: int) -> int:
        """One size of a variable; a `BundleError` if it is a single number."""
        shape = self.shape(name)
        if not shape:
            raise BundleError(f"{self.path}: {name} is one number, not a table; convert the model again")
        return shape[axis]

    def number(self, name: str, default: int) -> int:
        """A single integer."""
        if name not in self:
            return default
        values = self._read(name)
        if values.size != 1:
            raise BundleError(f"{self.path}: {name} is not one number")
        value = values.reshape(-1)[0]
        if not math.isfinite(value):
            raise BundleError(
                f"{self.path}: {name} = {value} is not a number that can be used; convert the model again"
            )
        return int(value)

    def read(self, name: str, shape: Shape) -> "NDArray[np.float32]":
        """A variable of this shape in float32."""
        import numpy as np

        if self.shape(name) != shape:
            raise BundleError(
                f"{self.path}: {name} is {list(self.shape(name))}, its other variables ask for {list(shape)}"
            )
        values: Any = self._read(name).astype(np.float32)
        if self._variables[self.variable(name)].kind in _QUANTISED:
            scale = self._read(f"{self.variable(name)}_scale").astype(np.float32).reshape(-1, *[1] * (len(shape) - 1))
            if scale.size not in (1, shape[0]) or not scale.all():
                raise BundleError(f"{self.path}: the scales of {name} do not fit it")
            values = values / scale
        if not np.isfinite(values).all():
            raise BundleError(f"{self.path}: {name} holds what is not a number; it cannot be used")
        return values  # type: ignore[no-any-return]

    def refuse_unused(self, harmless: tuple[str, ...]) -> None:
        """Refuse a variable that was not read, unless its name ends in one of `harmless`."""
        unused = next(
            (name for name in self._variables if name not in self._used and not name.endswith(harmless)), None
        )
        if unused is not None:
            raise BundleError(f"{self.path}: the variable {unused!r} belongs to a network that regard does not have")

    def _read(self, name: str) -> Any:
        import numpy as np

        self.shape(name)
        variable = self._variables[self.variable(name)]
        self._used.add(self.variable(name))
        with reading(self.path), open_regular(self.path, root=self._directory) as file:
            file.seek(variable.place)
            content = file.read(variable.size)
        if len(content) != variable.size:
            raise self._damaged("it has become shorter")
        values = np.frombuffer(content, _TYPES[variable.kind][0])
        if variable.kind == _BFLOAT16:
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return values.reshape(variable.shape)

    def _scan(self, file: BufferedReader, size: int) -> None:
        version = self._integer(file, "<I")
        if version != _VERSION:
            raise BundleError(
                f"{self.path}: version {version} of the format, only {_VERSION} is read; convert the model again"
            )
        name = self._name(file)
        if name != _SPECIFICATION:
            raise BundleError(f"{self.path}: a {name!r}, not a {_SPECIFICATION}; only translators can be imported")
        self._integer(file, "<I")
        for _ in range(self._count(file)):
            name = self._name(file)
            shape = tuple(self._integer(file, "<I") for _ in range(min(self._integer(file, "<B"), 8)))
            kind, length = self._integer(file, "<B"), self._integer(file, "<I")
            place = file.tell()
            if kind not in _TYPES or math.prod(shape) * _TYPES[kind][1] != length or length > size - place:
                raise self._damaged(f"{name} is {list(shape)} of type {kind} in {length:,} bytes")
            self._variables[name] = _Variable(kind, shape, place, length)
            file.seek(length, os.SEEK_CUR)
        for _ in range(self._count(file)):
            alias, name = self._name(file), self._name(file)
            self._aliases[alias] = name

    def _count(self, file: BufferedReader) -> int:
        count = self._integer(file, "<I")
        if count > _MOST_VARIABLES:
            raise self._damaged(f"{count:,} variables")
        return count

    def _name(self, file: BufferedReader) -> str:
        length = self._integer(file, "<H")
        if length > _LONGEST_NAME:
            raise self._damaged(f"a name of {length} bytes")
        return file.read(length).rstrip(b"\0").decode("utf-8", "replace")

    def _integer(self, file: BufferedReader, form: str) -> int:
        content = file.read(struct.calcsize(form))
        if len(content) != struct.calcsize(form):
            raise self._damaged("it ends too early")
        return int(struct.unpack(form, content)[0])

    def _damaged(self, reason: str) -> BundleError:
        return BundleError(f"{self.path}: damaged: not a model of CTranslate2 ({reason}); copy it again")
