"""Encoders for a recurrent decoder: from embeddings to one state a token, and to one vector that stands for the whole sentence.

Both do the same for a sentence whatever padding stands behind it.

Shapes: B batch, S source, E embedding, W width of a state.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.positions import SinusoidalPositions
from regard.layers.recurrent import RecurrentStack


class RecurrentEncoder(nn.Module):
    """A recurrent stack, on request in both directions, each giving half of a state; a forward one cannot use later tokens."""

    def __init__(self, *, cell: str, inputs: int, width: int, layers: int, dropout: float, bidirectional: bool) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.stack = RecurrentStack(
            cell=cell,
            inputs=inputs,
            width=width // self.directions,
            layers=layers,
            dropout=dropout,
            bidirectional=bidirectional,
        )

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """x [B, S, E], real [B, S] -> states [B, S, W], and where each direction of the last layer ended, [B, W]."""
        states, last = self.stack.read(x, real.sum(dim=1))
        return states, last[0][:, -self.directions :].flatten(1)


class ConvolutionalEncoder(nn.Module):
    """Gated convolutions with residual connections over embeddings that know their position (Gehring et al. 2017).

    x' = sqrt(1/2) (x + (A * sigmoid(B))) with [A | B] = conv(x). Each of L layers lets a token see (kernel - 1) / 2 more to either side.
    """

    def __init__(self, *, inputs: int, width: int, layers: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.positions = SinusoidalPositions(inputs)
        self.widen = nn.Linear(inputs, width)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(width, 2 * width, kernel, padding=kernel // 2) for _ in range(layers)
        )
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """x [B, S, E], real [B, S] -> states [B, S, W] and their mean [B, W]."""
        there = real[:, None, :].to(x.dtype)  # [B, 1, S]
        hidden = self.widen(x + self.positions(0, x.shape[1])).transpose(1, 2) * there  # [B, W, S]
        for convolution in self.convolutions:
            gated = F.glu(convolution(self.dropout(hidden)), dim=1)
            # what is past the end stays zero, as the convolution's own padding is
            hidden = (hidden + gated) * (0.5**0.5 * there)
        return hidden.transpose(1, 2), hidden.sum(dim=2) / torch.sum(there, dim=2)
