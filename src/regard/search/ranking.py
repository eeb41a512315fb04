"""What hypotheses are ranked by: log p(y|x), divided by a power of the length, less what of the source was not looked at.

It knows no search.

Shapes: T target tokens (and the end mark), S source.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from regard.errors import SearchError
from regard.search.options import check_alpha

if TYPE_CHECKING:
    from torch import Tensor

LengthForm = Literal["power", "wu"]
"""`power`: |y|^alpha. `wu`: ((5 + |y|) / 6)^alpha, which is gentler to short outputs."""

LEAST_COVERAGE = 1e-6  # of a source token, so that one that nothing looks at costs much, and not everything


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
        """What log p of an output of so many tokens is divided by; it never falls as the length grows."""
        counted = max(1, length)
        return math.pow((5 + counted) / 6 if self.form == "wu" else counted, self.alpha)

    def score(self, logprob: float, length: int, attention: "Tensor | None" = None) -> float:
        """attention [T, S'], over the source tokens that are to be covered; only looked at where there is a coverage penalty."""
        score = logprob / self.divisor(length)
        if self.coverage:
            assert attention is not None
            score += self.coverage * coverage_penalty(attention)
        return score


def coverage_penalty(attention: "Tensor") -> float:
    """Of attention [T, S'] the sum over source tokens of log min(what it received, 1): 0 where all were looked at enough."""
    received = attention.cpu().double().sum(dim=0).clamp(LEAST_COVERAGE, 1.0)
    return float(received.log().sum())
