"""One answer of a search and the score that ranks it. It knows neither how it was found nor what its ids mean."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from regard.errors import SearchError
from regard.search.ranking import Ranking

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Proof:
    """What an exact search can say of its answer."""

    nodes: int
    """Partial outputs that were continued."""
    proved: bool
    """Whether no output is more probable; False: the search was ended by its limit of nodes."""


@dataclass(frozen=True)
class Hypothesis:
    """One output for one source."""

    tokens: tuple[int, ...]
    """What was said, without the end mark."""
    logprob: float
    """log p(tokens | source), the end mark included if finished."""
    score: float
    """`logprob` normalised by length: what hypotheses are ranked by."""
    finished: bool
    """Whether the model ended it; False: it was cut at the longest length allowed."""
    attention: "Tensor | None" = field(default=None, compare=False, repr=False)
    """Row t: where the model looked in the (padded) source while it chose token t, [len(tokens) + 1 if finished else len(tokens), S]."""
    token_logprobs: tuple[float, ...] | None = None
    """log p of each token and of the end mark, where the search asked for them one by one."""
    proof: Proof | None = None
    """Of an exact search."""


def make_hypothesis(
    tokens: Iterable[int],
    logprob: float,
    *,
    ranking: Ranking,
    finished: bool,
    attention: "Tensor | None" = None,
    covered: "Tensor | None" = None,
    token_logprobs: tuple[float, ...] | None = None,
) -> Hypothesis:
    """A hypothesis with its score; refuses what is not a number, which would win or lose every comparison at random.

    `covered` is the attention to the source tokens that a coverage penalty counts; it is not kept.
    """
    said = tuple(tokens)
    if math.isnan(logprob):
        raise SearchError("the model's logits are not numbers (NaN): its weights are damaged or its training diverged")
    score = ranking.score(logprob, len(said), covered)
    return Hypothesis(said, logprob, score, finished, attention, token_logprobs)


def best_first(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """By score, the finished before the unfinished; among equals, the one found first."""
    return sorted(hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
