"""Add and norm: the path that lets deep stacks train.

post-norm: norm(x + f(x)) (the lectures; Vaswani et al. 2017); pre-norm: x + f(norm(x)) (Xiong et al. 2020), which needs no long warm-up.
"""

from collections.abc import Callable

from torch import Tensor, nn

from regard.layers.dropout import Dropout


class Residual(nn.Module):
    """Wraps a sublayer with dropout, the residual connection and layer normalisation."""

    def __init__(self, *, width: int, dropout: float, pre_norm: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            result: Tensor = x + self.dropout(sublayer(self.norm(x)))
        else:
            result = self.norm(x + self.dropout(sublayer(x)))
        return result
