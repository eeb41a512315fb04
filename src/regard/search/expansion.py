"""`Expansion`: the record of one search step, for watchers and streaming.

Shapes: b active sentences, c candidates of each, k of them that continue.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    from torch import Tensor

    from regard.search.candidates import Choice
    from regard.search.hypothesis import Hypothesis


Options = ParamSpec("Options")


@dataclass(frozen=True, slots=True)
class Expansion:
    """The candidates of one step, and which of them finished or continued. The others were pruned.

    A log-probability of -inf marks padding, for sentences with fewer candidates.
    """

    sentences: Tensor  # [b], numbers of the sentences
    parents: Tensor  # [b, c], index of the continued hypothesis, among those that `going` of the step before lists
    tokens: Tensor  # [b, c]
    logprobs: Tensor  # [b, c], of the whole hypothesis
    finished: Tensor  # [b, <= c], True where a candidate ended
    going: Tensor  # [b, k], the candidates that continue, in the order of the next step's hypotheses

    @classmethod
    def of(cls, sentences: Tensor, chosen: Choice) -> Expansion:
        """The expansion of a choice for the sentences [b]."""
        candidates = chosen.candidates
        return cls(
            sentences, candidates.parents, candidates.tokens, candidates.logprobs, chosen.finishing, chosen.going
        )


Watcher = Callable[[Expansion], None]

Steps = Generator["Expansion | None", None, "list[list[Hypothesis]]"]
"""A search as a generator: it yields the `Expansion` of every step and returns the hypotheses of each sentence."""


def drive(steps: Steps, watch: Watcher | None = None) -> list[list[Hypothesis]]:
    """Run a search to its end and return its hypotheses. `watch` is called with every step."""
    while True:
        try:
            expansion = next(steps)
        except StopIteration as end:
            hypotheses: list[list[Hypothesis]] = end.value
            return hypotheses
        if watch is not None and expansion is not None:
            watch(expansion)


def to_the_end(steps: Callable[Options, Steps]) -> Callable[Options, list[list[Hypothesis]]]:
    """The function that runs the generator `steps` to its end. It records expansions only if `watch` is given."""

    @wraps(steps)
    def search(*given: Options.args, **options: Options.kwargs) -> list[list[Hypothesis]]:
        options.setdefault("expansions", False)
        return drive(steps(*given, **options))

    return search


@dataclass(frozen=True, slots=True)
class Branching:
    """The partial outputs that one step of an exact search expanded. They are numbered; 0 is the empty output."""

    sentence: int
    numbers: list[int]
    parents: list[int]  # numbers of the outputs that they continue; the empty output is its own parent
    tokens: list[int]  # by which token
    logprobs: list[float]
    endings: list[float]  # log-probability of the output that ends here
    kept: list[int]  # number of continuations above the bound; the others are pruned
    bound: float  # log-probability of the best complete output at that time


BranchWatcher = Callable[[Branching], None]
