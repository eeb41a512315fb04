"""`Hypothesis`: one output of a search, with its score."""

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
    """How far an exact search has proved its answer."""

    nodes: int
    """The number of expanded partial outputs."""
    proved: bool
    """Whether no output is more probable; False: the search reached its node limit."""

    def __str__(self) -> str:
        verdict = "most probable of all" if self.proved else "not proved to be the most probable"
        return f"{verdict}, {self.nodes} nodes"


@dataclass(frozen=True)
class Hypothesis:
    """One output for one source."""

    tokens: tuple[int, ...]
    """The output, without the end mark."""
    logprob: float
    """log p(tokens | source), the end mark included if finished."""
    score: float
    """The score that ranks hypotheses: `logprob` normalised by length."""
    finished: bool
    """Whether the model ended it; False: it was cut at the maximum length."""
    attention: "Tensor | None" = field(default=None, compare=False, repr=False)
    """[T, S]: row t is the attention to the (padded) source while token t was chosen. T is len(tokens), plus 1 if finished."""
    token_logprobs: tuple[float, ...] | None = None
    """log p of each token and of the end mark; None if the search does not record them."""
    proof: Proof | None = None
    """The proof of an exact search."""
    timed_out: bool = False
    """Whether the time limit ended the search of its sentence: a longer search may find a better output."""


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
    """A hypothesis with its score. Raises an error for NaN, which would break the ranking.

    covered: the attention to the source tokens that the coverage penalty counts; it is not stored.
    """
    output = tuple(tokens)
    if math.isnan(logprob):
        raise SearchError("the model's logits are not numbers (NaN): its weights are damaged or its training diverged")
    score = ranking.score(logprob, len(output), covered)
    return Hypothesis(output, logprob, score, finished, attention, token_logprobs)


def best_first(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Sort by score, finished hypotheses first; ties keep their order."""
    return sorted(hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
