"""`Pairs`: sources and targets as ids."""

from collections.abc import Sequence, Set
from dataclasses import dataclass


@dataclass(frozen=True)
class Pairs:
    """Sources and targets as ids without end marks, and the numbers of the truncated ones."""

    sources: Sequence[list[int]]
    targets: Sequence[list[int]]
    cut_targets: Set[int] = frozenset()
    cut: Set[int] = frozenset()

    @property
    def widths(self) -> list[int]:
        return [max(len(source), len(target)) for source, target in zip(self.sources, self.targets, strict=True)]

    def rows(self, batch: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
        return [self.sources[number] for number in batch], [self.targets[number] for number in batch]
