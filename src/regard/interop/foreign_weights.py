"""Reads the weights of a model directory that a stranger wrote: safetensors, or a `.bin` file by torch's loader that runs no code.

The header is read first, so that shapes are compared before memory is taken. What is read is at most as large as the file.
"""

import os
import pickle
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regard.bundle.archive import open_archive
from regard.bundle.header import header_of, read_header
from regard.bundle.manifest import reading
from regard.bundle.tensors import tensors_of
from regard.errors import BundleError, is_out_of_memory, shown
from regard.foreign import open_regular
from regard.models.shapes import Shape

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS, PICKLED, INDEX = "model.safetensors", "pytorch_model.bin", "model.safetensors.index.json"
_DAMAGED = (
    *(pickle.UnpicklingError, RuntimeError, ValueError, LookupError, EOFError, TypeError),
    *(AttributeError, AssertionError, struct.error, OverflowError),
)
"""What torch's loader raises for a file that it does not read."""


class ForeignWeights:
    """The tensors of a directory. A tensor is looked up by name; those that nobody asked for can be refused."""

    def __init__(self, directory: Path) -> None:
        self.path = _weights_file(directory)
        self._directory = directory
        self._header: Mapping[str, Shape] | None = None
        self._tensors: dict[str, Tensor] | None = None
        self._used: set[str] = set()
        if self.path.name == WEIGHTS:
            tensors = read_header(self.path, directory).tensors
            self._header = {name: tensor.shape for name, tensor in tensors.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._shapes()

    def shape(self, name: str) -> Shape:
        """The shape of a tensor, without reading it; a `BundleError` if there is none of this name."""
        shapes = self._shapes()
        if name not in shapes:
            raise BundleError(f"{self.path}: no tensor {name!r}; its config.json is of another model; save both again")
        return shapes[name]

    def require(self, name: str, shape: Shape) -> None:
        """Refuse a tensor of another shape."""
        if self.shape(name) != shape:
            raise BundleError(
                f"{self.path}: {name} is {list(self.shape(name))}, config.json asks for {list(shape)}; save both again"
            )

    def read(self, name: str, shape: Shape) -> "Tensor":
        """A tensor of this name and shape, in float32."""
        self.require(name, shape)
        self._used.add(name)
        tensor = self._all()[name].float()
        if not tensor.isfinite().all():
            raise BundleError(f"{self.path}: {name} holds what is not a number; it cannot be used")
        return tensor

    def refuse_unused(self, but: tuple[str, ...]) -> None:
        """Refuse a tensor that was not read, except those whose names end in one of `but`."""
        unused = next((name for name in self._shapes() if name not in self._used and not name.endswith(but)), None)
        if unused is not None:
            raise BundleError(
                f"{self.path}: unknown tensor {unused!r}; its config.json is of another model; save both again"
            )

    def _shapes(self) -> Mapping[str, Shape]:
        if self._header is None:
            self._header = {name: tuple(tensor.shape) for name, tensor in self._all().items()}
        return self._header

    def _all(self) -> "dict[str, Tensor]":
        if self._tensors is None:
            self._tensors = self._safetensors() if self.path.name == WEIGHTS else self._pickled()
        return self._tensors

    def _safetensors(self) -> "dict[str, Tensor]":
        size = read_header(self.path, self._directory).size
        content = bytearray(size)
        with reading(self.path), open_regular(self.path, root=self._directory) as file:
            if file.readinto(content) != size:
                raise BundleError(f"{self.path}: its size has changed while it was read")
        return tensors_of(content, header_of(self.path, content).tensors)

    def _pickled(self) -> "dict[str, Tensor]":
        """The tensors of a `.bin` file: a zip file of numbers and a pickle, of which torch reads nothing but tensors."""
        import torch

        with open_archive(self.path):  # names, kinds and sizes of its entries
            pass
        with reading(self.path), open_regular(self.path, root=self._directory) as file:
            size = os.fstat(file.fileno()).st_size
            try:
                values = torch.load(file, map_location="cpu", weights_only=True)
            except _DAMAGED as error:
                if is_out_of_memory(error):
                    raise
                raise BundleError(
                    f"{self.path}: not a file of tensors alone, so it is not read: what it holds could run as a program; "
                    f"save the model as {WEIGHTS}"
                ) from None
        if not isinstance(values, dict) or not all(isinstance(value, torch.Tensor) for value in values.values()):
            raise BundleError(f"{self.path}: not a dictionary of tensors; save the model as {WEIGHTS}")
        other = next((name for name, value in values.items() if not _is_plain(value, size)), None)
        if other is not None:
            raise BundleError(
                f"{self.path}: {shown(other)} is sparse, or larger than what is stored of it; save the model as {WEIGHTS}"
            )
        return {str(name): value for name, value in values.items()}


def _is_plain(tensor: "Tensor", size: int) -> bool:
    """Whether a tensor of a file of this size holds no more numbers than were stored."""
    import torch

    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized or tensor.device.type != "cpu":
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes() <= size


def _weights_file(directory: Path) -> Path:
    for name in (WEIGHTS, PICKLED):
        if (directory / name).exists():
            return directory / name
    if (directory / INDEX).exists():
        raise BundleError(
            f"{directory}: its weights are in several files; save the model with max_shard_size above its size"
        )
    raise BundleError(f"{directory}: no {WEIGHTS} and no {PICKLED}; give the directory of a model")
