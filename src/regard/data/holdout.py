"""Which pairs are held out for validation when no validation files are given.

A seeded 1 % of the usable pairs, at most 1,000 and at least one, found in one pass over the corpus with a bounded heap.
It knows nothing of files or tokenisers.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from regard.data.encoding import NumberedPair

FRACTION = 100  # one pair in so many
MOST = 1_000
LONGEST_PIECE = 16  # characters; sentencepiece's own limit, so that a line above it times max_length is surely too long
_DRAWN = 10_000


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The pairs that validate, by line, and how many there were to choose from."""

    pairs: tuple[NumberedPair, ...]
    usable: int


def hold_out(pairs: Iterable[tuple[str, str]], max_length: int, seed: int) -> HeldOut:
    """Draw the held-out pairs: each usable pair gets a random number, and the smallest numbers are taken."""
    numbers = _random_numbers(seed)
    heap: list[tuple[float, int, tuple[str, str]]] = []  # the largest number on top, so negated
    usable = 0
    for line, pair in enumerate(pairs, 1):
        if not (is_usable(pair[0], max_length) and is_usable(pair[1], max_length)):
            continue
        usable += 1
        number = -next(numbers)
        if len(heap) < MOST:
            heapq.heappush(heap, (number, line, pair))
        elif number >= heap[0][0]:
            heapq.heappushpop(heap, (number, line, pair))
    wanted = min(MOST, max(1, usable // FRACTION))
    chosen = heapq.nlargest(wanted, heap)
    return HeldOut(tuple(sorted((line, pair) for _, line, pair in chosen)), usable)


def is_usable(text: str, max_length: int) -> bool:
    """Whether a text has something to translate and could fit into `max_length` tokens."""
    if len(text) > LONGEST_PIECE * max_length:
        return False
    if text.isprintable():  # nearly every text is, so the characters of few are looked at one by one
        return bool(text) and not text.isspace()
    return any(character.isprintable() and not character.isspace() for character in text)


def _random_numbers(seed: int) -> Iterator[float]:
    """Uniform numbers, drawn many at a time."""
    generator = np.random.default_rng([seed, 0])
    while True:
        yield from generator.random(_DRAWN).tolist()
