"""Dropout with one random byte a unit: eight units share 64 random bits, where `torch.dropout` draws a number for each.

The probability is rounded to a multiple of 1/256 and the scale follows the rounded one, so the expectation is exact.

Shapes: any.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

LEVELS = 256


def dropout(x: Float[Tensor, "*shape"], probability: float) -> Float[Tensor, "*shape"]:
    """x with each unit zeroed with `probability` and the rest scaled by 1 / (1 - probability) (Srivastava et al. 2014)."""
    threshold = min(round(probability * LEVELS), LEVELS - 1)
    if threshold == 0:
        return x
    if x.device.type != "cpu":  # an accelerator draws random numbers faster than it would copy them
        return F.dropout(x, probability)
    result: Tensor = _ByteDropout.apply(x, threshold)  # type: ignore[no-untyped-call]
    return result


class _ByteDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int) -> Tensor:
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
        # 1 where byte >= threshold, else 0; by clamping, because a comparison to bool runs at a tenth of the speed
        kept = words.view(torch.uint8).clamp_(threshold - 1, threshold).sub_(threshold - 1)
        kept = kept[: x.numel()].view(x.shape)
        ctx.save_for_backward(kept)
        ctx.scale = LEVELS / (LEVELS - threshold)
        return (x * kept).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return (gradients[0] * kept).mul_(ctx.scale), None
