"""The position-wise network: two linear maps with a non-linearity between, the same at every position.

FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, eq. 2), or with a gate: (silu(x W) * x V) W_2 (Shazeer 2020).
"""

from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.ops.activations import GATED, PLAIN


class FeedForward(nn.Module):
    """[..., D] -> [..., D] through a wider inner layer."""

    def __init__(self, *, width: int, inner: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.gate = nn.Linear(width, inner) if activation in GATED else None
        self.down = nn.Linear(inner, width)
        self.activation = GATED[activation] if activation in GATED else PLAIN[activation]
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.activation(self.up(x)) if self.gate is None else self.activation(self.gate(x)) * self.up(x)
        result: Tensor = self.down(self.dropout(inner))
        return result
