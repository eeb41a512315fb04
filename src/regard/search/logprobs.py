"""From logits to log-probabilities, in a precision that survives long sums. It ranks and chooses nothing.

Shapes: V tokens that can be generated.
"""

import torch
from torch import Tensor


def log_probabilities(logits: Tensor) -> Tensor:
    """log softmax over the last axis [..., V], in float32 at least: the half types hold two digits of a log-probability.

    Where no token is possible (every logit is -inf) the result is NaN, as 0 / 0 is.
    """
    return logits.log_softmax(dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def sum_type(device: torch.device) -> torch.dtype:
    """The type that log-probabilities are summed in: float64, or float32 on Apple's GPUs, which have nothing wider."""
    return torch.float32 if device.type == "mps" else torch.float64
