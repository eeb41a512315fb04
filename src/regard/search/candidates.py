"""The continuations that a step of a beam may choose from, and what it chose. It chooses nothing itself.

Shapes: b sentences still alive, k hypotheses each, c candidates, V tokens that can be generated.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 64  # tokens; measured best for vocabularies of thousands


@dataclass
class Candidates:
    """Continuations of the live hypotheses, the most probable first."""

    logprobs: Tensor  # [b, c], cumulative
    parents: Tensor  # [b, c], which of the k hypotheses each continues
    tokens: Tensor  # [b, c], by which token

    def take(self, order: Tensor) -> "Candidates":
        """Those at the indices [b, c']."""
        return Candidates(self.logprobs.gather(1, order), self.parents.gather(1, order), self.tokens.gather(1, order))


@dataclass
class Choice:
    """What became of the candidates of one step; those that neither finish nor go on are cut."""

    found: Candidates
    finishing: Tensor  # [b, <= c], True where a candidate ends and is set aside
    going: Tensor  # [b, k'], which candidates go on, the most probable first
    led: Tensor  # [b], whether the most probable of those that may end does end


def best_candidates(gains: Tensor, logprobs: Tensor, count: int) -> Candidates:
    """The `count` most probable of the k * V continuations: (gains [b, k, V], logprobs [b, k]) -> c = min(count, k * V) candidates.

    They are in the `count` blocks of tokens with the largest maxima, and a maximum is found much faster than the best of many: only
    those blocks, and what is left beside whole blocks, are searched. A hypothesis that nothing can follow gives NaN, which no selection
    must meet.
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


def _sums(logprobs: Tensor, gains: Tensor) -> Tensor:
    """logprobs [b, m] + gains [b, m, ..], without NaN."""
    totals = logprobs[..., None] + gains.to(logprobs.dtype)
    return totals.masked_fill_(totals.isnan(), -torch.inf)


def choose_best(gains: Tensor, logprobs: Tensor, width: int, going_on: int, end_token: int) -> Choice:
    """The rule of an ordinary beam: of the 2k most probable those among the first k that end finish, the first k that do not go on.

    gains [b, k, V], logprobs [b, k]; `going_on` says how many go on, where that is fewer than the width.
    """
    found = best_candidates(gains, logprobs, 2 * width)
    ending = found.tokens == end_token
    finishing = ending[:, :width] & (found.logprobs[:, :width] > -torch.inf)
    # A stable sort puts those that do not end in front, in order. All sentences have equally many.
    going = ending.to(torch.uint8).argsort(dim=1, stable=True)[
        :, : min(going_on, gains.shape[1] * (gains.shape[2] - 1))
    ]
    return Choice(found, finishing, going, finishing[:, 0])
