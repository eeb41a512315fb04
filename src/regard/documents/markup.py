"""`Segment`: a text with inline tags as spans. It knows no file format: a tag is a number that the format gives meaning to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Span:
    """An inline tag around characters of a text, or an empty one at a place."""

    tag: int
    """The number of the tag in its segment."""
    start: int
    end: int
    parent: int | None = None
    """The tag around this one."""
    empty: bool = False
    """Whether it can hold no text, such as a line break or a picture."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A text to translate. Spans come in the order of the document: an outer one before those inside of it."""

    text: str
    spans: tuple[Span, ...] = ()


WHITE = " \t\n\r\f"
"""White space of markup. A no-break space is none."""


class Event(NamedTuple):
    """A part of a segment in the order of writing."""

    kind: Literal["text", "open", "close", "empty"]
    tag: int = -1
    text: str = ""


def events(segment: Segment) -> Iterator[Event]:
    """Texts and tags in the order of writing. Well-formed for every segment that `problem` accepts."""
    place, opened = 0, list[Span]()
    for span in segment.spans:
        while opened and opened[-1].tag != span.parent:
            yield from _text(segment.text, place, opened[-1].end)
            place = max(place, opened[-1].end)
            yield Event("close", opened.pop().tag)
        yield from _text(segment.text, place, span.start)
        place = max(place, span.start)
        if span.empty:
            yield Event("empty", span.tag)
        else:
            yield Event("open", span.tag)
            opened.append(span)
    while opened:
        yield from _text(segment.text, place, opened[-1].end)
        place = max(place, opened[-1].end)
        yield Event("close", opened.pop().tag)
    yield from _text(segment.text, place, len(segment.text))


def _text(text: str, start: int, end: int) -> Iterator[Event]:
    if start < end:
        yield Event("text", text=text[start:end])


def problem(segment: Segment) -> str | None:
    """Why the spans are not well-formed: a tag twice, one outside of its parent, or two that overlap. None: they are."""
    by_tag = dict[int | None, Span]({None: Span(-1, 0, len(segment.text))})
    ends = dict[int | None, int]({None: 0})  # where the last child of each ends
    opened = list[int]()
    for span in segment.spans:
        if span.tag in by_tag:
            return f"tag {span.tag} is there twice"
        if span.parent not in by_tag or by_tag[span.parent].empty:
            return f"tag {span.tag} is inside of {span.parent}, which is not around it"
        while opened and opened[-1] != span.parent:
            opened.pop()
        if span.parent is not None and not opened:
            return f"tag {span.tag} comes after the end of {span.parent}"
        parent = by_tag[span.parent]
        least = max(parent.start, ends[span.parent])
        if not least <= span.start <= span.end <= parent.end or (span.empty and span.start != span.end):
            return f"tag {span.tag} at {span.start}-{span.end} is not within {least}-{parent.end}"
        by_tag[span.tag], ends[span.tag], ends[span.parent] = span, span.start, span.end
        opened.append(span.tag)
    return None


class SegmentBuilder:
    """Collects texts and tags in the order of a document. White space is collapsed, and none is left at the ends."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._space = False  # white space that is written if more text follows
        self._spans: list[list[int | bool | None]] = []
        self._opened: list[int] = []

    def text(self, text: str) -> None:
        """Add text."""
        for number, word in enumerate(_pieces(text)):
            if number % 2:
                self._space = self._length > 0
                continue
            if not word:
                continue
            if self._space:
                self._parts.append(" ")
                self._length += 1
                self._space = False
            self._parts.append(word)
            self._length += len(word)

    def open(self, tag: int) -> None:
        """Begin a tag. White space before it stays outside of it."""
        self._write_space()
        self._begin(tag, empty=False)
        self._opened.append(len(self._spans) - 1)

    def close(self) -> None:
        """End the innermost tag."""
        self._spans[self._opened.pop()][2] = self._length

    def empty(self, tag: int, *, separates: bool = False) -> None:
        """Add an empty tag. separates: words on its two sides are different words."""
        if separates:
            self._space = self._length > 0
        else:
            self._write_space()
        self._begin(tag, empty=True)

    def _begin(self, tag: int, *, empty: bool) -> None:
        parent = self._spans[self._opened[-1]][0] if self._opened else None
        self._spans.append([tag, self._length, self._length, parent, empty])

    def _write_space(self) -> None:
        if self._space:
            self._parts.append(" ")
            self._length += 1
            self._space = False

    def segment(self) -> Segment:
        """The segment that was collected."""
        text = "".join(self._parts)
        size = len(text.rstrip(" "))
        spans = (Span(*values) for values in self._spans)  # type: ignore[arg-type]
        cut = (Span(span.tag, min(span.start, size), min(span.end, size), span.parent, span.empty) for span in spans)
        return Segment(text[:size], tuple(cut))


def _pieces(text: str) -> Sequence[str]:
    """The text cut at ASCII white space: words at even places, white space between them at odd places."""
    pieces, start, white = list[str](), 0, False
    for place, character in enumerate(text):
        if (character in WHITE) != white:
            pieces.append(text[start:place])
            start, white = place, not white
    pieces.append(text[start:])
    return pieces
