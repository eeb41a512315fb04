"""Words of a text as the checks compare them: without case and punctuation."""

import re

WORD = re.compile(r"[^\W\d_]+")
NUMBER = re.compile(r"\d+(?:[.,:/\u00a0\u202f]\d+)*")
_SEPARATORS = re.compile(r"[.,\u00a0\u202f]")


def words(text: str) -> list[str]:
    """The words of a text in lower case. "L'homme" has two."""
    return [word.lower() for word in WORD.findall(text)]


def numbers(text: str) -> list[str]:
    """The numbers of a text in digits, without the separators of thousands and decimals, which languages write differently."""
    return [_SEPARATORS.sub("", number) for number in NUMBER.findall(text)]


def ngrams(tokens: list[str], size: int) -> list[tuple[str, ...]]:
    """All runs of `size` words."""
    return [tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1)]
