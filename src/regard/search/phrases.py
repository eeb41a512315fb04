"""Phrases that an output must contain, and the progress of an output in matching them.

Each phrase has its own automaton (Knuth, Morris and Pratt 1977). So phrases may overlap and may restart after a partial match. A phrase is
met exactly if the output contains it contiguously.
"""

from collections.abc import Sequence
from functools import cached_property

Progress = tuple[int, ...]
"""For each phrase, how many of its first tokens the output ends with; once it is met, its length."""


class Phrases:
    """The phrases of one sentence. Phrases contained in others are redundant and left out."""

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        distinct = list(dict.fromkeys(tuple(phrase) for phrase in phrases if phrase))
        self.phrases = [
            phrase for phrase in distinct if not any(other != phrase and contains(other, phrase) for other in distinct)
        ]
        self._lengths = [len(phrase) for phrase in self.phrases]
        self.total = sum(self._lengths)
        self.nothing: Progress = (0,) * len(self.phrases)

    @cached_property
    def _borders(self) -> list[list[int]]:
        """For each prefix of each phrase, the length of its longest proper suffix that is also a prefix."""
        return [_borders(phrase) for phrase in self.phrases]

    def advance(self, progress: Progress, token: int) -> Progress:
        """The progress after one more token."""
        return tuple(self._next(number, matched, token) for number, matched in enumerate(progress))

    def met(self, progress: Progress) -> int:
        """The number of phrase tokens that the output has; `total` if all phrases are met."""
        return sum(progress)

    def need(self, progress: Progress) -> int:
        """A number of tokens that is enough to meet the rest: complete the most advanced phrase, then the others from their start."""
        unmet = [(length, matched) for length, matched in zip(self._lengths, progress, strict=True) if matched < length]
        return sum(length for length, _ in unmet) - max((matched for _, matched in unmet), default=0)

    def wanted(self, progress: Progress) -> list[int]:
        """The tokens that advance a phrase."""
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
    """Whether the tokens contain the phrase contiguously."""
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
