"""Which pairs are held out for validation when no validation files are given.

A seeded 1 % of the usable pairs, at most 1,000 and at least one, found in one pass over the corpus with a bounded heap.
It knows nothing of files or tokenisers.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from regard.data.corpus import NumberedPair

FRACTION = 100  # one pair in so many
MOST = 1_000
LONGEST_PIECE = 16  # characters; sentencepiece's own limit, so that a line above it times max_length is surely too long


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The pairs that validate, by line, and how many there were to choose from."""

    pairs: tuple[NumberedPair, ...]
    usable: int


def hold_out(pairs: Iterable[tuple[str, str]], max_length: int, seed: int) -> HeldOut:
    """Draw the held-out pairs: each usable pair gets a random number, and the smallest numbers are taken."""
    generator = np.random.default_rng([seed, 0])
    heap: list[tuple[float, int, tuple[str, str]]] = []  # the largest number on top, so negated
    usable = 0
    for line, pair in enumerate(pairs, 1):
        if not all(is_usable(text, max_length) for text in pair):
            continue
        usable += 1
        entry = (-generator.random(), line, pair)
        if len(heap) < MOST:
            heapq.heappush(heap, entry)
        elif entry > heap[0]:
            heapq.heapreplace(heap, entry)
    wanted = min(MOST, max(1, usable // FRACTION))
    chosen = heapq.nlargest(wanted, heap)
    return HeldOut(tuple(sorted((line, pair) for _, line, pair in chosen)), usable)


def is_usable(text: str, max_length: int) -> bool:
    """Whether a text has something to translate and could fit into `max_length` tokens."""
    return len(text) <= LONGEST_PIECE * max_length and any(
        character.isprintable() and not character.isspace() for character in text
    )
