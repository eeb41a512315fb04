"""The maximum length of a translation, and the warning where many hypotheses shorten it."""

import warnings
from collections.abc import Sequence

from regard.engine.input_length import TruncationWarning
from regard.search.hypothesis import Hypothesis
from regard.search.options import MOST_POSITIONS, SearchOptions
from regard.tasks.translate.translation import Translation

PER_SOURCE_TOKEN, MORE = 2, 10  # no sound translation is longer than so many times its source, and so many tokens more


def max_output_length(source_tokens: int, options: SearchOptions, needed: int, reach: int | None) -> int:
    """The maximum output length in tokens: `max_length` or the default, but never past the learned positions.

    The default is at most what `MOST_POSITIONS` allows for so many hypotheses, but enough for what is required. `needed`: the tokens of
    required prefixes and phrases; `reach`: the number of positions, None for any.
    """
    limit = options.max_length
    if limit is None:
        usual = _usual_length(source_tokens, options)
        limit = max(min(usual, _most_kept(options)), needed + MORE if needed else 0)
    return limit if reach is None else min(limit, reach - 1)


def cut_by_width(source_tokens: int, options: SearchOptions, output: Hypothesis | Translation) -> bool:
    """Whether an output was cut before the usual maximum length, because so many hypotheses are kept."""
    if options.max_length is not None or output.finished or output.timed_out:
        return False
    return _most_kept(options) <= len(output.tokens) < _usual_length(source_tokens, options)


def warn_of_cuts(
    sources: Sequence[Sequence[int]], options: SearchOptions, hypotheses: Sequence[Sequence[Hypothesis]]
) -> None:
    """Warn of the translations that were cut by the width."""
    pairs = zip(sources, hypotheses, strict=True)
    cut = [number for number, (ids, own) in enumerate(pairs) if cut_by_width(len(ids), options, own[0])]
    if cut:
        warnings.warn(
            f"{len(cut)} translations were cut at {len(hypotheses[cut[0]][0].tokens)} tokens, the most with {options.width:,} hypotheses; "
            f"the first is number {cut[0] + 1}; keep fewer hypotheses",
            TruncationWarning,
            stacklevel=4,
        )


def _usual_length(source_tokens: int, options: SearchOptions) -> int:
    return max(PER_SOURCE_TOKEN * source_tokens + MORE, options.min_length)


def _most_kept(options: SearchOptions) -> int:
    """The longest output of so many hypotheses."""
    return MOST_POSITIONS // options.width - 1
