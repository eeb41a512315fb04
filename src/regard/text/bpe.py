"""Byte-pair encoding as in the lectures (deck 001, "How does Byte Pair Encoding work?"), one step at a time.

    1. Every word is its characters and an end-of-word mark </w>.
    2. Count the adjacent pairs of symbols in the text.
    3. Merge the most frequent pair into a new symbol, everywhere, and add it to the vocabulary.
    4. Repeat 2 and 3. A text is then encoded by the same merges in the same order.

The slide's example is a tie: in "low lower newest wides" the pairs lo, ow, we and es occur twice each. "es" is merged
first by a rule that the slide does not state. Here the rule is explicit, and each step lists the tied pairs. This
learner is for teaching; models use sentencepiece (`subword.py`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, assert_never

from regard.errors import TextError

END_OF_WORD = "</w>"

SymbolPair = tuple[str, str]
Symbols = tuple[str, ...]
TieBreak = Literal["smallest", "largest", "earliest", "latest"]
"""Among equally frequent pairs take the first in code point order, the last in it (as subword-nmt does), the one that
occurs earliest in the text as given, or the one whose first occurrence is the latest."""


@dataclass(frozen=True)
class Merge:
    """One step of learning."""

    pair: SymbolPair
    count: int  # occurrences of the pair in the text
    ties: tuple[SymbolPair, ...]  # the other pairs that occurred as often, in code point order

    @property
    def symbol(self) -> str:
        """The new symbol."""
        return "".join(self.pair)


@dataclass(frozen=True)
class BytePairEncoding:
    """The characters of a text and the merges learned from it, in order."""

    characters: tuple[str, ...]
    merges: tuple[Merge, ...]

    @cached_property
    def _steps(self) -> dict[SymbolPair, list[int]]:
        """SymbolPair -> the steps that merge it. Several where a symbol can be made in two ways: abc from a bc and from ab c."""
        steps: defaultdict[SymbolPair, list[int]] = defaultdict(list)
        for step, merge in enumerate(self.merges):
            steps[merge.pair].append(step)
        return dict(steps)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The symbols: the characters, the end-of-word mark, and what each merge added."""
        return tuple(dict.fromkeys([*self.characters, END_OF_WORD, *(merge.symbol for merge in self.merges)]))

    def encode_word(self, word: str) -> list[str]:
        """The symbols of one word, merged in the order of learning. Unseen characters are kept."""
        symbols = split_word(word)
        done = -1
        while True:
            later = [step for pair in pairwise(symbols) for step in self._steps.get(pair, ()) if step > done]
            if not later:
                return list(symbols)
            done = min(later)
            symbols = apply(self.merges[done].pair, symbols)

    def encode(self, text: str) -> list[str]:
        """The symbols of all words of `text`."""
        return [symbol for word in text.split() for symbol in self.encode_word(word)]

    def decode(self, symbols: Iterable[str]) -> str:
        """The words that the symbols spell, with single spaces between."""
        return "".join(symbols).replace(END_OF_WORD, " ").rstrip(" ")


def learn_bpe(lines: Iterable[str], merges: int, tie_break: TieBreak = "smallest") -> BytePairEncoding:
    """At most `merges` merges learned from the words of `lines`; fewer where every word has become one symbol."""
    frequencies = Counter(word for line in lines for word in line.split())
    words = [split_word(word) for word in frequencies]
    weights = list(frequencies.values())
    characters = sorted({symbol for word in words for symbol in word} - {END_OF_WORD})

    # The slide counts all pairs again at each step. Only words with the merged pair change, so it is enough to update
    # the counts of their pairs.
    counts: Counter[SymbolPair] = Counter()
    holders: defaultdict[SymbolPair, set[int]] = defaultdict(set)
    for index, word in enumerate(words):
        for pair in pairwise(word):
            counts[pair] += weights[index]
            holders[pair].add(index)

    steps: list[Merge] = []
    while counts and len(steps) < merges:
        most = max(counts.values())
        tied = sorted(pair for pair, count in counts.items() if count == most)
        chosen = _chosen(tied, tie_break, words, holders)
        steps.append(Merge(chosen, most, tuple(pair for pair in tied if pair != chosen)))
        for index in sorted(holders[chosen]):
            for pair in pairwise(words[index]):
                counts[pair] -= weights[index]
                holders[pair].discard(index)
                if not counts[pair]:
                    del counts[pair], holders[pair]
            words[index] = apply(chosen, words[index])
            for pair in pairwise(words[index]):
                counts[pair] += weights[index]
                holders[pair].add(index)
    return BytePairEncoding(tuple(characters), tuple(steps))


def apply(pair: SymbolPair, symbols: Symbols) -> Symbols:
    """`symbols` with each occurrence of `pair` merged, from the left: (a, a) turns a a a into aa a."""
    merged: list[str] = []
    position = 0
    while position < len(symbols):
        if symbols[position : position + 2] == pair:
            merged.append("".join(pair))
            position += 2
        else:
            merged.append(symbols[position])
            position += 1
    return tuple(merged)


def split_word(word: str) -> Symbols:
    """The characters of a word and the end-of-word mark."""
    if END_OF_WORD in word:
        raise TextError(f"the word {word!r} contains the end-of-word mark {END_OF_WORD}; write it apart, as < /w>")
    return (*word, END_OF_WORD)


def _chosen(
    tied: Sequence[SymbolPair], rule: TieBreak, words: Sequence[Symbols], holders: dict[SymbolPair, set[int]]
) -> SymbolPair:
    """The pair that the rule takes from `tied`, which is in code point order."""
    if len(tied) == 1 or rule == "smallest":
        return tied[0]
    if rule == "largest":
        return tied[-1]
    # Words are stored once, in the order in which they first occur, so the first holder is the first occurrence.
    first = {pair: (min(holders[pair]), list(pairwise(words[min(holders[pair])])).index(pair)) for pair in tied}
    if rule == "earliest":
        return min(tied, key=first.__getitem__)
    if rule == "latest":
        return max(tied, key=first.__getitem__)
    assert_never(rule)
