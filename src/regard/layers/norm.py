"""Normalisation of hidden states, and the table of its names in `model.norm_kind`.

Shapes: D width; leading dimensions are carried along.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

EPSILON = 1e-5


class LayerNorm(nn.LayerNorm):
    """(x - mean) / sqrt(variance + e) * g + b (Ba et al. 2016)."""

    def __init__(self, width: int, epsilon: float = EPSILON) -> None:
        super().__init__(width, eps=epsilon)

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        wide = x.to(
            self.weight.dtype
        )  # no change but in mixed precision, where torch would add up its gradient in bfloat16
        return super().forward(wide).to(x.dtype)


class RMSNorm(nn.Module):
    """x / sqrt(mean of x^2 + e) * g (Zhang and Sennrich 2019): no mean is taken away and no bias added."""

    def __init__(self, width: int, epsilon: float = EPSILON) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin with a gain of one."""
        nn.init.ones_(self.weight)

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        wide = x.to(self.weight.dtype)  # no change but in mixed precision
        return F.rms_norm(wide, self.weight.shape, self.weight, self.epsilon).to(x.dtype)


NORMS: dict[str, type[LayerNorm] | type[RMSNorm]] = {"layer": LayerNorm, "rms": RMSNorm}
"""Every norm by its name in `model.norm_kind`."""
