"""Phrases that an output must contain, and how far an output has come with them. It knows no model and no beam.

Each phrase is followed by its own automaton (Knuth, Morris and Pratt 1977), so that phrases may overlap, may begin again after a
false start, and are met exactly where the output contains them in one piece.
"""

from collections.abc import Sequence
from functools import cached_property

Progress = tuple[int, ...]
"""For each phrase how many of its tokens the output ends with, or all of them for ever once it was met."""


class Phrases:
    """The phrases of one sentence. Those contained in others ask for nothing and are left out."""

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        distinct = list(dict.fromkeys(tuple(phrase) for phrase in phrases if phrase))
        self.phrases = [
            phrase for phrase in distinct if not any(one != phrase and contains(one, phrase) for one in distinct)
        ]
        self._lengths = [len(phrase) for phrase in self.phrases]
        self.total = sum(self._lengths)
        self.nothing: Progress = (0,) * len(self.phrases)

    @cached_property
    def _borders(self) -> list[list[int]]:
        """For each phrase and each of its beginnings the longest proper end of that which is a beginning too."""
        return [_borders(phrase) for phrase in self.phrases]

    def advance(self, progress: Progress, token: int) -> Progress:
        """After one more token."""
        return tuple(self._next(number, matched, token) for number, matched in enumerate(progress))

    def met(self, progress: Progress) -> int:
        """How many tokens of phrases the output has: `total` where all phrases are met."""
        return sum(progress)

    def need(self, progress: Progress) -> int:
        """How many tokens are certain to meet the rest: the phrase that is furthest to its end, then the others from their beginnings."""
        unmet = [(length, matched) for length, matched in zip(self._lengths, progress, strict=True) if matched < length]
        return sum(length for length, _ in unmet) - max((matched for _, matched in unmet), default=0)

    def wanted(self, progress: Progress) -> list[int]:
        """The tokens that bring a phrase forward."""
        pairs = zip(self.phrases, progress, strict=True)
        return list(dict.fromkeys(phrase[matched] for phrase, matched in pairs if matched < len(phrase)))

    def _next(self, number: int, matched: int, token: int) -> int:
        phrase, borders = self.phrases[number], self._borders[number]
        if matched == len(phrase):
            return matched
        while matched and phrase[matched] != token:
            matched = borders[matched]
        return matched + (phrase[matched] == token)


def contains(tokens: Sequence[int], phrase: Sequence[int]) -> bool:
    """Whether the phrase stands in the tokens, in one piece."""
    wanted = tuple(phrase)
    return any(tuple(tokens[at : at + len(wanted)]) == wanted for at in range(len(tokens) - len(wanted) + 1))


def _borders(phrase: Sequence[int]) -> list[int]:
    borders = [0, 0]
    for token in phrase[1:]:
        matched = borders[-1]
        while matched and phrase[matched] != token:
            matched = borders[matched]
        borders.append(matched + (phrase[matched] == token))
    return borders
