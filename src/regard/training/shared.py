"""Tensors in memory shared with forked processes. The memory is anonymous: no file, no name, no space in /dev/shm."""

import mmap
from collections.abc import Sequence

import torch
from torch import Tensor

ALIGNMENT = 64  # bytes: a cache line


def shared(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copies of the tensors in one block of shared memory."""
    sizes = [-(-tensor.nbytes // ALIGNMENT) * ALIGNMENT for tensor in tensors]
    block = torch.frombuffer(mmap.mmap(-1, max(1, sum(sizes))), dtype=torch.uint8)
    copies, start = [], 0
    for tensor, size in zip(tensors, sizes, strict=True):
        place = block[start : start + tensor.nbytes].view(tensor.dtype).view(tensor.shape)
        copies.append(place.copy_(tensor))
        start += size
    return copies
