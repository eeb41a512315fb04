"""Label-smoothed cross-entropy, fused with the output projection so that the logits of a whole batch never exist at once.

Shapes: N target tokens, D width, V outputs.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK_ELEMENTS = 2**20  # logits held at a time: four megabytes, which stay in a core's reach


def smoothed_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """(hidden [N, D], weight [V, D], targets [N]) -> sums over the N tokens of the smoothed loss and of -log p(target).

    With z = hidden W^T and p = softmax(z), the loss of a token is (1 - e) (-log p_y) + e mean_v(-log p_v) (Szegedy et al. 2016,
    section 7), whose gradient in z is p - (1 - e) onehot(y) - e / V. That is computed chunk by chunk in the forward pass, so the
    backward pass only scales it. The second result carries no gradient.
    """
    loss, nll = _Smoothed.apply(hidden, weight, targets, smoothing)  # type: ignore[no-untyped-call]
    return loss, nll


class _Smoothed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        outputs = weight.shape[0]
        rows = max(32, CHUNK_ELEMENTS // outputs)
        wanted = any(ctx.needs_input_grad[:2])
        hidden_gradient = torch.empty_like(hidden) if wanted else None
        weight_gradient = torch.zeros_like(weight) if wanted else None
        loss = hidden.new_zeros(())
        nll = hidden.new_zeros(())
        for first in range(0, hidden.shape[0], rows):
            piece, target = hidden[first : first + rows], targets[first : first + rows, None]
            logs = torch.log_softmax(piece @ weight.T, dim=-1)
            missed = logs.gather(1, target).sum()
            nll -= missed
            loss -= (1.0 - smoothing) * missed
            if smoothing > 0.0:
                loss -= smoothing / outputs * logs.sum()
            if hidden_gradient is not None and weight_gradient is not None:
                gradient = logs.exp_()
                if smoothing > 0.0:
                    gradient.sub_(smoothing / outputs)
                gradient.scatter_add_(1, target, torch.full_like(target, smoothing - 1.0, dtype=gradient.dtype))
                torch.mm(gradient, weight, out=hidden_gradient[first : first + rows])
                weight_gradient.addmm_(gradient.T, piece)
        if wanted:
            ctx.save_for_backward(hidden_gradient, weight_gradient)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * gradients[0], weight_gradient * gradients[0], None, None
