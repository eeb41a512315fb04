"""Recurrent cells, each as its gate equations: what one step makes of what the linear maps gave it. They own no weights.

The maps are the caller's, because it can make them of a whole sequence at once, or of input and state in one product. Gates stand one after
the other along the last dimension, in torch's order.

Shapes: H width; leading dimensions (batch) are carried along.
"""

import torch
from torch import Tensor


def rnn(gates: Tensor) -> Tensor:
    """[..., H] -> h' = tanh(W x + U h + b), given what is inside (Elman 1990)."""
    return torch.tanh(gates)


def gru(inputs: Tensor, recurrent: Tensor, hidden: Tensor) -> Tensor:
    """inputs [..., 3H] = W x + b, recurrent [..., 3H] = U h + b', hidden [..., H] -> the next hidden state.

    r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), n = tanh(W_n x + r * (U_n h)), h' = (1 - z) * n + z * h
    (Cho et al. 2014; the reset gate after the product, as in cuDNN).
    """
    width = hidden.shape[-1]
    reset, update = torch.sigmoid(inputs[..., : 2 * width] + recurrent[..., : 2 * width]).chunk(2, dim=-1)
    new = torch.tanh(torch.addcmul(inputs[..., 2 * width :], reset, recurrent[..., 2 * width :]))
    return torch.lerp(new, hidden, update)


def lstm(gates: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """gates [..., 4H] = W x + U h + b, memory [..., H] -> the next hidden state and memory.

    i = sigmoid(..), f = sigmoid(..), g = tanh(..), o = sigmoid(..); c' = f * c + i * g, h' = o * tanh(c')
    (Hochreiter and Schmidhuber 1997; the forget gate of Gers et al. 2000). The memory is what carries information past the hidden state.
    """
    enter, forget, new, leave = gates.chunk(4, dim=-1)
    memory = torch.addcmul(torch.sigmoid(forget) * memory, torch.sigmoid(enter), torch.tanh(new))
    return torch.sigmoid(leave) * torch.tanh(memory), memory
