"""Plain text: a paragraph is a segment, and every line break stays where it is or is set anew at about the same length.

Blank lines separate paragraphs. A line that ends far before the longest ones, or begins with a mark of a list or white space, ends its
paragraph too: such breaks are meant.
"""

import re

from regard.documents.lines import wrapped
from regard.documents.markup import Segment, SegmentBuilder
from regard.documents.patched import Slot, TextDocument, decoded, line_end

_LINE = re.compile(r"[^\r\n\f\v\x1c-\x1e\x85\u2028\u2029]++")
_LIST = re.compile(r"\s*+(?:[-–—*•·+>|]+|\(?\w{1,3}[.)])\s")
_SHORT = 0.7  # of the longest line of a paragraph: a shorter line ends where it was meant to
_WRAPPED = 40  # characters: texts are not filled to shorter lines


def read(content: bytes, name: str = "document") -> TextDocument:
    """A document of plain text."""
    text, encoding = decoded(content, name)
    end = line_end(text)
    slots = list[Slot]()
    lines = [match for match in _LINE.finditer(text) if any(map(str.isalpha, match[0]))]
    for start, stop in _paragraphs(text, [match.span() for match in lines]):
        slots.append(_slot(text, start, stop, end))
    return TextDocument(text, encoding, slots)


def _paragraphs(text: str, lines: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """From .. up to of lines that belong together."""
    groups = list[list[tuple[int, int]]]()
    for start, stop in lines:
        between = text[groups[-1][-1][1] : start] if groups else ""
        follows = bool(groups) and between in ("\n", "\r\n", "\r") and not _LIST.match(text, start, stop)
        if follows and not text[start].isspace():
            groups[-1].append((start, stop))
        else:
            groups.append([(start, stop)])
    ranges = list[tuple[int, int]]()
    for group in groups:
        longest = max(stop - start for start, stop in group)
        begin = group[0][0]
        for number, (start, stop) in enumerate(group):
            if number + 1 == len(group) or stop - start < max(_WRAPPED, _SHORT * longest):
                ranges.append((begin, stop))
                begin = group[number + 1][0] if number + 1 < len(group) else stop
    return ranges


def _slot(text: str, start: int, stop: int, end: str) -> Slot:
    """A paragraph without the white space and the mark of a list at its beginning."""
    mark = _LIST.match(text, start, stop)
    start = mark.end() if mark else start
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    builder = SegmentBuilder()
    builder.text(text[start:stop])
    widths = [len(line) for line in re.split(r"\r\n|\n|\r", text[start:stop])]

    def write(segment: Segment) -> str:
        return wrapped(segment, max(widths)).text.replace("\n", end) if len(widths) > 1 else segment.text

    return Slot(start, stop, builder.segment(), write)
