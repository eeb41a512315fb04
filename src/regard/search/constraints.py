"""Constraints on outputs, in tokens: prefixes, phrases and suppressed tokens. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass

Ids = list[int]


@dataclass(frozen=True)
class Constraints:
    """The constraints of several sentences. `prefixes` and `phrases` have an entry for each; None: no sentence has any."""

    prefixes: list[Ids] | None = None
    """Tokens that each output must begin with."""
    phrases: list[list[Ids]] | None = None
    """Token sequences that each output must contain."""
    suppressed: tuple[int, ...] = ()
    """Tokens that no output may have."""

    def take(self, numbers: Sequence[int]) -> "Constraints":
        """The constraints of the sentences `numbers`."""
        return Constraints(
            None if self.prefixes is None else [self.prefixes[number] for number in numbers],
            None if self.phrases is None else [self.phrases[number] for number in numbers],
            self.suppressed,
        )
