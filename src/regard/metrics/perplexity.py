"""Perplexity from a sum of negative log-likelihoods. It knows no model."""

import math

from regard.errors import DataError


def perplexity(total_nll: float, tokens: int) -> float:
    """exp(-1/N sum log p(token)), with natural logarithms: the number of tokens that the model hesitates between, on average.

    Beyond the range of floats it is infinite.
    """
    if tokens < 1:
        raise DataError(f"perplexity of {tokens} tokens: there is nothing to average over")
    try:
        return math.exp(total_nll / tokens)
    except OverflowError:
        return math.inf
