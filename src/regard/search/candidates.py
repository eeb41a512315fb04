"""The candidates of a beam step, and the choice of those that finish or continue.

Shapes: b active sentences, k hypotheses each, c candidates, V outputs.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 64  # tokens; measured best for vocabularies of thousands
FEW_VALUES = 1 << 14  # logits of all rows; below them one maximum with its index is faster than several operations


@dataclass
class Candidates:
    """Continuations of the live hypotheses, the most probable first."""

    logprobs: Tensor  # [b, c], cumulative
    parents: Tensor  # [b, c], which of the k hypotheses each continues
    tokens: Tensor  # [b, c], by which token

    def take(self, order: Tensor) -> "Candidates":
        """The candidates at the indices [b, c']."""
        return Candidates(self.logprobs.gather(1, order), self.parents.gather(1, order), self.tokens.gather(1, order))


@dataclass
class Choice:
    """The candidates of one step, and which of them finish or continue. The others are pruned."""

    candidates: Candidates
    finishing: Tensor  # [b, <= c], True where a candidate ends and is finished
    going: Tensor  # [b, k'], the candidates that continue, the most probable first
    led: Tensor  # [b], whether the most probable of those that may end does end


def best_candidates(gains: Tensor, logprobs: Tensor, count: int) -> Candidates:
    """The `count` most probable of the k * V continuations: (gains [b, k, V], logprobs [b, k]) -> c = min(count, k * V) candidates.

    They are in the `count` blocks of tokens with the largest maxima, and a maximum is much faster than a top-k. So only those blocks, and
    the tokens after the last whole block, are searched. A hypothesis without possible continuations gives NaN, which is replaced.
    """
    sentences, hypotheses, outputs = gains.shape
    blocks = outputs // BLOCK  # whole ones, n
    if hypotheses * blocks <= count:
        totals = _sums(logprobs, gains).flatten(1)
        chosen, flat = totals.topk(min(count, totals.shape[1]), dim=1)
        return Candidates(chosen, flat // outputs, flat % outputs)
    whole = gains[..., : blocks * BLOCK].view(sentences, hypotheses, blocks, BLOCK)
    rest = gains[..., blocks * BLOCK :]
    largest = _sums(logprobs, whole.amax(dim=-1)).flatten(1)  # [b, k * n]
    best = largest.topk(count, dim=1, sorted=False).indices
    parents, numbers = best // blocks, best % blocks  # [b, count], whose block, and which
    rows = torch.arange(sentences, device=gains.device)[:, None]
    inside = _sums(logprobs.gather(1, parents), whole[rows, parents, numbers])  # [b, count, BLOCK]
    chosen, flat = torch.cat([inside.flatten(1), _sums(logprobs, rest).flatten(1)], dim=1).topk(count, dim=1)
    block = (flat // BLOCK).clamp(max=count - 1)
    beside = flat - count * BLOCK  # at least 0 where it is in no whole block
    left = max(1, rest.shape[-1])
    return Candidates(
        chosen,
        torch.where(beside < 0, parents.gather(1, block), beside // left),
        torch.where(beside < 0, numbers.gather(1, block) * BLOCK + flat % BLOCK, blocks * BLOCK + beside % left),
    )


def most_probable(gains: Tensor) -> tuple[Tensor, Tensor]:
    """The largest value of each row and its token, the first of equals: gains [b, V] -> [b], [b].

    A maximum with its index takes three times as long as one without. So the index is searched for only in the best block of tokens.
    """
    rows, outputs = gains.shape
    blocks = outputs // BLOCK
    rest = gains[:, blocks * BLOCK :]
    if not blocks or rows * outputs < FEW_VALUES:
        values, tokens = gains.max(dim=-1)
        return values, tokens
    whole = gains[:, : blocks * BLOCK].view(rows, blocks, BLOCK)
    number = whole.amax(dim=-1).argmax(dim=-1)  # [b]
    values, places = whole[torch.arange(rows, device=gains.device), number].max(dim=-1)
    tokens = number * BLOCK + places
    if rest.shape[1]:
        others, beside = rest.max(dim=-1)
        later = (others > values) | (others.isnan() & ~values.isnan())  # NaN is the largest, as in torch's max
        values, tokens = torch.where(later, others, values), torch.where(later, blocks * BLOCK + beside, tokens)
    return values, tokens


def _sums(logprobs: Tensor, gains: Tensor) -> Tensor:
    """logprobs [b, m] + gains [b, m, ..], without NaN."""
    totals = logprobs[..., None] + gains.to(logprobs.dtype)
    return totals.masked_fill_(totals.isnan(), -torch.inf)


def choose_best(gains: Tensor, logprobs: Tensor, width: int, going_on: int, end_token: int) -> Choice:
    """The choice of an unconstrained beam among the 2k most probable: the first k that do not end continue, and those that end finish
    if they are among the first k.

    gains [b, k, V], logprobs [b, k]; going_on: how many continue, at most the width.
    """
    candidates = best_candidates(gains, logprobs, 2 * width)
    ending = candidates.tokens == end_token
    finishing = ending[:, :width] & (candidates.logprobs[:, :width] > -torch.inf)
    # A stable sort puts the candidates that do not end first. All sentences have the same number of them.
    going = ending.to(torch.uint8).argsort(dim=1, stable=True)[
        :, : min(going_on, gains.shape[1] * (gains.shape[2] - 1))
    ]
    return Choice(candidates, finishing, going, finishing[:, 0])
