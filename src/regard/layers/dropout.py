"""Dropout as a module: it knows whether it is training, `ops.dropout` knows how.

Shapes: any.
"""

from jaxtyping import Float
from torch import Tensor, nn

from regard.ops.dropout import dropout


class Dropout(nn.Module):
    """Zeroes units with `probability` in training; the identity in evaluation."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return dropout(x, self.probability) if self.training and self.probability > 0.0 else x

    def extra_repr(self) -> str:
        return f"{self.probability}"
