"""The position-wise feed-forward network: two linear maps with an activation between them.

FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, eq. 2), or with a gate: (silu(x W) * x V) W_2 (Shazeer 2020).

Shapes: D width; leading dimensions are carried along.
"""

from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.linear import Linear
from regard.ops.activations import GATED, PLAIN


class FeedForward(nn.Module):
    """Two linear maps through a wider inner layer."""

    def __init__(self, *, width: int, inner: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.up = Linear(width, inner)
        self.gate = Linear(width, inner) if activation in GATED else None
        self.down = Linear(inner, width)
        self.activation = GATED[activation] if activation in GATED else PLAIN[activation]
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        inner = self.activation(self.up(x)) if self.gate is None else self.activation(self.gate(x)) * self.up(x)
        result: Tensor = self.down(self.dropout(inner))
        return result
