"""Residual connections with normalisation.

post-norm: norm(x + f(x)) (the lectures; Vaswani et al. 2017); pre-norm: x + f(norm(x)) (Xiong et al. 2020), which needs no long warm-up.

Shapes: D width; leading dimensions are carried along.
"""

from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.dropout import Dropout


class Residual(nn.Module):
    """The residual connection around a sublayer f: `join(x, f(enter(x)))`."""

    def __init__(self, *, norm: nn.Module, dropout: float, pre_norm: bool) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def enter(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        """The input of the sublayer."""
        result: Tensor = self.norm(x) if self.pre_norm else x
        return result

    def join(self, x: Float[Tensor, "... D"], output: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        """The sum of x and the sublayer's output, normalised where the norm comes after."""
        result: Tensor = x + self.dropout(output)
        return result if self.pre_norm else self.norm(result)
