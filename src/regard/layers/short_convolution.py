"""A short depthwise convolution, which Hyena and the delta rule have before their own mixing.

Shapes: B batch, T positions, D channels, K taps.
"""

from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.roles import Role
from regard.ops.convolution import short_convolution

TAPS = 3


class ShortConvolution(nn.Module):
    """One filter of three taps for each channel: of a position and the two before it or, if not causal, its two neighbours."""

    roles: ClassVar[dict[str, Role]] = {"weight": "vector", "bias": "vector"}

    def __init__(self, channels: int, *, causal: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels, TAPS))
        self.bias = nn.Parameter(torch.empty(channels))
        self.before = TAPS - 1 if causal else TAPS // 2
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin near the identity: one for the position itself, a little of the others."""
        nn.init.uniform_(self.weight, -0.3, 0.3)
        with torch.no_grad():
            self.weight[:, self.before] += 1.0
        nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "B D T"]) -> Float[Tensor, "B D T"]:
        """All positions at once, with zeros around them."""
        return self.around(x, self.weight, self.bias)

    def around(
        self, x: Float[Tensor, "B D T"], weight: Float[Tensor, "D K"], bias: Float[Tensor, " D"]
    ) -> Float[Tensor, "B D T"]:
        """The same with the given weights: those of some channels."""
        return short_convolution(F.pad(x, (self.before, TAPS - 1 - self.before)), weight, bias)

    def step(
        self, x: Float[Tensor, "B D T"], earlier: Float[Tensor, "B D _"]
    ) -> tuple[Float[Tensor, "B D T"], Float[Tensor, "B D _"]]:
        """New positions after the last two, and the last two then."""
        assert self.before == TAPS - 1, "only a causal convolution has steps"
        together = torch.cat([earlier, x], dim=2)
        return short_convolution(together, self.weight, self.bias), together[:, :, 1 - TAPS :]
