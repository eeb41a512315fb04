"""The maximum length of a translation, how it is learned where outputs are long, and the warning where many hypotheses shorten it."""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.engine.input_length import TruncationWarning
from regard.search.hypothesis import Hypothesis
from regard.search.options import MOST_POSITIONS, SearchOptions
from regard.tasks.translate.translation import Translation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PER_SOURCE_TOKEN, MORE = 2, 10  # no sound translation is longer than so many times its source, and so many tokens more
EXCEPTIONS = 0.001
"""The share of training pairs that may be longer; if more are, the task writes longer outputs, as a parser does."""
SLACK = 1.25
LARGEST_FACTOR = 1_000


@dataclass(frozen=True)
class OutputLength:
    """How long an output may be where no `max_length` is given."""

    per_source: int = PER_SOURCE_TOKEN
    most: int | None = None
    """In tokens: so long at most, or as long as is usual; None: the factor alone decides."""

    def of(self, source_tokens: int) -> int:
        """The limit of a source of so many tokens."""
        longest = self.per_source * source_tokens + MORE
        return longest if self.most is None else max(PER_SOURCE_TOKEN * source_tokens + MORE, min(longest, self.most))


USUAL = OutputLength()


def learned_length(source_lengths: "NDArray[np.int64]", target_lengths: "NDArray[np.int64]") -> OutputLength | None:
    """The limit that the lengths of the training pairs ask for; None: the usual one fits.

    Few pairs with long outputs must not let every source have as many times its length, so no learned limit is far above the longest
    output of training.
    """
    if not len(source_lengths) or (target_lengths > PER_SOURCE_TOKEN * source_lengths + MORE).mean() <= EXCEPTIONS:
        return None
    ratios = sorted(((target_lengths - MORE) / source_lengths).tolist())
    factor = math.ceil(SLACK * float(ratios[int((1 - EXCEPTIONS) * (len(ratios) - 1))]))
    if factor <= PER_SOURCE_TOKEN:
        return None  # few pairs: the longest ones are above the quantile
    return OutputLength(min(factor, LARGEST_FACTOR), math.ceil(SLACK * int(target_lengths.max())))


def widest(limits: Iterable[OutputLength | None]) -> OutputLength | None:
    """The limit of models that are merged or asked together. None: those of all are the usual one."""
    learned = [limit for limit in limits if limit is not None]
    if not learned:
        return None
    caps = [limit.most for limit in learned if limit.most is not None]
    return OutputLength(
        max(limit.per_source for limit in learned),
        max(caps) if len(caps) == len(learned) else None,
    )


def max_output_length(
    source_tokens: int, options: SearchOptions, needed: int, reach: int | None, longest: OutputLength = USUAL
) -> int:
    """The maximum output length in tokens: `max_length` or the default, but never past the learned positions.

    The default is at most what `MOST_POSITIONS` allows for so many hypotheses, but enough for what is required. `needed`: the tokens of
    required prefixes and phrases; `reach`: the number of positions, None for any. longest: the learned one.
    """
    limit = options.max_length
    if limit is None:
        usual = _usual_length(source_tokens, options, longest)
        limit = max(min(usual, _most_kept(options)), needed + MORE if needed else 0)
    return limit if reach is None else min(limit, reach - 1)


def cut_by_width(
    source_tokens: int, options: SearchOptions, output: Hypothesis | Translation, longest: OutputLength = USUAL
) -> bool:
    """Whether an output was cut before the usual maximum length, because so many hypotheses are kept."""
    if options.max_length is not None or output.finished or output.timed_out:
        return False
    return _most_kept(options) <= len(output.tokens) < _usual_length(source_tokens, options, longest)


def warn_of_cuts(
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    hypotheses: Sequence[Sequence[Hypothesis]],
    longest: OutputLength = USUAL,
) -> None:
    """Warn of the translations that were cut by the width."""
    pairs = zip(sources, hypotheses, strict=True)
    cut = [number for number, (ids, own) in enumerate(pairs) if cut_by_width(len(ids), options, own[0], longest)]
    if cut:
        warnings.warn(
            f"{len(cut)} translations were cut at {len(hypotheses[cut[0]][0].tokens)} tokens, the most with {options.width:,} hypotheses; "
            f"the first is number {cut[0] + 1}; keep fewer hypotheses",
            TruncationWarning,
            stacklevel=4,
        )


def _usual_length(source_tokens: int, options: SearchOptions, longest: OutputLength) -> int:
    return max(longest.of(source_tokens), options.min_length)


def _most_kept(options: SearchOptions) -> int:
    """The longest output of so many hypotheses."""
    return MOST_POSITIONS // options.width - 1
