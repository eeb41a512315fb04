"""Layers of forecasters: the front that reads patches of a series, and the head that predicts a value and its quantiles.

Shapes: B windows, L steps of the past, P steps of a patch, N patches, D width, T patches of the future, Q quantiles.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.linear import Linear
from regard.layers.positions import AddedPositions
from regard.ops.probe import Probe
from regard.ops.series import patches


class SeriesFront(nn.Module):
    """Patches of a series, each mapped to a hidden state, plus positions if they are added, with dropout (Nie et al. 2023)."""

    def __init__(
        self, *, patch: int, stride: int, width: int, dropout: Dropout, positions: AddedPositions | None = None
    ) -> None:
        super().__init__()
        self.patch, self.stride = patch, stride
        self.embedding = Linear(patch, width)
        self.positions = positions
        self.dropout = dropout

    def forward(
        self, series: Float[Tensor, "B L"], probe: Probe | None = None
    ) -> tuple[Float[Tensor, "B N D"], Bool[Tensor, "B N"]]:
        """The hidden states of all patches, and the mask, which is True everywhere."""
        x = self.embed(patches(series, self.patch, self.stride), probe=probe)
        return x, torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)

    def embed(self, cut: Float[Tensor, "B N P"], first: int = 0, probe: Probe | None = None) -> Float[Tensor, "B N D"]:
        """The hidden states of patches, the first at position `first`."""
        x: Tensor = self.embedding(cut.to(self.embedding.weight.dtype))
        if self.positions is not None:
            x = x + self.positions(first, x.shape[1])
        x = self.dropout(x)
        return x if probe is None else probe.see("embedding", x)


class QuantileHead(nn.Module):
    """A value for each of `steps` steps, and the distance of each quantile from it.

    The distances read the hidden state without a gradient: quantiles are trained beside the value and do not change it.
    """

    def __init__(self, *, inputs: int, steps: int, quantiles: int) -> None:
        super().__init__()
        self.steps, self.quantiles = steps, quantiles
        self.value = Linear(inputs, steps)
        self.distance = Linear(inputs, steps * quantiles) if quantiles else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise with zeros: the first forecast is the centre of the window."""
        for linear in (self.value, self.distance):
            if linear is not None:
                nn.init.zeros_(linear.weight)
                nn.init.zeros_(linear.bias)

    def forward(self, hidden: Float[Tensor, "*B D"]) -> tuple[Float[Tensor, "*B T"], Float[Tensor, "*B T Q"]]:
        """The values, and the distances of the quantiles from them, in float32."""
        value: Tensor = self.value(hidden).float()
        if self.distance is None:
            return value, value.new_zeros(*value.shape, 0)
        distance: Tensor = self.distance(hidden.detach()).float()
        return value, distance.view(*value.shape, self.quantiles)
