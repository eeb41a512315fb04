"""Reads and writes safetensors files; failures become a `DiskError` or a `BundleError`. It knows no model."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from regard.bundle.header import StoredTensor, header_of, read_header, writing
from regard.bundle.manifest import Manifest

_TYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
"""The types of tensors that `header.BYTES` allows."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write all tensors. Tied tensors are written once for each name: drop duplicates before."""
    # safetensors refuses tensors that share memory, so views are copied.
    seen: set[int] = set()
    plain: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        whole = tensor.detach().to("cpu").contiguous()
        pointer = whole.untyped_storage().data_ptr()
        plain[name] = whole.clone() if pointer in seen else whole
        seen.add(pointer)
    with writing(path):
        save_file(plain, path)


def read_tensors(files: Manifest, name: str) -> dict[str, Tensor]:
    """Name -> tensor of all tensors of a listed file."""
    path = files.directory / name
    content = files.read_whole(name, read_header(path, files.directory).size)
    return tensors_of(content, header_of(path, content).tensors)


def tensors_of(content: bytearray, tensors: Mapping[str, StoredTensor]) -> dict[str, Tensor]:
    """Name -> tensor of the content of a file. The tensors share the memory of `content`."""
    return {name: _tensor(content, stored) for name, stored in tensors.items()}


def _tensor(content: bytearray, stored: StoredTensor) -> Tensor:
    kind, count = _TYPES[stored.dtype], math.prod(stored.shape)
    if not count:
        return torch.empty(stored.shape, dtype=kind)
    if stored.begin % kind.itemsize:  # not as safetensors writes it
        content, stored = content[stored.begin : stored.end], replace(stored, begin=0)
    return torch.frombuffer(content, dtype=kind, count=count, offset=stored.begin).view(stored.shape)


def tensor_of(content: bytearray, stored: StoredTensor) -> Tensor:
    """The tensor whose own bytes are `content`, with which it shares memory."""
    return _tensor(content, replace(stored, begin=0, end=len(content)))
