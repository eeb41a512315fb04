"""Perplexity from a sum of negative log-likelihoods, per token, word and byte. It knows no model."""

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


def text_perplexities(total_nll: float, *, tokens: int, words: int, size: int) -> dict[str, float]:
    """Of a text of so many tokens, words and bytes, by name. Tokens of different vocabularies cannot be compared; words and bytes can.

    Words are what white space separates; bytes are those of UTF-8, line ends among them. Line ends are predicted, so they cost, but are no
    words. bits_per_byte is the logarithm of perplexity_byte, to the base 2.
    """
    return {
        "perplexity": perplexity(total_nll, tokens),
        "perplexity_word": perplexity(total_nll, words),
        "perplexity_byte": perplexity(total_nll, size),
        "bits_per_byte": total_nll / size / math.log(2.0),
    }
