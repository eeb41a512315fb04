"""One answer of a search and the score that ranks it. It knows neither how it was found nor what its ids mean."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from regard.errors import SearchError

if TYPE_CHECKING:
    from torch import Tensor


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


def make_hypothesis(
    tokens: Iterable[int],
    logprob: float,
    *,
    alpha: float,
    finished: bool,
    attention: "Tensor | None" = None,
    token_logprobs: tuple[float, ...] | None = None,
) -> Hypothesis:
    """A hypothesis with its score; refuses what is not a number, which would win or lose every comparison at random."""
    said = tuple(tokens)
    if math.isnan(logprob):
        raise SearchError("the model's logits are not numbers (NaN): its weights are damaged or its training diverged")
    return Hypothesis(said, logprob, normalised(logprob, len(said), alpha), finished, attention, token_logprobs)


def normalised(logprob: float, length: int, alpha: float) -> float:
    """score(y) = log p(y|x) / |y|^alpha, the lectures' fix for longer hypotheses having lower scores (001, equation 1).

    |y| counts the tokens without the end mark (CTranslate2's convention), and an empty sentence as one.
    """
    return logprob / math.pow(max(1, length), alpha)


def best_first(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """By score, the finished before the unfinished; among equals, the one found first."""
    return sorted(hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
