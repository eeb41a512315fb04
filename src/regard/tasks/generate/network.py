"""`LanguageNetwork`: what a language model needs of its network."""

from typing import Any, Protocol

from torch import Tensor

from regard.engine.resident import Evaluable
from regard.search.stepper import Stepper


class LanguageNetwork(Stepper[Any], Evaluable, Protocol):
    """A network that models language."""

    context: int | None

    def hidden(self, source: Tensor, target_in: Tensor) -> Tensor:
        """(source [B, 0], target_in [B, T]) -> [B, T, D]"""
        ...

    def likelihoods(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """(hidden [N, D], targets [N]) -> log p [N]"""
        ...

    def unseen_tokens(self) -> tuple[int, ...]:
        """The tokens that the training text lacks, which are scored but not written."""
        ...
