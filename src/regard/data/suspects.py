"""Finds pairs that look swapped or misaligned, from statistics of the corpus itself. No model and no word list is needed.

Swapped: character trigrams are counted on each side. The source of a swapped pair looks like the target side, and its
target like the source side.

Misaligned: the words of a pair that belongs together predict each other (`data.cooccurrence`). Targets that are put
together with other sources of similar length show how well words of unrelated sentences do. A pair is suspect if its score
is like theirs and far below those of the other pairs. With a model, the score is how much more probable the target is given
its source than given another one.

A pair's own counts are subtracted before it is judged. It reads no files.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from regard.data.cooccurrence import Cooccurrence
from regard.data.readers import Pair
from regard.data.trigrams import CharacterCounts, Values

FEWEST, FEWEST_WORDS = 200, 2_000  # pairs; fewer tell too little, of characters or of words
BLOCK = 2_000  # pairs that are judged at once
SWAP_EVIDENCE = 10.0  # nats by which a swapped pair fits the other order better
TELLING = 0.5  # share of the pairs that must be in order, or else the statistics cannot tell
MOST_RANDOM = 20_000  # random pairs for comparison
GROUPS, GROUP_PAIRS = 10, 200  # groups of similar length, each judged by itself, and the fewest pairs of one
RANDOM_SHARE = 0.6  # of the random pairs have lower scores than a suspect may have
DEVIATIONS = 3.0  # a suspect is so many standard deviations below the median of the pairs in order

SHIFTS = (1, -1, 2, -2, 3, -3)  # lines by which the targets may be too late
SHIFT_PAIRS = 4_000  # pairs by which a shift is judged

Flags = NDArray[np.bool_]
PairScorer = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
"""(sources, targets) -> how well each target fits its source, such as a translator's log-probability per token."""


@dataclass(frozen=True)
class Suspects:
    """[N] whether each pair is suspect; None if the statistics cannot tell."""

    swapped: Flags | None = None
    misaligned: Flags | None = None
    unlikely: Flags | None = None  # misaligned by the scores of a model
    shift: int | None = None  # target n + shift belongs to source n; None: no such shift, or the pairs are in order


def find_suspects(
    pairs: Callable[[], Iterator[Pair]], count: int, links: int, model: PairScorer | None = None
) -> Suspects:
    """Judge `count` pairs, which can be read more than once. `links`: the sum of source words times target words."""
    if count < FEWEST:
        return Suspects()
    characters, words = CharacterCounts(), Cooccurrence(links)
    for first, sources, targets in _blocks(pairs()):
        characters.add(sources, targets)
        words.add(first, sources, targets)
    words.finish()
    fits: list[Values] = []
    by_words, by_model = Evidence(), Evidence()
    for first, sources, targets in _blocks(pairs()):
        fits.append(characters.fit(sources, targets))
        others, random = similar_texts(sources), len(by_words.random) < MOST_RANDOM
        by_words.add(sources, targets, words.score(sources, targets, first))
        if random:
            by_words.add_random(others, targets, words.score(others, targets))
        if model is not None:  # how much the source helps: difficult targets have low scores whatever their source
            unrelated = np.asarray(model(others, targets))
            by_model.add(sources, targets, np.asarray(model(sources, targets)) - unrelated)
            if random:
                further = similar_texts(sources, 2)
                by_model.add_random(further, targets, np.asarray(model(further, targets)) - unrelated)
    swapped = swapped_pairs(np.concatenate(fits, axis=1))
    misaligned = by_words.misaligned(swapped) if count >= FEWEST_WORDS else None
    return Suspects(
        swapped,
        misaligned,
        None if model is None else by_model.misaligned(swapped),
        find_shift(pairs()) if misaligned is None and count >= FEWEST_WORDS else None,
    )


def find_shift(pairs: Iterator[Pair]) -> int | None:
    """The shift by which most of the first pairs belong together; None if there is none."""
    sources, targets = zip(*islice(pairs, SHIFT_PAIRS), strict=True)
    for shift in SHIFTS:
        left = sources[max(0, -shift) : len(sources) - max(0, shift)]
        right = targets[max(0, shift) : len(targets) - max(0, -shift)]
        words, evidence = Cooccurrence(0), Evidence()  # so few pairs are all counted
        words.add(0, left, right)
        words.finish()
        others = similar_texts(left)
        evidence.add(left, right, words.score(left, right, 0))
        evidence.add_random(others, right, words.score(others, right))
        if evidence.misaligned() is not None:
            return shift
    return None


def _blocks(pairs: Iterator[Pair]) -> Iterator[tuple[int, list[str], list[str]]]:
    """(number of the first pair, sources, targets) of each block."""
    first = 0
    while block := list(islice(pairs, BLOCK)):
        yield first, [source for source, _ in block], [target for _, target in block]
        first += len(block)


def similar_texts(texts: Sequence[str], distance: int = 1) -> list[str]:
    """For each text another one of similar length: the next in the order of length, or one further away."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    others = [""] * len(texts)
    for place, neighbour in zip(order, [*order[distance:], *order[:distance]], strict=True):
        others[place] = texts[neighbour]
    return others


def swapped_pairs(fits: Values) -> Flags | None:
    """The pairs of which each side fits the other side better; None if the characters of the sides hardly differ."""
    in_order = (fits > 0).all(axis=0)
    if in_order.mean() < TELLING:
        return None
    return np.asarray((fits < 0).all(axis=0) & (fits.sum(axis=0) < -SWAP_EVIDENCE))


class Evidence:
    """Scores of the pairs of a corpus, and of random pairs for comparison."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.random: list[float] = []
        self._sizes: list[int] = []
        self._random_sizes: list[int] = []

    def add(self, sources: Sequence[str], targets: Sequence[str], scores: Sequence[float] | Values) -> None:
        self.scores += list(scores)
        self._sizes += _sizes(sources, targets)

    def add_random(self, sources: Sequence[str], targets: Sequence[str], scores: Sequence[float] | Values) -> None:
        self.random += list(scores)
        self._random_sizes += _sizes(sources, targets)

    def misaligned(self, except_for: Flags | None = None) -> Flags | None:
        """The pairs with scores of random pairs; None if the scores of most pairs are no better than those."""
        scores, random = np.array(self.scores), np.array(self.random)
        sizes, random_sizes = np.array(self._sizes), np.array(self._random_sizes)
        groups = max(1, min(GROUPS, len(random) // GROUP_PAIRS))
        cuts = np.quantile(random_sizes, np.arange(1, groups) / groups)
        group_of, random_group_of = np.searchsorted(cuts, sizes), np.searchsorted(cuts, random_sizes)
        suspect, in_order = np.zeros(len(scores), dtype=bool), 0
        for group in range(groups):
            own, others = scores[group_of == group], random[random_group_of == group]
            if not len(own) or not len(others):
                continue
            good = own[own > np.quantile(others, 0.95)]
            in_order += len(good)
            if not len(good):
                continue
            deviation = 1.4826 * np.median(np.abs(good - np.median(good)))
            limit = min(np.quantile(others, RANDOM_SHARE), np.median(good) - DEVIATIONS * deviation)
            suspect[group_of == group] = own < limit
        if in_order < TELLING * len(scores):
            return None
        return suspect if except_for is None else suspect & ~except_for


def _sizes(sources: Sequence[str], targets: Sequence[str]) -> list[int]:
    return [len(source) + len(target) for source, target in zip(sources, targets, strict=False)]
