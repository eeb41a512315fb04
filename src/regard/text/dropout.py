"""BPE-dropout (Provilkov, Emelianenko and Voita 2020) over the pieces of a sentencepiece BPE model.

Merging starts from characters. At each step every possible merge is dropped with probability p and the best remaining
one is done, until none is left. With p = 0 this is sentencepiece's own segmentation. We do not use sentencepiece's
dropout, because its random generator can be neither seeded by sentence nor saved, and exact resuming needs both.

Drawing one random number for each candidate would be slow. One number a step is enough: counted from the best, the
number of dropped candidates before the first that is kept is geometric, P(k) = (1 - p) p^k. Most words drop nothing at
any step and keep their usual pieces.

It sees pieces and scores, never a model file or a corpus. Each word is segmented by itself, so no merge makes a piece
with a space mark after its first character.
"""

import sys
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np

from regard.text.normalise import SPACE_MARK
from regard.text.streams import ExampleStreams
from regard.text.vocabulary import BYTE_PIECES, END, PAD, UNKNOWN, Vocabulary

_MEMO_WORDS = 200_000  # words in the cache, about 100 MB; then it is emptied
_MEMO_CUTS = 200_000  # random segmentations in the cache, about 60 MB
_MEMO_CHARACTERS = 16  # a longer word hardly ever gets the same segmentation twice
_CONTINUES, _STARTS, _STANDS_ALONE = 0, 1, 2  # the role of a piece: same word as before, new word, or no word

Candidate = tuple[int, int, int, int]  # rank of the merged piece (the best is 0), left and right position, its length
# (step of merging a word, number of candidates dropped at it); no other step drops any
Drops = tuple[tuple[int, int], ...]


class _Word(NamedTuple):
    """A word before merging, and its segmentation without dropout."""

    characters: tuple[str, ...]
    candidates: list[Candidate]  # sorted, so it is a heap
    usual: tuple[int, ...]
    merges: int  # steps to `usual`


def dropout_generator(seed: int, epoch: int, sentence: int) -> np.random.Generator:
    """The random generator of one sentence in one epoch of one run; independent of earlier draws."""
    return ExampleStreams(seed, epoch).of(sentence)


class BpeDropout:
    """Segments ids again with BPE-dropout."""

    def __init__(self, vocabulary: Vocabulary, scores: Sequence[float]) -> None:
        """`scores[i]` is the score of piece i in the sentencepiece model; the padding has none."""
        self._vocabulary = vocabulary
        apart = {END, UNKNOWN, PAD, *BYTE_PIECES, *vocabulary.silent}
        self._ids = {piece: index for index, piece in enumerate(vocabulary.pieces) if piece not in apart}
        order = {
            score: rank for rank, score in enumerate(sorted({scores[i] for i in self._ids.values()}, reverse=True))
        }
        self._ranks = {piece: order[scores[index]] for piece, index in self._ids.items()}
        self._roles = [
            _STANDS_ALONE if piece in apart else _STARTS if piece.startswith(SPACE_MARK) else _CONTINUES
            for piece in vocabulary.pieces
        ]
        self._word_cache: dict[tuple[int, ...], _Word] = {}
        self._cuts: dict[tuple[tuple[str, ...], Drops], tuple[int, ...]] = {}

    def __call__(self, ids: Sequence[int], probability: float, generator: np.random.Generator) -> list[int]:
        """A random segmentation of the same text. Depends on `ids`, `probability` and the generator's state only."""
        if not 0 <= probability < 1:
            raise ValueError(f"dropout probability {probability} is not in [0, 1)")
        words = self._words(ids)
        if probability == 0:
            return [index for word in words for index in word.usual]
        draws = generator.random(sum([len(word.characters) for word in words]))
        places = np.flatnonzero(draws >= 1.0 - probability)
        slope = log(probability)
        drops = [max(1, int(log(1.0 - draw) / slope)) for draw in draws[places].tolist()]
        return self._cut(words, places.tolist(), drops)

    def _cut(self, words: list[_Word], places: list[int], drops: list[int]) -> list[int]:
        """Segment words with `drops[i]` candidates dropped at step `places[i]`; a word has a step for each character."""
        result: list[int] = []
        start = done = 0
        places.append(sys.maxsize)
        for word in words:
            end, first = start + len(word.characters), done
            while places[done] < end:
                done += 1
            if places[first] < start + word.merges:
                steps = [place - start for place in places[first:done]]
                result += self._cached_ids(word, tuple(zip(steps, drops[first:done], strict=True)))
            else:
                result += word.usual
            start = end
        return result

    def _cached_ids(self, word: _Word, drops: Drops) -> tuple[int, ...]:
        """The ids of a word with some merges dropped, cached."""
        if len(word.characters) > _MEMO_CHARACTERS:
            return self._merged(word, drops)[0]
        key = word.characters, drops
        ids = self._cuts.get(key)
        if ids is None:
            if len(self._cuts) >= _MEMO_CUTS:
                self._cuts.clear()
            ids = self._cuts[key] = self._merged(word, drops)[0]
        return ids

    def _words(self, ids: Sequence[int]) -> list[_Word]:
        """The words of `ids`. Each byte and each mark is a word of its own, since it is never merged."""
        row = tuple(map(int, ids))  # keys of the cache must be plain ints, not numpy's
        roles, word_cache = self._roles, self._word_cache
        words: list[_Word] = []
        start, before = 0, _STARTS
        for position, index in enumerate(row):
            role = roles[index]
            if (role or before == _STANDS_ALONE) and position:
                key = row[start:position]
                words.append(word_cache.get(key) or self._add_to_cache(key))
                start = position
            before = role
        if row:
            key = row[start:]
            words.append(word_cache.get(key) or self._add_to_cache(key))
        return words

    def _add_to_cache(self, ids: tuple[int, ...]) -> _Word:
        if len(self._word_cache) >= _MEMO_WORDS:
            self._word_cache.clear()
        word = self._word_cache[ids] = self._analysed_word(ids)
        return word

    def _analysed_word(self, ids: tuple[int, ...]) -> _Word:
        if self._roles[ids[0]] == _STANDS_ALONE:
            return _Word(("",), [], ids, 0)
        characters = tuple("".join(self._vocabulary.pieces[index] for index in ids))
        candidates: list[Candidate] = []
        for left, pair in enumerate(pairwise(characters)):
            rank = self._ranks.get(pair[0] + pair[1])
            if rank is not None:
                candidates.append((rank, left, left + 1, 2))
        word = _Word(characters, sorted(candidates), (), 0)
        usual, merges = self._merged(word, ())
        return word._replace(usual=usual, merges=merges)

    def _merged(self, word: _Word, drops: Drops) -> tuple[tuple[int, ...], int]:
        """The ids of `word` and the number of merges done."""
        symbols = list(word.characters)
        size = len(symbols)
        before, after = list(range(-1, size - 1)), [*range(1, size), -1]
        heap = word.candidates.copy()
        ranks, dropped = self._ranks, dict(drops)
        merges = 0
        while heap:
            left, right = _chosen(heap, dropped.get(merges, 0), symbols, after)
            if left < 0:
                break
            merges += 1
            symbols[left] += symbols[right]
            symbols[right] = ""
            neighbour = after[left] = after[right]
            after[right] = -1
            if neighbour >= 0:
                before[neighbour] = left
                _offer(heap, ranks, symbols, left, neighbour)
            if before[left] >= 0:
                _offer(heap, ranks, symbols, before[left], left)
        result: list[int] = []
        for symbol in filter(None, symbols):
            index = self._ids.get(symbol)
            result.extend(self._vocabulary.bytes_of(symbol) if index is None else (index,))
        return tuple(result), merges


def _offer(heap: list[Candidate], ranks: dict[str, int], symbols: list[str], left: int, right: int) -> None:
    merged = symbols[left] + symbols[right]
    rank = ranks.get(merged)
    if rank is not None:
        heappush(heap, (rank, left, right, len(merged)))


def _chosen(heap: list[Candidate], drop: int, symbols: Sequence[str], after: Sequence[int]) -> tuple[int, int]:
    """(left, right) of the best candidate after `drop` better ones; (-1, -1) when all are dropped.

    The dropped candidates stay in the heap for the next step.
    """
    dropped: list[Candidate] = []
    left = right = -1
    while heap:
        candidate = heappop(heap)
        _, first, second, length = candidate
        # A candidate is stale if one of its two symbols has been merged since.
        if after[first] != second or len(symbols[first]) + len(symbols[second]) != length:
            continue
        if len(dropped) == drop:
            left, right = first, second
            break
        dropped.append(candidate)
    if left >= 0:
        for candidate in dropped:
            heappush(heap, candidate)
    return left, right
