"""Label-smoothed cross-entropy, fused with the output projection so that the logits of a whole batch never exist at once.

There is a version for R-Drop, with two predictions of the same tokens. Gradients are analytic and computed in the forward pass, chunk by
chunk; the backward pass only scales them. `alignment_cross_entropy` is the loss of a supervised alignment head.

Hidden states in bfloat16 beside a table in float32 are mixed precision: the three products run in bfloat16, and everything else
(exponentials, sums over the vocabulary and over chunks) in the type of the table.

Shapes: N target tokens, D width, V outputs, W >= V rows of the table that holds their weights, n tokens of a chunk.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

CHUNK_ELEMENTS = 2**19  # logits of a chunk: two megabytes, which fit the cache of a core
WIDE_CHUNK_ELEMENTS = 2**22  # in a wide network, where the table is larger than the cache and is read once a chunk
WIDE = 512
CHUNK_ROWS = 64  # matrix products are fastest with a multiple of this many rows
MIXED_CHUNKS = (
    4  # times as many rows in mixed precision, where each chunk's gradient is added to the table's in a pass of its own
)


def smoothed_cross_entropy(
    hidden: Float[Tensor, "N D"],
    table: Float[Tensor, "W D"],  # whose first V rows are the weights of the outputs
    targets: Int[Tensor, " N"],
    smoothing: float,
    outputs: int | None = None,  # V, where it is not W
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The smoothed loss and -log p(target), both summed over the N tokens.

    With z = hidden W^T and p = softmax(z), the loss of a token is (1 - e) (-log p_y) + e mean_v(-log p_v) (Szegedy et al. 2016,
    section 7), whose gradient in z is p - (1 - e) onehot(y) - e / V. The second result carries no gradient.
    """
    assert len(targets) > 0, "a loss over no tokens"
    with torch.autocast(hidden.device.type, enabled=False):
        loss, nll = _Smoothed.apply(hidden, table, targets, smoothing, outputs or len(table))  # type: ignore[no-untyped-call]
    return loss, nll


def consistent_cross_entropy(
    hidden: Float[Tensor, "2 N D"],  # the same tokens, in two forward passes with different dropout
    table: Float[Tensor, "W D"],  # whose first V rows are the weights of the outputs
    targets: Int[Tensor, " N"],
    smoothing: float,
    consistency: float,
    outputs: int | None = None,  # V, where it is not W
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """R-Drop (Liang et al. 2021): the mean smoothed loss of two forward passes, plus a penalty for their divergence; and -log p(target).

    With p and q the two distributions of a token, the penalty is consistency / 4 (KL(p || q) + KL(q || p)): half of the paper's, as
    the mean is half of its sum. With d = log p - log q the gradient of KL(p || q) + KL(q || p) in the logits of p is
    p (d - KL(p || q)) + p - q. Both results are summed over the N tokens; the second carries no gradient.
    """
    assert len(targets) > 0, "a loss over no tokens"
    with torch.autocast(hidden.device.type, enabled=False):
        loss, nll = _Consistent.apply(hidden, table, targets, smoothing, consistency, outputs or len(table))  # type: ignore[no-untyped-call]
    return loss, nll


def alignment_cross_entropy(weights: Float[Tensor, "... T S"], wanted: Float[Tensor, "... T S"]) -> Float[Tensor, ""]:
    """- sum_t sum_s G_ts log A_ts (Garg et al. 2019), for attention weights A and gold alignments G.

    Rows of G sum to 1, or are zero and cost nothing. A weight of 0 counts as the smallest positive number.
    """
    linked = wanted > 0
    return -(wanted[linked] * weights[linked].clamp(min=torch.finfo(weights.dtype).tiny).log()).sum()


class _Smoothed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "N D"],
        table: Float[Tensor, "W D"],
        targets: Int[Tensor, " N"],
        smoothing: float,
        outputs: int,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        weight, wanted = table[:outputs], any(ctx.needs_input_grad[:2])
        log_normaliser = table.new_empty(len(targets))  # log sum_v exp z_v of each token
        hidden_gradient, table_gradient = torch.empty_like(hidden, dtype=table.dtype), torch.empty_like(table)
        weight_gradient, factor = table_gradient[:outputs], weight.to(hidden.dtype)
        rows = chunk_rows(outputs, hidden.shape[-1], hidden.dtype != table.dtype)
        room = table.new_empty(rows * outputs)
        for first in range(0, len(targets), rows):
            piece = hidden[first : first + rows]
            scores = room[: outputs * len(piece)].view(outputs, -1)  # [V, n]: the products are faster in this layout
            multiply(factor, piece.T, scores)
            highest = scores.amax(dim=0)
            scores.sub_(highest).exp_()
            total = scores.sum(dim=0)
            log_normaliser[first : first + rows] = highest + total.log()
            if wanted:  # p = scores / total, divided on the side of the D columns, of which there are fewer
                cast = scores.to(hidden.dtype)
                torch.div(cast.T @ factor, total[:, None], out=hidden_gradient[first : first + rows])
                scaled = (piece / total[:, None]).to(hidden.dtype)
                add_product(weight_gradient, cast, scaled, first > 0)
        wide = hidden.to(table.dtype)
        if wanted:
            _subtract_targets(wide, weight, targets, smoothing, hidden_gradient, table_gradient)
            ctx.save_for_backward(hidden_gradient.to(hidden.dtype), table_gradient)
        loss, nll = _losses(wide, weight, targets, smoothing, log_normaliser)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        return *_scaled(ctx.saved_tensors, gradients[0]), None, None, None


class _Consistent(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "2 N D"],
        table: Float[Tensor, "W D"],
        targets: Int[Tensor, " N"],
        smoothing: float,
        consistency: float,
        outputs: int,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        weight = table[:outputs]
        log_normalisers = table.new_empty(2, len(targets))
        hidden_gradient, table_gradient = torch.empty_like(hidden, dtype=table.dtype), torch.empty_like(table)
        weight_gradient, factor = table_gradient[:outputs], weight.to(hidden.dtype)
        rows = chunk_rows(outputs, hidden.shape[-1], hidden.dtype != table.dtype)
        rooms = table.new_empty(4, rows * outputs)
        pull = consistency / 2.0  # beside each reading's own loss, whose weight is one
        disagreement = table.new_zeros(())
        for first in range(0, len(targets), rows):
            pieces = hidden[:, first : first + rows]
            first_scores, second_scores, p, q = (
                room[: outputs * pieces.shape[1]].view(outputs, -1) for room in rooms
            )  # [V, n] each
            for piece, scores, probabilities, log_normaliser in zip(
                pieces, (first_scores, second_scores), (p, q), log_normalisers, strict=True
            ):
                multiply(factor, piece.T, scores)
                highest = scores.amax(dim=0)
                torch.exp(scores.sub_(highest), out=probabilities)
                total = probabilities.sum(dim=0)
                probabilities.div_(total)
                scores.sub_(total.log_())  # log p
                log_normaliser[first : first + rows] = highest + total
            difference = first_scores.sub_(second_scores)  # d = log p - log q
            torch.mul(p, difference, out=second_scores)
            p_from_q = second_scores.sum(dim=0)  # KL(p || q)
            torch.mul(q, difference, out=second_scores)
            q_from_p = second_scores.sum(dim=0).neg_()  # KL(q || p)
            disagreement += (p_from_q + q_from_p).sum()
            # p + pull (p (d - KL(p || q)) + p - q), and the same with p and q exchanged
            torch.add(1.0 + pull - pull * p_from_q, difference, alpha=pull, out=second_scores)
            second_scores.mul_(p).sub_(q, alpha=pull)
            difference.mul_(-pull).add_(1.0 + pull - pull * q_from_p).mul_(q).sub_(p, alpha=pull)
            for number, gradient in enumerate((second_scores, difference)):
                cast = gradient.to(hidden.dtype)
                hidden_gradient[number, first : first + rows] = cast.T @ factor
                add_product(weight_gradient, cast, pieces[number], first + number > 0)
        both, twice = hidden.flatten(0, 1).to(table.dtype), targets.repeat(2)
        _subtract_targets(both, weight, twice, smoothing, hidden_gradient.view_as(both), table_gradient)
        ctx.save_for_backward(hidden_gradient.div_(2.0).to(hidden.dtype), table_gradient.div_(2.0))
        loss, nll = _losses(both, weight, twice, smoothing, log_normalisers.flatten())
        ctx.mark_non_differentiable(nll)
        return (loss + pull * disagreement) / 2.0, nll / 2.0

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        return *_scaled(ctx.saved_tensors, gradients[0]), None, None, None, None


def chunk_rows(outputs: int, width: int, mixed: bool) -> int:
    """The tokens of a chunk. mixed: whether products are in bfloat16."""
    elements = WIDE_CHUNK_ELEMENTS if width >= WIDE else CHUNK_ELEMENTS * (MIXED_CHUNKS if mixed else 1)
    return max(CHUNK_ROWS, elements // outputs // CHUNK_ROWS * CHUNK_ROWS)


def multiply(a: Float[Tensor, "m k"], b: Float[Tensor, "k n"], result: Float[Tensor, "m n"]) -> None:
    """a b into `result`, whose type may be wider."""
    if result.dtype == a.dtype:
        torch.mm(a, b, out=result)
    else:
        result.copy_(a @ b)


def add_product(total: Float[Tensor, "m n"], a: Float[Tensor, "m k"], b: Float[Tensor, "k n"], more: bool) -> None:
    """Add a b to `total`, whose type may be wider. Without `more` it is overwritten."""
    if total.dtype == a.dtype:
        total.addmm_(a, b, beta=int(more))
    elif more:
        total.add_(a @ b)
    else:
        total.copy_(a @ b)


def _losses(
    hidden: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    log_normaliser: Float[Tensor, " N"],
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The smoothed loss and -log p(target), summed over the N tokens, given log sum_v exp z_v of each."""
    nll = (log_normaliser - (hidden * weight[targets]).sum(dim=1)).sum()
    uniform = (log_normaliser - hidden @ weight.sum(dim=0) / len(weight)).sum()  # mean_v(-log p_v) of each token
    return (1.0 - smoothing) * nll + smoothing * uniform, nll


def _subtract_targets(
    hidden: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    hidden_gradient: Float[Tensor, "N D"],  # of p, changed in place to that of p - (1 - e) onehot(y) - e / V
    table_gradient: Float[Tensor, "W D"],  # likewise
) -> None:
    outputs = len(weight)
    hidden_gradient.sub_(weight[targets], alpha=1.0 - smoothing).sub_(weight.sum(dim=0), alpha=smoothing / outputs)
    table_gradient[:outputs].index_add_(0, targets, hidden, alpha=smoothing - 1.0)
    table_gradient[:outputs].sub_(hidden.sum(dim=0), alpha=smoothing / outputs)
    table_gradient[outputs:].zero_()


def _scaled(saved: tuple[Tensor, Tensor], by: Tensor) -> tuple[Tensor, Tensor]:
    hidden_gradient, table_gradient = saved
    return (hidden_gradient, table_gradient) if by == 1.0 else (hidden_gradient * by, table_gradient * by)


def soft_cross_entropy(
    logits: Float[Tensor, "B L"], expected: Float[Tensor, "B L"], smoothing: float
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """-sum q log p over the outputs L with q = (1 - e) expected + e / L, and the same without smoothing; both summed over B."""
    log_p = logits.log_softmax(dim=-1)
    nll = -(expected * log_p).sum()
    return (1.0 - smoothing) * nll - smoothing * log_p.mean(dim=-1).sum(), nll.detach()
