"""Perplexity from a sum of negative log-likelihoods, per token, word and byte. It knows no model."""

import math

from regard.errors import DataError


def perplexity(total_nll: float, tokens: int) -> float:
    """exp(total_nll / tokens); infinite beyond the range of floats."""
    if tokens < 1:
        raise DataError(f"perplexity of {tokens} tokens: there is nothing to average over")
    try:
        return math.exp(total_nll / tokens)
    except OverflowError:
        return math.inf


def text_perplexities(total_nll: float, *, tokens: int, words: int, size: int) -> dict[str, float]:
    """Perplexity per token, per word and per byte, and bits per byte, by name.

    Models with different vocabularies can be compared per word and per byte, not per token. White space separates words. `size` is the
    number of bytes of UTF-8, line ends included. bits_per_byte = log2(perplexity_byte).
    """
    return {
        "perplexity": perplexity(total_nll, tokens),
        "perplexity_word": perplexity(total_nll, words),
        "perplexity_byte": perplexity(total_nll, size),
        "bits_per_byte": total_nll / size / math.log(2.0),
    }
