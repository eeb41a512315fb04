"""`ForcedScore`: the score of a given output, by teacher forcing."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class ForcedScore:
    """The log-probability and score of a given target."""

    logprob: float
    """log p(target | source), the end mark included."""
    score: float
    """`logprob` / |tokens|^alpha."""
    tokens: int
    """The number of the target's tokens, without the end mark."""
    token_logprobs: list[float]
    """log p of each piece and then of the end mark."""
    truncated: bool = False
    """Whether a side was truncated. A truncated target is scored without end mark."""

    @property
    def perplexity(self) -> float:
        """The perplexity per token: exp(-logprob / number of predictions), the end mark included."""
        rate = -self.logprob / max(1, len(self.token_logprobs))
        return math.exp(rate) if rate < 700.0 else math.inf
