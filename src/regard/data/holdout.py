"""Chooses the pairs that are held out for validation when no validation files are given.

A random 1 % of the usable pairs, at most 1,000 and at least one, drawn in one pass over the corpus with a bounded heap.
It knows no files and no tokenisers.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from regard.data.encoding import NumberedPair

FRACTION = 100  # one pair in 100 is held out
MOST = 1_000
LONGEST_PIECE = 16  # characters of a piece, sentencepiece's limit: a longer line than this times max_length is too long
_DRAWN = 10_000


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The held-out pairs with their line numbers, and the number of usable pairs."""

    pairs: tuple[NumberedPair, ...]
    usable: int


def hold_out(pairs: Iterable[tuple[str, str]], max_length: int, seed: int) -> HeldOut:
    """Draw the held-out pairs: every usable pair gets a random number, and the smallest numbers win."""
    numbers = _random_numbers(seed)
    heap: list[tuple[float, int, tuple[str, str]]] = []  # negated numbers, so that the largest is on top
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
    """Whether a text is not blank and could fit into `max_length` tokens."""
    if len(text) > LONGEST_PIECE * max_length:
        return False
    if text.isprintable():  # true of nearly every text, and fast to test
        return bool(text) and not text.isspace()
    return any(character.isprintable() and not character.isspace() for character in text)


def _random_numbers(seed: int) -> Iterator[float]:
    """An endless stream of uniform random numbers."""
    generator = np.random.default_rng([seed, 0])
    while True:
        yield from generator.random(_DRAWN).tolist()
