"""Phrases that an output must contain, and the progress of an output in matching them.

A phrase may have alternatives, such as the forms of a noun, of which any one is enough. Each alternative has its own automaton (Knuth,
Morris and Pratt 1977). So phrases may overlap and may restart after a partial match. A phrase is met exactly if the output contains one of
its alternatives contiguously.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import cast

Ids = Sequence[int]
Phrase = Ids | Sequence[Ids]
"""The tokens of a phrase, or those of each of its alternatives."""
Progress = tuple[int, ...]
"""For each alternative of each phrase, how many of its first tokens the output ends with; once its phrase is met, its length."""


class Phrases:
    """The phrases of one sentence. Phrases that are met whenever another one is are redundant and left out."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        distinct = list(dict.fromkeys(filter(None, map(alternatives, phrases))))
        self._phrases = list(distinct)
        for phrase in distinct:
            if any(other != phrase and _implies(other, phrase) for other in self._phrases):
                self._phrases.remove(phrase)
        self.phrases = [tokens for phrase in self._phrases for tokens in phrase]
        """Every alternative of every phrase."""
        self._lengths = [len(tokens) for tokens in self.phrases]
        self._shortest = [min(map(len, phrase)) for phrase in self._phrases]
        ends = [sum(map(len, self._phrases[: number + 1])) for number in range(len(self._phrases))]
        self._places = [range(end - len(phrase), end) for end, phrase in zip(ends, self._phrases, strict=True)]
        self.total = sum(self._shortest)
        """The fewest tokens that meet all phrases one after the other."""
        self.nothing: Progress = (0,) * len(self.phrases)

    @cached_property
    def _borders(self) -> list[list[int]]:
        """For each prefix of each alternative, the length of its longest proper suffix that is also a prefix."""
        return [_borders(tokens) for tokens in self.phrases]

    def advance(self, progress: Progress, token: int) -> Progress:
        """The progress after one more token."""
        after = [self._next(number, matched, token) for number, matched in enumerate(progress)]
        for places in self._places:
            if len(places) > 1 and any(after[place] == self._lengths[place] for place in places):
                after[places.start : places.stop] = self._lengths[places.start : places.stop]
        return tuple(after)

    def met(self, progress: Progress) -> int:
        """The number of phrase tokens that the output has; `total` if all phrases are met."""
        return sum(self._met(number, progress) for number in range(len(self._phrases)))

    def need(self, progress: Progress) -> int:
        """A number of tokens that is enough to meet the rest: complete the most advanced phrase, then the others from their start."""
        shares = [self._met(number, progress) for number in range(len(self._phrases))]
        unmet = [(length, met) for length, met in zip(self._shortest, shares, strict=True) if met < length]
        return sum(length for length, _ in unmet) - max((met for _, met in unmet), default=0)

    def wanted(self, progress: Progress) -> list[int]:
        """The tokens that advance a phrase."""
        pairs = zip(self.phrases, progress, strict=True)
        return list(dict.fromkeys(tokens[matched] for tokens, matched in pairs if matched < len(tokens)))

    def _met(self, number: int, progress: Progress) -> int:
        """The tokens of a phrase that the output has: its shortest alternative's without those that the nearest one still lacks."""
        lacking = min(self._lengths[place] - progress[place] for place in self._places[number])
        return max(0, self._shortest[number] - lacking)

    def _next(self, number: int, matched: int, token: int) -> int:
        tokens, borders = self.phrases[number], self._borders[number]
        if matched == len(tokens):
            return matched
        while matched and tokens[matched] != token:
            matched = borders[matched]
        return matched + (tokens[matched] == token)


def alternatives(phrase: Phrase) -> tuple[tuple[int, ...], ...]:
    """The alternatives of a phrase, each once. A phrase with an empty alternative is met by every output and has none."""
    if not len(phrase):
        return ()
    rows = cast("Sequence[Ids]", [phrase] if isinstance(phrase[0], int) else phrase)
    distinct = tuple(dict.fromkeys(tuple(row) for row in rows))
    return () if () in distinct else distinct


def contains(tokens: Sequence[int], phrase: Phrase) -> bool:
    """Whether the tokens contain the phrase, or one of its alternatives, contiguously."""
    choices = alternatives(phrase)
    return not choices or any(_contains(tokens, wanted) for wanted in choices)


def _contains(tokens: Sequence[int], wanted: tuple[int, ...]) -> bool:
    return any(tuple(tokens[at : at + len(wanted)]) == wanted for at in range(len(tokens) - len(wanted) + 1))


def _implies(phrase: Sequence[tuple[int, ...]], other: Sequence[tuple[int, ...]]) -> bool:
    """Whether every output that meets `phrase` meets `other`."""
    return all(any(_contains(tokens, wanted) for wanted in other) for tokens in phrase)


def _borders(phrase: Sequence[int]) -> list[int]:
    borders = [0, 0]
    for token in phrase[1:]:
        matched = borders[-1]
        while matched and phrase[matched] != token:
            matched = borders[matched]
        borders.append(matched + (phrase[matched] == token))
    return borders
