"""Encoders for a recurrent decoder: from embeddings to one state per token and one vector for the sentence.

Padding does not change their results.

Shapes: B batch, S source, E embedding, W width of a state.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.linear import Linear
from regard.layers.positions import SinusoidalPositions
from regard.layers.recurrent import RecurrentStack


class RecurrentEncoder(nn.Module):
    """A recurrent stack. If bidirectional, each direction provides half of a state; if not, a state does not depend on later tokens."""

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

    def forward(
        self, x: Float[Tensor, "B S E"], real: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S W"], Float[Tensor, "B W"]]:
        """The states, and the final states of both directions of the last layer."""
        states, last = self.stack.read(x, real.sum(dim=1))
        return states, last[0][:, -self.directions :].flatten(1)


class ConvolutionalEncoder(nn.Module):
    """Gated convolutions with residual connections over embeddings with positions (Gehring et al. 2017).

    x' = sqrt(1/2) (x + (A * sigmoid(B))) with [A | B] = conv(x). Each layer widens the receptive field by (kernel - 1) / 2 on either side.
    """

    def __init__(self, *, inputs: int, width: int, layers: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.positions = SinusoidalPositions(inputs)
        self.widen = Linear(inputs, width)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(width, 2 * width, kernel, padding=kernel // 2) for _ in range(layers)
        )
        self.dropout = Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the convolutions: Xavier kernels, zero biases."""
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            nn.init.xavier_uniform_(convolution.weight)
            assert convolution.bias is not None
            nn.init.zeros_(convolution.bias)

    def forward(
        self, x: Float[Tensor, "B S E"], real: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S W"], Float[Tensor, "B W"]]:
        """The states and their mean."""
        there = real[:, None, :].to(x.dtype)  # [B, 1, S]
        hidden = self.widen(x + self.positions(0, x.shape[1])).transpose(1, 2) * there  # [B, W, S]
        for convolution in self.convolutions:
            gated = F.glu(convolution(self.dropout(hidden)), dim=1)
            # padding stays zero, like the convolution's own padding
            hidden = (hidden + gated) * (0.5**0.5 * there)
        return hidden.transpose(1, 2), hidden.sum(dim=2) / torch.sum(there, dim=2)
