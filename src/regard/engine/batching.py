"""Batching: sequences of similar length go together, up to a budget of tokens.

Shapes: B sequences, T longest of them.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from regard.search.checks import check_count

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FAST_BATCH_TOKENS = 1536  # source tokens: larger batches do not fit the caches of a core


def length_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Batches of indices into `lengths`, the longest sequences first. Every index occurs once.

    A batch takes B x (longest + 1 for the end mark) tokens with padding: at most `batch_tokens`, unless a single sequence is longer.
    With the longest first, a lack of memory shows at once.
    """
    check_count("batch_tokens", batch_tokens)
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 1) > batch_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def padded(rows: Sequence[Sequence[int]], pad: int, device: "torch.device") -> "Tensor":
    """[B, T], each row padded on the right."""
    import torch

    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], dtype=torch.long, device=device)
