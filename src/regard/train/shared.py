"""Memory that a process and the processes it forks see alike. Anonymous, so it needs no file, no name and no room in /dev/shm."""

import mmap
from collections.abc import Sequence

import torch
from torch import Tensor

ALIGNMENT = 64  # bytes: a line of the cache


def shared(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copies of the tensors in one such block."""
    sizes = [-(-tensor.nbytes // ALIGNMENT) * ALIGNMENT for tensor in tensors]
    block = torch.frombuffer(mmap.mmap(-1, max(1, sum(sizes))), dtype=torch.uint8)
    copies, start = [], 0
    for tensor, size in zip(tensors, sizes, strict=True):
        place = block[start : start + tensor.nbytes].view(tensor.dtype).view(tensor.shape)
        copies.append(place.copy_(tensor))
        start += size
    return copies
