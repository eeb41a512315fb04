"""BPE-dropout (Provilkov, Emelianenko and Voita 2020) over the pieces of a sentencepiece BPE model.

Merging starts from characters. At each step every possible merge is dropped with probability p and the best of the
others is done, until none is left. With p = 0 this is sentencepiece's own segmentation. It is written here because
sentencepiece's generator can be neither keyed nor saved, and an exact resume needs both.

Drawing one number for each candidate would be slow, and is not needed: going through the candidates from the best on,
the number of dropped ones before the first that is kept is geometric, P(k) = (1 - p) p^k, so one number a step tells
which merge is done. A word none of whose steps drops anything keeps its usual pieces, and most words are such.

Knows pieces and scores; never opens a model or sees a corpus. Pieces with a space mark after their first character are
not merged to, since a word is cut by itself.
"""

import sys
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np

from regard.text.normalise import SPACE_MARK
from regard.text.vocabulary import BYTE_PIECES, END, PAD, UNKNOWN, Vocabulary

_MEMO_WORDS = 200_000  # words remembered: about 100 MB; then the memory starts afresh
_MEMO_CUTS = 200_000  # other cuts of words remembered: about 60 MB
_MEMO_CHARACTERS = 16  # a longer word is hardly ever cut twice in the same way
_MASK = (1 << 64) - 1
_CONTINUES, _STARTS, _STANDS_ALONE = 0, 1, 2  # what a piece does to the word before it

Candidate = tuple[int, int, int, int]  # rank of the merged piece (the best is 0), left and right position, its length
# a step of merging a word, and how many candidates are dropped at it; the rest drop none
Drops = tuple[tuple[int, int], ...]


class _Word(NamedTuple):
    """What merging a word starts from, and where it ends when nothing is dropped."""

    characters: tuple[str, ...]
    candidates: list[Candidate]  # sorted, so it is a heap
    usual: tuple[int, ...]
    merges: int  # steps to `usual`


def dropout_generator(seed: int, epoch: int, sentence: int) -> np.random.Generator:
    """The random numbers of one sentence in one epoch of one run, whatever was drawn before."""
    return DropoutStreams(seed, epoch).of(sentence)


class DropoutStreams:
    """`dropout_generator` for many sentences of one epoch: setting a generator back is faster than making one."""

    def __init__(self, seed: int, epoch: int) -> None:
        # Philox is a function of key and counter: epoch and sentence fill the upper half of the counter, so 2^64 blocks
        # of numbers separate two sentences.
        counter = np.array([0, 0, epoch & _MASK, 0], dtype=np.uint64)
        self._source = np.random.Philox(counter=counter, key=np.array([seed & _MASK, 0], dtype=np.uint64))
        self._generator = np.random.Generator(self._source)
        self._start = self._source.state

    def of(self, sentence: int) -> np.random.Generator:
        """The random numbers of a sentence, to be drawn before the next sentence is asked for."""
        self._start["state"]["counter"][3] = sentence & _MASK
        self._source.state = self._start
        return self._generator


class BpeDropout:
    """Cuts ids anew, with merges dropped."""

    def __init__(self, vocabulary: Vocabulary, scores: Sequence[float]) -> None:
        """`scores[i]` is the score of piece i in the sentencepiece model; the padding has none."""
        self._vocabulary = vocabulary
        apart = {END, UNKNOWN, PAD, *BYTE_PIECES}
        self._ids = {piece: index for index, piece in enumerate(vocabulary.pieces) if piece not in apart}
        order = {
            score: rank for rank, score in enumerate(sorted({scores[i] for i in self._ids.values()}, reverse=True))
        }
        self._ranks = {piece: order[scores[index]] for piece, index in self._ids.items()}
        self._roles = [
            _STANDS_ALONE if piece in apart else _STARTS if piece.startswith(SPACE_MARK) else _CONTINUES
            for piece in vocabulary.pieces
        ]
        self._memo: dict[tuple[int, ...], _Word] = {}
        self._cuts: dict[tuple[tuple[str, ...], Drops], tuple[int, ...]] = {}

    def __call__(self, ids: Sequence[int], probability: float, generator: np.random.Generator) -> list[int]:
        """`ids` cut anew: a function of the ids, the probability and the generator's state, and of nothing else."""
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
        """The words cut with `drops[i]` candidates dropped at step `places[i]`, a word having a step for each character."""
        result: list[int] = []
        start = done = 0
        places.append(sys.maxsize)
        for word in words:
            end, first = start + len(word.characters), done
            while places[done] < end:
                done += 1
            if places[first] < start + word.merges:
                steps = [place - start for place in places[first:done]]
                result += self._recalled(word, tuple(zip(steps, drops[first:done], strict=True)))
            else:
                result += word.usual
            start = end
        return result

    def _recalled(self, word: _Word, drops: Drops) -> tuple[int, ...]:
        """The ids of a word some of whose merges are dropped."""
        if len(word.characters) > _MEMO_CHARACTERS:
            return self._merged(word, drops)[0]
        key = word.characters, drops
        found = self._cuts.get(key)
        if found is None:
            if len(self._cuts) >= _MEMO_CUTS:
                self._cuts.clear()
            found = self._cuts[key] = self._merged(word, drops)[0]
        return found

    def _words(self, ids: Sequence[int]) -> list[_Word]:
        """The words of `ids`. Bytes and marks merge with nothing: each stands alone."""
        row = tuple(map(int, ids))  # of a numpy array too: what is remembered must be plain
        roles, memo = self._roles, self._memo
        words: list[_Word] = []
        start, before = 0, _STARTS
        for position, index in enumerate(row):
            role = roles[index]
            if (role or before == _STANDS_ALONE) and position:
                key = row[start:position]
                words.append(memo.get(key) or self._remembered(key))
                start = position
            before = role
        if row:
            key = row[start:]
            words.append(memo.get(key) or self._remembered(key))
        return words

    def _remembered(self, ids: tuple[int, ...]) -> _Word:
        if len(self._memo) >= _MEMO_WORDS:
            self._memo.clear()
        word = self._memo[ids] = self._studied(ids)
        return word

    def _studied(self, ids: tuple[int, ...]) -> _Word:
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
    """The best candidate after `drop` better ones, which stay for the next step; (-1, -1) when all were dropped."""
    dropped: list[Candidate] = []
    left = right = -1
    while heap:
        candidate = heappop(heap)
        _, first, second, length = candidate
        # A candidate is stale when one of its two symbols has been merged with another since.
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
