"""Label-smoothed cross-entropy, fused with the output projection so that the logits of a whole batch never exist at once.

Shapes: N target tokens, D width, V outputs, W >= V rows of the table that holds their weights.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK_ELEMENTS = 2**19  # logits held at a time: two megabytes, which stay in a core's reach
CHUNK_ROWS = 64  # products of a multiple of so many rows run at full speed


def smoothed_cross_entropy(
    hidden: Tensor,  # [N, D]
    table: Tensor,  # [W, D], whose first V rows are the weights of the outputs
    targets: Tensor,  # [N]
    smoothing: float,
    outputs: int | None = None,  # V, where it is not W
) -> tuple[Tensor, Tensor]:
    """The smoothed loss and -log p(target), both summed over the N tokens.

    With z = hidden W^T and p = softmax(z), the loss of a token is (1 - e) (-log p_y) + e mean_v(-log p_v) (Szegedy et al. 2016,
    section 7), whose gradient in z is p - (1 - e) onehot(y) - e / V. That is computed chunk by chunk in the forward pass, so the
    backward pass only scales it. The second result carries no gradient.
    """
    assert len(targets) > 0, "a loss over no tokens"
    loss, nll = _Smoothed.apply(hidden, table, targets, smoothing, outputs or len(table))  # type: ignore[no-untyped-call]
    return loss, nll


class _Smoothed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, table: Tensor, targets: Tensor, smoothing: float, outputs: int
    ) -> tuple[Tensor, Tensor]:
        weight, wanted = table[:outputs], any(ctx.needs_input_grad[:2])
        log_normaliser = hidden.new_empty(len(targets))  # log sum_v exp z_v of each token
        hidden_gradient, table_gradient = torch.empty_like(hidden), torch.empty_like(table)
        weight_gradient = table_gradient[:outputs]
        rows = max(CHUNK_ROWS, CHUNK_ELEMENTS // outputs // CHUNK_ROWS * CHUNK_ROWS)
        room = hidden.new_empty(rows * outputs)
        for first in range(0, len(targets), rows):
            piece = hidden[first : first + rows]
            scores = room[: outputs * len(piece)].view(outputs, -1)  # [V, n]: so laid out, the products are faster
            torch.mm(weight, piece.T, out=scores)
            highest = scores.amax(dim=0)
            scores.sub_(highest).exp_()
            total = scores.sum(dim=0)
            log_normaliser[first : first + rows] = highest + total.log()
            if wanted:  # p = scores / total, divided on the side of the D columns, of which there are fewer
                hidden_gradient[first : first + rows] = (scores.T @ weight).div_(total[:, None])
                weight_gradient.addmm_(scores, piece / total[:, None], beta=min(first, 1))  # the first overwrites
        chosen, everything = weight[targets], weight.sum(dim=0)
        nll = (log_normaliser - (hidden * chosen).sum(dim=1)).sum()
        uniform = (log_normaliser - hidden @ everything / outputs).sum()  # mean_v(-log p_v) of each token
        if wanted:
            hidden_gradient.sub_(chosen, alpha=1.0 - smoothing).sub_(everything, alpha=smoothing / outputs)
            weight_gradient.index_add_(0, targets, hidden, alpha=smoothing - 1.0)
            weight_gradient.sub_(hidden.sum(dim=0), alpha=smoothing / outputs)
            table_gradient[outputs:].zero_()
            ctx.save_for_backward(hidden_gradient, table_gradient)
        ctx.mark_non_differentiable(nll)
        return (1.0 - smoothing) * nll + smoothing * uniform, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        hidden_gradient, table_gradient = ctx.saved_tensors
        if gradients[0] != 1.0:
            hidden_gradient, table_gradient = hidden_gradient * gradients[0], table_gradient * gradients[0]
        return hidden_gradient, table_gradient, None, None, None
