"""Reads the weights of a model directory that a stranger wrote: safetensors, or `.bin` files by torch's loader that runs no code.

The header is read first, so that shapes are compared before memory is taken. What is read is at most as large as the files. Weights in
several files are found by their index.
"""

import os
import pickle
import struct
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from regard.bundle.archive import open_archive
from regard.bundle.header import StoredTensor, read_header
from regard.bundle.manifest import json_object, reading
from regard.bundle.tensors import tensor_of
from regard.errors import BundleError, is_out_of_memory, shown
from regard.foreign import RECORD_BYTES, open_regular, read_bytes
from regard.models.shapes import Shape

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS, PICKLED = "model.safetensors", "pytorch_model.bin"
INDEX_SUFFIX = ".index.json"
MOST_FILES = 1_000
"""Files that an index may name."""
_DAMAGED = (
    *(pickle.UnpicklingError, RuntimeError, ValueError, LookupError, EOFError, TypeError),
    *(AttributeError, AssertionError, struct.error, OverflowError),
)
"""What torch's loader raises for a file that it does not read."""


class ForeignWeights:
    """The tensors of a directory. A tensor is looked up by name; those that nobody asked for can be refused."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.path, files = _weight_files(directory)
        self._stored: dict[str, tuple[Path, StoredTensor]] = {}
        self._tensors: dict[str, Tensor] = {}
        self._used: set[str] = set()
        for name, wanted in files.items():
            self._open(directory / name, wanted)
        self._shapes: Mapping[str, Shape] = {
            **{name: tensor.shape for name, (_, tensor) in self._stored.items()},
            **{name: tuple(tensor.shape) for name, tensor in self._tensors.items()},
        }

    def __contains__(self, name: str) -> bool:
        return name in self._shapes

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tensors."""
        return tuple(self._shapes)

    def rename(self, change: Callable[[str], str]) -> None:
        """Look tensors up by other names, where versions of a program have called the same tensor differently."""
        names = {change(name): name for name in self._shapes}
        if len(names) < len(self._shapes):
            raise BundleError(f"{self.path}: two tensors of the same meaning; save the model again")
        self._shapes = {new: self._shapes[old] for new, old in names.items()}
        self._stored = {new: self._stored[old] for new, old in names.items() if old in self._stored}
        self._tensors = {new: self._tensors[old] for new, old in names.items() if old in self._tensors}

    def shape(self, name: str) -> Shape:
        """The shape of a tensor, without reading it; a `BundleError` if there is none of this name."""
        if name not in self._shapes:
            raise BundleError(f"{self.path}: no tensor {name!r}; its config.json is of another model; save both again")
        return self._shapes[name]

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
        tensor = (self._tensors[name] if name in self._tensors else self._from_file(*self._stored[name])).float()
        if not tensor.isfinite().all():
            raise BundleError(f"{self.path}: {name} holds what is not a number; it cannot be used")
        return tensor

    def refuse_unused(self, but: tuple[str, ...]) -> None:
        """Refuse a tensor that was not read, except those whose names end in one of `but`."""
        unused = next((name for name in self._shapes if name not in self._used and not name.endswith(but)), None)
        if unused is not None:
            raise BundleError(
                f"{self.path}: unknown tensor {unused!r}; its config.json is of another model; save both again"
            )

    def _open(self, path: Path, wanted: frozenset[str] | None) -> None:
        """Look up the tensors of a file. wanted: those that the index says are in it; None: there is no index."""
        pickled = path.suffix == ".bin"
        tensors = self._pickled(path) if pickled else {}
        stored = {} if pickled else read_header(path, self._directory).tensors
        names = tensors.keys() | stored.keys()
        if wanted is not None and names != wanted:
            other = min(names ^ wanted)
            raise BundleError(
                f"{self.path}: {shown(other, 100)!r} is not in the file that it names; copy all files again"
            )
        self._tensors |= tensors
        self._stored |= {name: (path, tensor) for name, tensor in stored.items()}

    def _from_file(self, path: Path, stored: StoredTensor) -> "Tensor":
        content = bytearray(stored.end - stored.begin)
        with reading(path), open_regular(path, root=self._directory) as file:
            file.seek(stored.begin)
            if file.readinto(content) != len(content):
                raise BundleError(f"{path}: its size has changed while it was read; copy it again")
        return tensor_of(content, stored)

    def _pickled(self, path: Path) -> "dict[str, Tensor]":
        """The tensors of a `.bin` file: a zip file of numbers and a pickle, of which torch reads nothing but tensors."""
        import torch

        with open_archive(path):  # names, kinds and sizes of its entries
            pass
        with reading(path), open_regular(path, root=self._directory) as file:
            size = os.fstat(file.fileno()).st_size
            try:
                values = torch.load(file, map_location="cpu", weights_only=True)
            except _DAMAGED as error:
                if is_out_of_memory(error):
                    raise
                raise BundleError(
                    f"{path}: not a file of tensors alone, so it is not read: what it holds could run as a program; "
                    f"save the model as {WEIGHTS}"
                ) from None
        if not isinstance(values, dict) or not all(isinstance(value, torch.Tensor) for value in values.values()):
            raise BundleError(f"{path}: not a dictionary of tensors; save the model as {WEIGHTS}")
        other = next((name for name, value in values.items() if not _is_plain(value, size)), None)
        if other is not None:
            raise BundleError(
                f"{path}: {shown(other)} is sparse, or larger than what is stored of it; save the model as {WEIGHTS}"
            )
        return {str(name): value for name, value in values.items()}


def _is_plain(tensor: "Tensor", size: int) -> bool:
    """Whether a tensor of a file of this size holds no more numbers than were stored."""
    import torch

    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized or tensor.device.type != "cpu":
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes() <= size


def _weight_files(directory: Path) -> tuple[Path, dict[str, frozenset[str] | None]]:
    """(the file to name in messages, name of each file -> its tensors by the index, None without one)."""
    for name in (WEIGHTS, PICKLED):
        if (directory / name).exists():
            return directory / name, {name: None}
        index = directory / f"{name}{INDEX_SUFFIX}"
        if index.exists():
            return index, _indexed(index, directory, PurePosixPath(name).suffix)
    raise BundleError(f"{directory}: no {WEIGHTS} and no {PICKLED}; give the directory of a model")


def _indexed(path: Path, directory: Path, suffix: str) -> dict[str, frozenset[str] | None]:
    """The files that an index names, which are beside it, and the tensors of each."""
    with reading(path):
        places = json_object(read_bytes(path, RECORD_BYTES, root=directory), path).get("weight_map")
    if not isinstance(places, dict) or not places or not all(isinstance(name, str) for name in places.values()):
        raise BundleError(f"{path}: weight_map is not an object of tensors and files; copy it again")
    files: dict[str, set[str]] = {}
    for tensor, name in places.items():
        files.setdefault(name, set()).add(tensor)
    if len(files) > MOST_FILES:
        raise BundleError(f"{path}: {len(files):,} files, {MOST_FILES:,} are the most; copy it again")
    odd = next((name for name in files if "/" in name or "\\" in name or not name.endswith(suffix)), None)
    if odd is not None:
        raise BundleError(f"{path}: {shown(odd, 100)!r} is not the name of a {suffix} file beside it; do not trust it")
    return {name: frozenset(tensors) for name, tensors in sorted(files.items())}
