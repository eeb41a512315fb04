"""Constraints on outputs, in tokens: prefixes, phrases and suppressed tokens. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.search.phrases import Phrase

Ids = list[int]


@dataclass(frozen=True)
class Constraints:
    """The constraints of several sentences. `prefixes` and `phrases` have an entry for each; None: no sentence has any."""

    prefixes: list[Ids] | None = None
    """Tokens that each output must begin with."""
    phrases: list[list[Phrase]] | None = None
    """Token sequences that each output must contain; one with alternatives is met by any of them."""
    suppressed: tuple[int, ...] = ()
    """Tokens that no output may have."""

    def take(self, numbers: Sequence[int]) -> "Constraints":
        """The constraints of the sentences `numbers`."""
        return Constraints(
            None if self.prefixes is None else [self.prefixes[number] for number in numbers],
            None if self.phrases is None else [self.phrases[number] for number in numbers],
            self.suppressed,
        )
