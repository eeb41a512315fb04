"""Translators that need no model: the same text, the words reversed, and random ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Said:
    """A translation with its links."""

    text: str
    alignment: Sequence[tuple[int, int]]


def same(texts: list[str]) -> list[Said]:
    """Every text as it is."""
    return [Said(text, [(place, place) for place in range(len(text.split()))]) for text in texts]


def capitals(texts: list[str]) -> list[Said]:
    """Every text in capital letters, word for word."""
    return [Said(one.text.upper(), one.alignment) for one in same(texts)]


def reversed_words(texts: list[str]) -> list[Said]:
    """The words in capitals, the last one first."""
    results = []
    for text in texts:
        words = text.upper().split()
        links = [(place, len(words) - 1 - place) for place in range(len(words))]
        results.append(Said(" ".join(reversed(words)), links))
    return results


def random_words(texts: list[str], seed: int = 0) -> list[Said]:
    """Other words, fewer or more, with random links, some of them to words that are not there."""
    generator, results = Random(seed), []
    for text in texts:
        count = generator.randrange(1, 2 * len(text.split()) + 2)
        words = [
            generator.choice(["alpha", "beta,", "(gamma)", "d'or", "!", "42", "<e>", "&", "*f*", "]("])
            for _ in range(count)
        ]
        links = [(generator.randrange(9), generator.randrange(9)) for _ in range(generator.randrange(12))]
        results.append(Said(" ".join(words), links))
    return results
