"""What a model reads, and what it answers: a translation, the score of a given pair, or its word alignment. Plain values, but for the
alignment of a translation, which is found when it is first looked at, by the model as it is then.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

from regard.search.hypothesis import Proof

Links = list[tuple[int, int]]
"""(source word, target word), both from 0, words being what white space separates."""


class TruncationWarning(UserWarning):
    """A text was longer than the model reads, and its end was not read."""


class DemandWarning(UserWarning):
    """A prefix or a phrase that an output cannot have was left out."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text as a model reads it: made by `Model.read`, to be searched with."""

    text: str
    """The text as it was given."""
    ids: list[int]
    """Its tokens, without an end mark."""
    truncated: bool
    """Whether it was too long, and `ids` are only its beginning."""


@dataclass(frozen=True)
class Translation:
    """One text and what it was translated to."""

    source: str
    """The text as it was given."""
    text: str
    """The translation."""
    score: float
    """log p(text | source) / |tokens|^alpha, or as the options say: what hypotheses are ranked by."""
    tokens: list[str]
    """The pieces of the translation, without the end mark."""
    logprob: float
    """log p(text | source), the end mark included if finished."""
    finished: bool = True
    """Whether the model ended it; False: it was cut at the longest length allowed."""
    alternatives: tuple["Translation", ...] = ()
    """The n best, best first, this one among them; empty where only one was asked for."""
    truncated: bool = False
    """Whether the source was too long and only its beginning was translated."""
    unmet: tuple[str, ...] = ()
    """Of the prefix and the phrases that were asked for, those that the translation does not have."""
    utility: float | None = None
    """Of a search for the minimum Bayes risk: the mean chrF with all samples, which ranks them."""
    proof: Proof | None = None
    """Of an exact search: how many nodes it took, and whether nothing is more probable."""
    links: Callable[[], Links] = field(default=list, compare=False, repr=False)
    """What finds the alignment, when it is asked for."""

    @cached_property
    def alignment(self) -> Links:
        """From words of the normalised source to words of `text`: for each of these the source word that it looked at most."""
        return self.links()


@dataclass(frozen=True)
class Score:
    """How probable a given target is."""

    logprob: float
    """log p(target | source), the end mark included."""
    score: float
    """`logprob` / |tokens|^alpha."""
    tokens: int
    """Pieces of the target, without the end mark."""
    token_logprobs: list[float]
    """log p of each piece and then of the end mark."""
    truncated: bool = False
    """Whether a side was too long. Of a target that was, only the beginning is scored, and no end mark."""

    @property
    def perplexity(self) -> float:
        """exp(-logprob / number of predictions); the end mark is one of them."""
        rate = -self.logprob / max(1, len(self.token_logprobs))
        return math.exp(rate) if rate < 700.0 else math.inf


@dataclass(frozen=True)
class Alignment:
    """Which source words a given target looks at."""

    links: Links
    """For each target word the source word with the largest weight."""
    weights: "Tensor" = field(compare=False, repr=False)
    """[target words, source words], each row summing to 1; a row of zeros for a word that was not read."""
    source_words: list[str]
    """The words of the normalised source."""
    target_words: list[str]
    """The words of the normalised target."""
    truncated: bool = False
    """Whether a side was too long; the words past the limit have no links."""
