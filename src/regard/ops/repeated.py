"""A linear map that a loop applies many times. The gradient of its weights is found in one product when the loop is differentiated.

Left to itself, autograd makes a gradient of the size of the weights at every step and adds it to the last: for a recurrent layer that is
as much memory traffic as the step itself. Here each step only keeps its input and the gradient of its output.

Shapes: R rows, I inputs, O outputs.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Calls = dict[int, tuple[Tensor, Tensor]]  # by number: what went in [R, I], and the gradient of what came out [R, O]


class RepeatedLinear:
    """x W^T + b, made anew for each run of a loop; equal to `F.linear`, gradients included."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._weight, self._bias = weight, bias
        self._anchor: Tensor | None = None
        self._uses = 0
        self._calls: Calls = {}
        # on an accelerator mixed precision casts inside `F.linear`, and memory is faster than many small products are
        if torch.is_grad_enabled() and weight.requires_grad and weight.device.type == "cpu":
            self._anchor = _Gathered.apply(weight, bias, self._calls)  # type: ignore[no-untyped-call]

    def __call__(self, x: Tensor) -> Tensor:
        """[R, I] -> [R, O]"""
        if self._anchor is None:
            return F.linear(x, self._weight, self._bias)
        self._uses += 1
        result: Tensor = _Used.apply(  # type: ignore[no-untyped-call]
            x, self._anchor, self._weight.detach(), self._bias.detach(), self._calls, self._uses
        )
        return result


class _Gathered(torch.autograd.Function):
    """Stands between the weights and all their uses, so that its backward pass comes after all of theirs."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, calls: Calls) -> Tensor:
        ctx.calls = calls
        return weight.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        inputs, outputs = (torch.cat(some) for some in zip(*ctx.calls.values(), strict=True))
        ctx.calls.clear()
        return outputs.T @ inputs, outputs.sum(dim=0), None


class _Used(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Tensor, weight: Tensor, bias: Tensor, calls: Calls, number: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.calls, ctx.number = calls, number
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        x, weight = ctx.saved_tensors
        ctx.calls[ctx.number] = (x, gradients[0])
        return gradients[0] @ weight, gradients[0].new_zeros(()), None, None, None, None
