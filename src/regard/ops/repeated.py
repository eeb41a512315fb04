"""A linear map for loops: the gradient of its weights is computed in one product for all steps.

Plain autograd makes a gradient of the size of the weights at every step. For a recurrent layer that is as much memory traffic as the step
itself. Here each step only keeps its input and the gradient of its output.

Shapes: R rows, I inputs, O outputs.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

Calls = dict[int, tuple[Tensor, Tensor]]  # by step: the input [R, I] and the gradient of the output [R, O]


class RepeatedLinear:
    """x W^T + b. Create one for each run of a loop. Equals `F.linear`, gradients included."""

    def __init__(self, weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"]) -> None:
        self._weight, self._bias = weight, bias
        self._anchor: Tensor | None = None
        self._uses = 0
        self._calls: Calls = {}
        # on an accelerator mixed precision casts inside `F.linear`, and memory is faster than many small products are
        if torch.is_grad_enabled() and weight.requires_grad and weight.device.type == "cpu":
            self._anchor = _Gathered.apply(weight, bias, self._calls)  # type: ignore[no-untyped-call]

    def __call__(self, x: Float[Tensor, "R I"]) -> Float[Tensor, "R O"]:
        """The map of x."""
        if self._anchor is None:
            return F.linear(x, self._weight, self._bias)
        self._uses += 1
        result: Tensor = _Used.apply(  # type: ignore[no-untyped-call]
            x, self._anchor, self._weight.detach(), self._bias.detach(), self._calls, self._uses
        )
        return result


class _Gathered(torch.autograd.Function):
    """Sits between the weights and all their uses, so that its backward pass runs after all of theirs."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, calls: Calls) -> Tensor:
        ctx.calls = calls
        return weight.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        inputs, outputs = (torch.cat(tensors) for tensors in zip(*ctx.calls.values(), strict=True))
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
