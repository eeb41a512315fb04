"""The maximum length of a translation."""

from regard.search.options import MOST_POSITIONS, SearchOptions

PER_SOURCE_TOKEN, MORE = 2, 10  # no sound translation is longer than so many times its source, and so many tokens more


def max_output_length(source_tokens: int, options: SearchOptions, needed: int, reach: int | None) -> int:
    """The maximum output length in tokens: `max_length` or the default, but never past the learned positions or `MOST_POSITIONS`.

    `needed`: the tokens of required prefixes and phrases; `reach`: the number of positions, None for any.
    """
    limit = options.max_length
    if limit is None:
        limit = max(PER_SOURCE_TOKEN * source_tokens + MORE, options.min_length, needed + MORE if needed else 0)
    limit = min(limit, MOST_POSITIONS // options.width - 1)
    return limit if reach is None else min(limit, reach - 1)
