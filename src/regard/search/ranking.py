"""The score that ranks hypotheses: log p(y|x) with length normalisation and coverage penalty.

Shapes: T target tokens (and the end mark), S source.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from regard.errors import SearchError
from regard.search.checks import check_alpha

if TYPE_CHECKING:
    from torch import Tensor

LengthForm = Literal["power", "wu"]
"""`power`: |y|^alpha. `wu`: ((5 + |y|) / 6)^alpha, which penalises short outputs less."""

LEAST_COVERAGE = 1e-6  # of a source token, so that the penalty of an uncovered one is finite


@dataclass(frozen=True)
class Ranking:
    """score(y) = log p(y|x) / length(y)^alpha + coverage * sum over source tokens i of log min(sum over t of attention[t, i], 1).

    The first term is the lectures' fix for longer hypotheses having lower scores (001, equation 1), or Wu et al. 2016, equation 14;
    the second is theirs too. |y| counts the tokens without the end mark (CTranslate2's convention), and an empty sentence as one.
    """

    alpha: float = 0.0
    form: LengthForm = "power"
    coverage: float = 0.0

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if self.form not in get_args(LengthForm):
            raise SearchError(f"length_form = {self.form!r}: must be {' or '.join(get_args(LengthForm))}")
        if not (math.isfinite(self.coverage) and self.coverage >= 0.0):
            raise SearchError(f"coverage = {self.coverage!r}: must be 0 (no penalty) or more; 0.2 is usual")

    def divisor(self, length: int) -> float:
        """The divisor of log p for an output of `length` tokens. It never falls as the length grows."""
        counted = max(1, length)
        return math.pow((5 + counted) / 6 if self.form == "wu" else counted, self.alpha)

    def score(self, logprob: float, length: int, attention: "Tensor | None" = None) -> float:
        """The score of an output. attention [T, S'], over the source tokens to cover, is needed only with a coverage penalty."""
        score = logprob / self.divisor(length)
        if self.coverage:
            assert attention is not None
            score += self.coverage * coverage_penalty(attention)
        return score


def coverage_penalty(attention: "Tensor") -> float:
    """The sum over source tokens of log min(attention received, 1), for attention [T, S']: 0 if all are covered."""
    received = attention.cpu().double().sum(dim=0).clamp(LEAST_COVERAGE, 1.0)
    return float(received.log().sum())
