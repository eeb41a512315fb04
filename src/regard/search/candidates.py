"""The continuations that a step of a beam may choose from, and what it chose. It chooses nothing itself.

Shapes: b sentences still alive, k hypotheses each, c candidates, V tokens that can be generated.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


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

    They are among the `count` best of each hypothesis, so only k * count sums are made. A hypothesis that nothing can follow gives NaN,
    which the first selection carries along and the second must not meet.
    """
    best, tokens = gains.topk(min(count, gains.shape[-1]), dim=-1, sorted=False)  # [b, k, m]
    totals = logprobs[..., None] + best.to(logprobs.dtype)
    totals = totals.masked_fill(totals.isnan(), -torch.inf).flatten(1)
    chosen, flat = totals.topk(min(count, totals.shape[1]), dim=1)
    return Candidates(chosen, flat // best.shape[-1], tokens.flatten(1).gather(1, flat))


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
