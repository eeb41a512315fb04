"""Activation functions of the feed-forward network by name: plain ones, and gated ones with two inputs."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor


def gelu_tanh(x: Tensor) -> Tensor:
    """x Phi(x) with Phi approximated by tanh (Hendrycks and Gimpel 2016, section 2)."""
    return F.gelu(x, approximate="tanh")


PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": gelu_tanh,
    "silu": F.silu,
}
"""max(0, x) (the lectures); x Phi(x) (Hendrycks and Gimpel 2016), exact or by tanh as in GPT-2; x sigmoid(x), Marian's "swish"."""

GATED: dict[str, Callable[[Tensor], Tensor]] = {"swiglu": F.silu, "geglu": gelu_tanh}
"""The function of the gate: swiglu is silu(x W) * (x V) (Shazeer 2020, eq. 6); geglu has gelu there, as T5 1.1 has it."""
