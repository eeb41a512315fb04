"""Activation functions of the feed-forward network by name: plain ones, and gated ones with two inputs."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

PLAIN: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
"""max(0, x) (the lectures); x Phi(x) (Hendrycks and Gimpel 2016); x sigmoid(x), Marian's "swish"."""

GATED: dict[str, Callable[[Tensor], Tensor]] = {"swiglu": F.silu}
"""The function of the gate: swiglu is silu(x W) * (x V) (Shazeer 2020, eq. 6)."""
