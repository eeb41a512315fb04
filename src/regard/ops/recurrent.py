"""Recurrent cells as gate equations: one step, from the outputs of the linear maps to the next state.

The caller applies the linear maps, because it can do so for a whole sequence, or for input and state in one product. Gates are concatenated
along the last dimension, in torch's order.

Shapes: H width, G all gates together; leading dimensions (batch) are carried along.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def rnn(gates: Float[Tensor, "... H"]) -> Float[Tensor, "... H"]:
    """h' = tanh(gates), with gates = W x + U h + b (Elman 1990)."""
    return torch.tanh(gates)


def gru(
    inputs: Float[Tensor, "... G"], recurrent: Float[Tensor, "... G"], hidden: Float[Tensor, "... H"]
) -> Float[Tensor, "... H"]:
    """The next hidden state, from inputs W x + b and recurrent U h + b', G = 3 H.

    r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), n = tanh(W_n x + r * (U_n h)), h' = (1 - z) * n + z * h
    (Cho et al. 2014; the reset gate after the product, as in cuDNN).
    """
    width = hidden.shape[-1]
    reset, update = torch.sigmoid(inputs[..., : 2 * width] + recurrent[..., : 2 * width]).chunk(2, dim=-1)
    new = torch.tanh(torch.addcmul(inputs[..., 2 * width :], reset, recurrent[..., 2 * width :]))
    return torch.lerp(new, hidden, update)


def lstm(
    gates: Float[Tensor, "... G"], memory: Float[Tensor, "... H"]
) -> tuple[Float[Tensor, "... H"], Float[Tensor, "... H"]]:
    """The next hidden state and cell state, from gates W x + U h + b, G = 4 H.

    i = sigmoid(..), f = sigmoid(..), g = tanh(..), o = sigmoid(..); c' = f * c + i * g, h' = o * tanh(c')
    (Hochreiter and Schmidhuber 1997; the forget gate of Gers et al. 2000).
    """
    enter, forget, new, leave = gates.chunk(4, dim=-1)
    memory = torch.addcmul(torch.sigmoid(forget) * memory, torch.sigmoid(enter), torch.tanh(new))
    return torch.sigmoid(leave) * torch.tanh(memory), memory
