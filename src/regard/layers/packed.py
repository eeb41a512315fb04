"""`PackedLinear`: x W^T + b with weights that are laid out once, for networks whose weights do not change.

torch multiplies float32 matrices with MKL. On processors that are not Intel's MKL leaves much of the speed: for a vocabulary of 8,000
and few rows oneDNN takes half of the time if it may lay out the weights beforehand (docs/experiments.md). There it is used where it is
faster: for large weights, and for many rows.

Shapes: R rows, I inputs, O outputs.
"""

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.machine import processor_vendor

LARGE = 1 << 19  # weights; smaller matrices are multiplied sooner than oneDNN is called
MANY_ROWS = 96
OTHER_VENDORS = ("AuthenticAMD", "HygonGenuine")


class PackedLinear:
    """x W^T + b. It keeps what it needs of the weights, so it does not see them change."""

    __slots__ = ("_bias", "_fewest_rows", "_packed", "_weight")

    def __init__(self, weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None) -> None:
        self._weight, self._bias = weight, bias
        self._fewest_rows = 1 if weight.numel() >= LARGE else MANY_ROWS
        self._packed: Any = None
        if weight.dtype == torch.float32 and weight.device.type == "cpu" and weight.numel() and _packing():
            self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)

    def __call__(self, x: Float[Tensor, "R I"]) -> Float[Tensor, "R O"]:
        if self._packed is None or len(x) < self._fewest_rows:
            return F.linear(x, self._weight, self._bias)
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self._bias, "none", [], "")
        return result


@cache
def _packing() -> bool:
    """Whether oneDNN is faster than what torch multiplies with, and torch has its operators, which are not of its public interface."""
    if processor_vendor() not in OTHER_VENDORS or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    try:
        weight, x = torch.eye(2), torch.ones(1, 2)
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        return bool((torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], "") == x).all())
    except (AttributeError, RuntimeError, TypeError):
        return False
