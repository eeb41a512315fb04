"""Breaks a text into lines: filled to a width, or balanced. A break takes the place of a space, so that tags keep their places."""

from collections.abc import Callable
from dataclasses import replace

from regard.documents.markup import Segment


def wrapped(segment: Segment, width: int, may_break: Callable[[str], bool] | None = None) -> Segment:
    """The text in lines of at most `width` characters where its words allow it. may_break: whether a line may begin with this word."""
    return _broken(segment, _filled(segment.text, width, may_break))


def balanced(segment: Segment, width: int) -> Segment:
    """The text in as few lines of at most `width` characters as hold it, of about the same length."""
    text = segment.text
    least = _filled(text, width, None)
    if not least:
        return segment
    low, high = max(1, len(text) // (len(least) + 1)), width
    while low < high:  # the smallest width that needs no more lines
        middle = (low + high) // 2
        if len(_filled(text, middle, None)) <= len(least):
            high = middle
        else:
            low = middle + 1
    return _broken(segment, _filled(text, low, None))


def _filled(text: str, width: int, may_break: Callable[[str], bool] | None) -> list[int]:
    """The places of the spaces that become breaks."""
    breaks, start, last = list[int](), 0, -1
    place = text.find(" ")
    while place >= 0:
        following = text.find(" ", place + 1)
        end = len(text) if following < 0 else following
        if may_break is None or may_break(text[place + 1 : end]):
            last = place
        if end - start > width and last > start:
            breaks.append(last)
            start = last + 1
        place = following
    return breaks


def _broken(segment: Segment, breaks: list[int]) -> Segment:
    parts, start = list[str](), 0
    for place in breaks:
        parts.append(segment.text[start:place])
        start = place + 1
    return replace(segment, text="\n".join([*parts, segment.text[start:]]))
