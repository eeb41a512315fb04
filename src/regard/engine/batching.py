"""Which sequences go through the model together: those of like length, as many as a budget of tokens allows. It knows no text.

Shapes: B sequences, T longest of them.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from regard.search.options import check_count

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FAST_BATCH_TOKENS = 1536  # of source tokens: larger batches leave the caches of a core


def length_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """The indices of `lengths` in batches, the longest first; every index occurs once.

    A batch fills a rectangle of B x (longest + 1 for the end mark) tokens, at most `batch_tokens` unless one sequence alone is larger.
    The longest come first so that memory runs out at once or never.
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
    """[B, T], each row filled up on the right."""
    import torch

    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], dtype=torch.long, device=device)
