"""What a search did in one step, for whoever watches it. It decides nothing.

Shapes: b sentences still searched, c candidates of each, k those that go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from regard.search.candidates import Choice


@dataclass(frozen=True, slots=True)
class Expansion:
    """The candidates of one step, which of them finished and which went on; the rest was cut.

    A candidate with a log-probability of -inf is none: it fills the rectangle where a sentence has fewer.
    """

    sentences: Tensor  # [b], numbers of the sentences
    parents: Tensor  # [b, c], which of the hypotheses that went on from the step before each one continues
    tokens: Tensor  # [b, c]
    logprobs: Tensor  # [b, c], of the whole hypothesis
    finished: Tensor  # [b, <= c], True where it ended and was set aside
    going: Tensor  # [b, k], which candidates go on, in the order in which the next step counts them

    @classmethod
    def of(cls, sentences: Tensor, chosen: Choice) -> Expansion:
        """What was chosen among the candidates of the sentences [b]."""
        found = chosen.found
        return cls(sentences, found.parents, found.tokens, found.logprobs, chosen.finishing, chosen.going)


Watcher = Callable[[Expansion], None]


@dataclass(frozen=True, slots=True)
class Branching:
    """What became of the partial outputs that one step of an exact search continued.

    Every one has a number, from 0, which is the empty one.
    """

    sentence: int
    numbers: list[int]
    parents: list[int]  # the numbers of those that they continue; the empty one is its own
    tokens: list[int]  # by which token
    logprobs: list[float]
    endings: list[float]  # log-probability of the output that ends here
    kept: list[int]  # how many continuations are more probable than the best whole output; the others are cut
    bound: float  # log-probability of the best whole output known then


BranchWatcher = Callable[[Branching], None]
