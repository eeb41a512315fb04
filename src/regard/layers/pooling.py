"""Pooling: one vector for a sequence of hidden states, and the table of its names in `model.pooling`.

Shapes: B batch, S tokens, D width.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def mean_pooling(x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """The mean of the states of real tokens."""
    there = real[..., None]
    return (x * there).sum(dim=1) / there.sum(dim=1)


def max_pooling(x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """The maximum of the states of real tokens, unit by unit."""
    return x.masked_fill(~real[..., None], -torch.inf).amax(dim=1)


def class_pooling(x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """The state of the first token, a class token that the network puts before the text (Devlin et al. 2019)."""
    return x[:, 0]


POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean": mean_pooling,
    "max": max_pooling,
    "class": class_pooling,
}
"""Every pooling by its name in `model.pooling`."""
