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
        scale = LEVELS / (LEVELS - threshold)
        # The mask is kept in the type of x: a product of two types casts one of them first, and the backward pass would cast it again.
        # In float32 it is kept scaled, which saves two passes and changes no bit; in bfloat16 the scale would be rounded.
        mask, ctx.scale = kept.to(x.dtype), scale
        if x.dtype != torch.bfloat16:
            mask, ctx.scale = mask.mul_(scale), None
        ctx.save_for_backward(mask)
        return _masked(x, mask, ctx.scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return _masked(gradients[0], mask, ctx.scale), None


def _masked(x: Tensor, mask: Tensor, scale: float | None) -> Tensor:
    return x * mask if scale is None else (x * mask).mul_(scale)
