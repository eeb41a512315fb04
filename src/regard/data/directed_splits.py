"""Validation text of a run in several directions: that of each direction, or pairs that are held out of each.

A corpus that is read in both directions holds out the same pairs in both. A held-out pair is not trained on in any direction. It knows
neither tokenisers nor tags.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from regard.data.corpus_config import Direction, direction_name
from regard.data.directed_inputs import TrainingCorpus, by_direction
from regard.data.encoding import NumberedPair
from regard.data.holdout import hold_out
from regard.data.readers import Pair
from regard.errors import DataError


@dataclass(frozen=True)
class DirectedValidation:
    """The validation pairs of all directions, one direction after the other."""

    pairs: list[NumberedPair]
    """Numbered from 1 through all directions."""
    lines: list[tuple[Direction, int]]
    """Each direction and the number of its pairs, in this order."""
    held: list[NumberedPair] = field(default_factory=list)
    """The pairs that are not trained on, with their lines counted through all training corpora; 0: wherever it stands."""


def given_validation(corpora: Sequence[TrainingCorpus]) -> DirectedValidation:
    """The validation text that the settings name."""
    pairs: list[Pair] = []
    lines: list[tuple[Direction, int]] = []
    for direction, numbers in by_direction(corpora).items():
        own = [pair for number in numbers for pair in corpora[number].pairs()]
        if not own:
            raise DataError(f"{corpora[numbers[0]].name}: no sentence pairs in it; give a file that has some")
        pairs += own
        lines.append((direction, len(own)))
    return DirectedValidation(list(enumerate(pairs, 1)), lines)


def held_out_validation(corpora: Sequence[TrainingCorpus], max_length: int, seed: int) -> DirectedValidation:
    """Pairs of the training corpora, drawn from each direction as `hold_out` draws them from one corpus."""
    counts = [0] * len(corpora)

    def counted(number: int) -> Iterator[Pair]:
        counts[number] = 0
        for pair in corpora[number].pairs():
            counts[number] += 1
            yield pair

    drawn: list[tuple[Direction, list[int], tuple[NumberedPair, ...]]] = []
    for direction, numbers in by_direction(corpora).items():
        held = hold_out((pair for number in numbers for pair in counted(number)), max_length, seed)
        if held.usable < 2:
            name = ", ".join(corpora[number].name for number in numbers)
            raise DataError(
                f"{name}: {held.usable or 'no'} usable sentence {'pair' if held.usable == 1 else 'pairs'} from "
                f"{direction_name(direction)}, and one must be held out; add pairs, or give each corpus valid_src and valid_tgt"
            )
        drawn.append((direction, numbers, held.pairs))
    before = [0, *accumulate(counts)]
    pairs: list[Pair] = []
    lines: list[tuple[Direction, int]] = []
    left_out: list[NumberedPair] = []
    for direction, numbers, own in drawn:
        ends = list(accumulate(counts[number] for number in numbers))
        for line, pair in own:
            place = next(place for place, end in enumerate(ends) if line <= end)
            inside = line - (ends[place - 1] if place else 0)
            left_out += [(before[numbers[place]] + inside, pair), (0, (pair[1], pair[0]))]
        pairs += [pair for _, pair in own]
        lines.append((direction, len(own)))
    return DirectedValidation(list(enumerate(pairs, 1)), lines, left_out)
