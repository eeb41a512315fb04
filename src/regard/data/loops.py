"""Loops: the same words several times in a row. A failure of decoders, and a filter of what they write."""

from collections.abc import Sequence

LONGEST, TIMES = 4, 3


def loop_in(words: Sequence[str]) -> str | None:
    """The first 1 to 4 words that stand three times in a row; None: there are none."""
    for size in range(1, LONGEST + 1):
        for start in range(len(words) - size * TIMES + 1):
            unit = list(words[start : start + size])
            if list(words[start : start + size * TIMES]) == unit * TIMES:
                return " ".join(unit)
    return None
