"""The distribution of a pointer-generator network: a mixture of the vocabulary and of the pieces of the source (See et al. 2017).

    p(y) = g softmax(z)_y + (1 - g) c_y,    c_y = sum of a_s over the places s of the source that hold the piece y

with logits z, attention a over the places of the source, and g = sigmoid(u), the gate. Source and target have one vocabulary. Everything
is computed from logarithms, since a probability may be smaller than the smallest number. `copied_cross_entropy` is the loss.

The c of a sentence are kept in slots, one for each place of its source: the first place that holds a piece has the sum of all such
places, and the others, as padding, have none. A slot that has none names pad, which is no output.

Shapes: B sentences, T target tokens, S source places or slots, N target tokens of a batch, D width, V outputs, W >= V rows of the table,
n tokens of a chunk.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.ops.loss import add_product, chunk_rows, multiply


def first_places(ids: Int[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """The first place of a sentence that holds the same piece as each place."""
    return (ids[:, :, None] == ids[:, None, :]).to(torch.uint8).argmax(dim=2)


def slot_pieces(ids: Int[Tensor, "B S"], first: Int[Tensor, "B S"], pad: int) -> Int[Tensor, "B S"]:
    """The piece of each slot; pad where it has none. first: `first_places`."""
    places = torch.arange(ids.shape[1], device=ids.device)
    return ids.masked_fill(first != places, pad)


def slot_shares(weights: Float[Tensor, "B T S"], first: Int[Tensor, "B S"]) -> Float[Tensor, "B T S"]:
    """c: the attention to all places of each slot's piece."""
    return torch.zeros_like(weights).scatter_add(2, first[:, None].expand_as(weights), weights)


def copied_mixture(
    logits: Float[Tensor, "*rows V"],
    gate: Float[Tensor, "*rows"],  # u: its logits
    shares: Float[Tensor, "*rows S"],
    pieces: Int[Tensor, "*rows S"],
) -> Float[Tensor, "*rows V"]:
    """log p of every output."""
    pointing = F.logsigmoid(-gate)[..., None] + shares.clamp_min(torch.finfo(shares.dtype).tiny).log()
    chosen = F.logsigmoid(gate)[..., None] + logits.log_softmax(dim=-1)
    room = F.pad(chosen, (0, 1))  # a column for slots without a piece
    both = torch.logaddexp(room.gather(-1, pieces), pointing)
    return room.scatter(-1, pieces, both)[..., :-1]


def copied_cross_entropy(
    hidden: Float[Tensor, "N D"],
    table: Float[Tensor, "W D"],  # whose first V rows are the weights of the outputs
    gate: Float[Tensor, " N"],
    shares: Float[Tensor, "N S"],
    pieces: Int[Tensor, "N S"],
    targets: Int[Tensor, " N"],
    smoothing: float,
    outputs: int | None = None,  # V, where it is not W
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """`ops.loss.smoothed_cross_entropy` of the mixture p, chunk by chunk: the logits of a whole batch never exist at once.

    With q = softmax(z), r_v = g q_v / p_v and the expected w = (1 - e) onehot(y) + e / V, the loss -sum_v w_v log p_v has the gradients
    s q - w r in z with s = sum_v w_v r_v, g - s in u, and -w_v (1 - g) / p_v in c_v. r_v is 1 for every piece that is not in the source.
    """
    assert len(targets) > 0, "a loss over no tokens"
    with torch.autocast(hidden.device.type, enabled=False):
        loss, nll = _Copied.apply(  # type: ignore[no-untyped-call]
            hidden, table, gate, shares, pieces, targets, smoothing, outputs or len(table)
        )
    return loss, nll


class _Copied(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "N D"],
        table: Float[Tensor, "W D"],
        gate: Float[Tensor, " N"],
        shares: Float[Tensor, "N S"],
        pieces: Int[Tensor, "N S"],
        targets: Int[Tensor, " N"],
        smoothing: float,
        outputs: int,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        weight, wanted = table[:outputs], any(ctx.needs_input_grad[:4])
        hidden_gradient, table_gradient = torch.empty_like(hidden, dtype=table.dtype), torch.zeros_like(table)
        gate_gradient, share_gradient = torch.empty_like(gate), torch.empty_like(shares)
        factor, each = weight.to(hidden.dtype), smoothing / outputs
        log_use, log_point = F.logsigmoid(gate), F.logsigmoid(-gate)
        loss, nll = table.new_zeros(()), table.new_zeros(())
        rows = chunk_rows(outputs, hidden.shape[-1], hidden.dtype != table.dtype)
        room = table.new_empty(rows * outputs)
        for first in range(0, len(targets), rows):
            part = slice(first, first + rows)
            piece, target, own = hidden[part], targets[part, None], shares[part]
            empty = pieces[part] >= outputs
            slots = torch.cat([pieces[part].masked_fill(empty, 0), target], dim=1).T  # [S + 1, n]: the last is y
            share = torch.cat([own.masked_fill(empty, 0.0), _share_of(target, pieces[part], own)], dim=1).T
            scores = room[: outputs * len(piece)].view(outputs, -1)  # [V, n]: the products are faster in this layout
            multiply(factor, piece.T, scores)
            scores.sub_(scores.amax(dim=0))
            here, total = scores.gather(0, slots), scores.sum(dim=0)
            scores.exp_()
            normaliser = scores.sum(dim=0)
            log_normaliser = normaliser.log()
            chosen = log_use[part] + here - log_normaliser  # log(g q) of the slots
            pointed = log_point[part] + share.log()
            log_p = torch.logaddexp(chosen, pointed)
            nll_rows, gain = -log_p[-1], (log_p - chosen)[:-1].masked_fill(empty.T, 0.0)
            uniform = -(log_use[part] - log_normaliser) - (total + gain.sum(dim=0)) / outputs  # mean_v(-log p_v)
            loss += ((1.0 - smoothing) * nll_rows + smoothing * uniform).sum()
            nll += nll_rows.sum()
            if not wanted:
                continue
            copied = (pointed - log_p).exp()  # 1 - r of the slots
            expected = torch.full_like(copied, each)
            expected[-1] = 1.0 - smoothing
            moved = (expected * copied).masked_fill_(torch.cat([empty, empty.new_zeros(len(piece), 1)], dim=1).T, 0.0)
            scale = 1.0 - moved.sum(dim=0)  # s
            gate_gradient[part] = gate[part].sigmoid() - scale
            share_gradient[part] = _of_shares(moved, share, slots, empty)
            scores.mul_(scale / normaliser).sub_(each)  # s q - w, and then the part of w r that is missing
            scores.scatter_add_(0, slots, moved)
            scores.scatter_add_(0, slots[-1:], torch.full_like(moved[-1:], smoothing - 1.0))
            cast = scores.to(hidden.dtype)
            hidden_gradient[part] = cast.T @ factor
            add_product(table_gradient[:outputs], cast, piece, first > 0)
        if wanted:
            ctx.save_for_backward(hidden_gradient.to(hidden.dtype), table_gradient, gate_gradient, share_gradient)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        by = gradients[0]
        saved = ctx.saved_tensors if by == 1.0 else tuple(gradient * by for gradient in ctx.saved_tensors)
        return *saved, None, None, None, None


def _share_of(
    target: Int[Tensor, "n 1"], pieces: Int[Tensor, "n S"], shares: Float[Tensor, "n S"]
) -> Float[Tensor, "n 1"]:
    """c of the target: 0 if it is not in the source."""
    return shares.masked_fill(pieces != target, 0.0).sum(dim=1, keepdim=True)


def _of_shares(
    moved: Float[Tensor, "slots n"],  # w (1 - r) of the slots, and last of the target
    share: Float[Tensor, "slots n"],
    slots: Int[Tensor, "slots n"],
    empty: Tensor,
) -> Float[Tensor, "n S"]:
    """The gradient in c: -w (1 - r) / c of the slots. The target's part goes to the slot that holds it."""
    own = moved[:-1] + moved[-1:].masked_fill(slots[:-1] != slots[-1:], 0.0)
    pointless = empty.T | (
        share[:-1] < torch.finfo(share.dtype).tiny
    )  # a subnormal share: its gradient would be infinite
    return (-own / share[:-1]).masked_fill_(pointless, 0.0).T
