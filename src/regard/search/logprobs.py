"""From logits to log-probabilities, precise enough for long sums.

Shapes: V outputs.
"""

import torch
from torch import Tensor


def log_probabilities(logits: Tensor) -> Tensor:
    """Log-softmax over the last axis [..., V], at least in float32: half precision has two digits of a log-probability.

    If every logit is -inf, the result is NaN.
    """
    return logits.log_softmax(dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def sum_type(device: torch.device) -> torch.dtype:
    """The dtype for sums of log-probabilities: float64, or float32 on Apple's GPUs, which have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64
