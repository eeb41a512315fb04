"""Equations of time series: patches, the moving average, the statistics of a window, and the pinball loss.

Shapes: B windows, L steps of the past, P steps of a patch, N patches, Q quantiles.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

EPSILON = 1e-5
"""Added to the variance of a window, so that a constant window has a finite scale."""


def patch_count(steps: int, length: int, stride: int) -> int:
    """N = ceil((steps - P) / stride) + 1, and at least one."""
    return max(0, -(-(steps - length) // stride)) + 1


def patches(x: Float[Tensor, "B L"], length: int, stride: int) -> Float[Tensor, "B N P"]:
    """Windows of `length` steps, `stride` apart. The last one ends with the series; before its start the first value is repeated."""
    count = patch_count(x.shape[1], length, stride)
    missing = (count - 1) * stride + length - x.shape[1]
    if missing:
        x = torch.cat([x[:, :1].expand(-1, missing), x], dim=1)
    return x.unfold(1, length, stride)


def moving_average(x: Float[Tensor, "B L"], kernel: int) -> Float[Tensor, "B L"]:
    """The mean of `kernel` (odd) steps around each; the ends repeat their value (Zeng et al. 2023, DLinear's trend)."""
    half = kernel // 2
    padded = F.pad(x[:, None], (half, half), mode="replicate")
    return F.avg_pool1d(padded, kernel, stride=1)[:, 0]


def instance_statistics(x: Float[Tensor, "B L"], kind: str) -> tuple[Float[Tensor, "B 1"], Float[Tensor, "B 1"]]:
    """The centre and the scale of each window.

    standard: its mean and its standard deviation (Kim et al. 2022, RevIN); last: its last value and 1 (Zeng et al. 2023, NLinear);
    none: 0 and 1.
    """
    last = x[:, -1:]
    if kind == "standard":
        return x.mean(dim=1, keepdim=True), (x.var(dim=1, keepdim=True, correction=0) + EPSILON).sqrt()
    return (last if kind == "last" else torch.zeros_like(last)), torch.ones_like(last)


def pinball(
    predicted: Float[Tensor, "*shape Q"], truth: Float[Tensor, "*shape"], quantiles: Float[Tensor, " Q"]
) -> Float[Tensor, "*shape Q"]:
    """max(q e, (q - 1) e) with e = truth - predicted, least where predicted is the quantile q (Koenker and Bassett 1978)."""
    error = truth[..., None] - predicted
    return torch.maximum(quantiles * error, (quantiles - 1.0) * error)
