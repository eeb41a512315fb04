"""Pooling: one vector for a sequence of hidden states, and the table of its names in `model.pooling`.

`AttentionPooling` has weights, so a network builds it; the others are functions.

Shapes: B batch, S tokens, D width.
"""

from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.layers.roles import Role
from regard.ops.probe import Probe


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


class AttentionPooling(nn.Module):
    """sum over real tokens of softmax(x w)_s x_s: a learned query asks every token how much it matters.

    Lin et al. 2017 and Yang et al. 2016 pool the states of an LSTM so, the latter with a tanh layer before the query; CCT (Hassani et al.
    2021, eq. 4) pools patches.
    """

    roles: ClassVar[dict[str, Role]] = {"query": "vector"}

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin near the mean of all tokens."""
        nn.init.normal_(self.query, std=0.02)

    def forward(
        self, x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"], probe: Probe | None = None
    ) -> Float[Tensor, "B D"]:
        """The weighted mean of the states of real tokens. The probe sees `weights` [B, S]."""
        weights = torch.softmax((x @ self.query).masked_fill(~real, -torch.inf), dim=1)
        if probe is not None:
            weights = probe.see("weights", weights)
        return torch.einsum("bs,bsd->bd", weights, x)
