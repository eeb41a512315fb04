"""Counts which words of one side occur with which words of the other, and scores pairs by it.

The score of a word is the log of the factor by which the best word of the other side makes it more probable than it is
in the whole corpus; the score of a pair is the mean of its words, of both sides. It reads no files.

Shapes: P pairs of sentences, L links (a source word with a target word of the same pair).
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_WORDS = 40  # words of a sentence that are looked at
MOST_LINKS = 10_000_000  # links that are counted; of a larger corpus every k-th pair is
SMOOTHING = 1.0  # pairs' worth of evidence for no association
UNKNOWN = -1

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")  # CJK has no spaces

Integers = NDArray[np.int64]


class _Words(NamedTuple):
    """The distinct words of several sentences, concatenated, and the number of them in each."""

    ids: Integers
    lengths: Integers


class Cooccurrence:
    """Counts of words and links. `add` all pairs, then `finish`, then `score`."""

    def __init__(self, links: int) -> None:
        """`links`: about as many as the corpus has."""
        self._stride = 1 + links // MOST_LINKS
        self._vocabularies: tuple[dict[str, int], dict[str, int]] = {}, {}
        self._words: tuple[list[Integers], list[Integers]] = [], []
        self._links: list[Integers] = []
        self._pairs = 0

    def add(self, first: int, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Count pairs; `first` is the number of the first of them."""
        chosen = [place for place in range(len(sources)) if (first + place) % self._stride == 0]
        source = self._read(0, [sources[place] for place in chosen], learn=True)
        target = self._read(1, [targets[place] for place in chosen], learn=True)
        left, right, _ = _linked(source, target)
        self._links.append(_keys(source.ids[left], target.ids[right]))
        self._words[0].append(source.ids)
        self._words[1].append(target.ids)
        self._pairs += len(chosen)

    def finish(self) -> None:
        """Add up what was counted."""
        self._keys, self._counts = np.unique(np.concatenate(self._links), return_counts=True)
        self._occurrences = [
            np.bincount(np.concatenate(words), minlength=len(vocabulary) + 1)
            for words, vocabulary in zip(self._words, self._vocabularies, strict=True)
        ]
        self._links, self._words = [], ([], [])

    def score(self, sources: Sequence[str], targets: Sequence[str], first: int | None = None) -> NDArray[np.float64]:
        """[P] how well the words of each pair predict each other.

        first: the number of the first pair, if the pairs were counted: then their own counts are subtracted.
        """
        source, target = self._read(0, sources), self._read(1, targets)
        left, right, pair = _linked(source, target)
        own = np.zeros(len(sources), dtype=np.int64)
        if first is not None:
            own[(first + np.arange(len(sources))) % self._stride == 0] = 1
        together = np.maximum(0, self._together(_keys(source.ids[left], target.ids[right])) - own[pair])
        totals = np.zeros(len(sources))
        for side, words, places, other, other_places in (
            (0, source, left, target, right),
            (1, target, right, source, left),
        ):
            count = np.maximum(0, self._occurrences[side][words.ids[places]] - own[pair])
            other_count = np.maximum(0, self._occurrences[1 - side][other.ids[other_places]] - own[pair])
            prior = np.maximum(0.5, count) / max(1, self._pairs)
            gain = np.log((together + SMOOTHING * prior) / (other_count + SMOOTHING) / prior)
            best = np.full(len(words.ids), -np.inf)
            np.maximum.at(best, places, gain)
            best[np.isinf(best)] = 0.0  # the other side has no words
            totals += np.bincount(np.repeat(np.arange(len(sources)), words.lengths), best, len(sources))
        return np.asarray(totals / np.maximum(1, source.lengths + target.lengths))

    def _together(self, keys: Integers) -> Integers:
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._counts[places], 0) if len(self._keys) else np.zeros_like(keys)

    def _read(self, side: int, texts: Sequence[str], learn: bool = False) -> _Words:
        vocabulary = self._vocabularies[side]
        ids: list[int] = []
        lengths = []
        for text in texts:
            words = dict.fromkeys(_WORD.findall(text.lower())[:MOST_WORDS])
            lengths.append(len(words))
            if learn:
                ids += [vocabulary.setdefault(word, len(vocabulary)) for word in words]
            else:
                ids += [vocabulary.get(word, UNKNOWN) for word in words]  # the last count, which is zero
        return _Words(np.array(ids, dtype=np.int64), np.array(lengths, dtype=np.int64))


def _linked(source: _Words, target: _Words) -> tuple[Integers, Integers, Integers]:
    """([L] source word, [L] target word, [L] pair) of every link, as places in the concatenated words."""
    links = source.lengths * target.lengths
    pair = np.repeat(np.arange(len(links)), links)
    place = np.arange(int(links.sum())) - np.repeat(np.cumsum(links) - links, links)
    starts = [np.cumsum(words.lengths) - words.lengths for words in (source, target)]
    width = target.lengths[pair]
    return starts[0][pair] + place // width, starts[1][pair] + place % width, pair


def _keys(source: NDArray[Any], target: NDArray[Any]) -> Integers:
    return np.asarray(source * (1 << 32) + target, dtype=np.int64)
