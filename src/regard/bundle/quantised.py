"""Bundles whose matrices are stored in 8 bits: one whole number a weight, and one scale a row. `regard quantize` makes them. No torch.

Such a bundle has the record `quantised.json`. CTranslate2 gets the whole numbers as they are. Everything else reads the weights that they
stand for, in float32: weight = whole number / scale.

Shapes: O outputs, I inputs.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from regard.bundle.header import writing
from regard.bundle.int8 import quantised
from regard.bundle.manifest import Manifest
from regard.errors import BundleError
from regard.models.shapes import Shape
from regard.settings import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[np.float32]]

QUANTISED = "quantised.json"
SCALE = ".scale"
"""Ends the name of the tensor [O] with the scales of another tensor."""
_Bytes = Annotated[int, Field(ge=1)]
Stored = Literal["float32", "int8"]
"""How weights are stored: before and after."""


class Quantised(Record):
    """The size and scores of a bundle before and after it was quantised."""

    weights: Literal["int8"] = "int8"
    """How its matrices are stored."""
    of: str
    """The SHA-256 of the manifest of the bundle that it was made of."""
    sizes: dict[Stored, _Bytes]
    """Bytes of the file of weights before and after."""
    judged_on: str
    """The name of the set that both were judged on."""
    sentences: Annotated[int, Field(ge=1)]
    """The size of that set."""
    beam: Annotated[int, Field(ge=1)]
    """The hypotheses that both searches kept."""
    scores: dict[str, dict[Stored, float]]
    """Name of a score -> its value before and after."""
    signatures: dict[str, str]
    """Name of a score -> how it was computed."""


def is_quantised(files: Manifest) -> bool:
    """Whether the matrices of a bundle are stored in 8 bits."""
    return QUANTISED in files.digests


def quantised_record(files: Manifest) -> Quantised | None:
    """The record of a quantised bundle; None: it is not quantised."""
    return files.read_record(QUANTISED, Quantised) if is_quantised(files) else None


def refuse_quantised(files: Manifest, otherwise: str) -> None:
    """Refuse a bundle that is quantised. otherwise: what to do instead."""
    if is_quantised(files):
        raise BundleError(f"{files.directory}: its weights have 8 bits already; {otherwise}")


def is_matrix(name: str, shape: Shape) -> bool:
    """Whether a tensor is stored in 8 bits: the matrices of products and embeddings, not tables of positions."""
    return len(shape) == 2 and not re.search(r"(\.positions|_bias)\.table$", name)


def stored_types(shapes: Mapping[str, Shape]) -> dict[str, tuple[Shape, tuple[str, ...]]]:
    """Name -> shape and types of the tensors that a quantised bundle stores, from those of its network."""
    stored: dict[str, tuple[Shape, tuple[str, ...]]] = {}
    for name, shape in shapes.items():
        matrix = is_matrix(name, shape)
        stored[name] = shape, ("I8",) if matrix else ("F32",)
        if matrix:
            stored[f"{name}{SCALE}"] = shape[:1], ("F32",)
    return stored


def write_quantised(path: Path, arrays: "Arrays") -> None:
    """Write the weights of a network with its matrices in 8 bits."""
    from safetensors.numpy import save_file

    tensors: dict[str, Any] = {}
    for name, array in arrays.items():
        if is_matrix(name, array.shape):
            tensors[name], tensors[f"{name}{SCALE}"] = quantised(array)
        else:
            tensors[name] = array
    with writing(path):
        save_file(tensors, path)


def dequantised(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The weights that whole numbers and scales stand for, of numpy or torch."""
    return {
        name: tensor if f"{name}{SCALE}" not in tensors else tensor / tensors[f"{name}{SCALE}"][:, None]
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }


def as_scales(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors with the scales [O, 1] of each matrix in its place. A row of zeros has the scale zero, so that it looks like one."""
    return {
        name: tensor
        if f"{name}{SCALE}" not in tensors
        else tensors[f"{name}{SCALE}"][:, None] * tensor.any(axis=1, keepdims=True)
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }
