"""From a text with tags as a stream of tokens to segments: runs between breaks in which every tag has its partner.

A tag without its partner in the run breaks it, so that it stays where it is. The formats make the tokens and give them their meaning.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from regard.documents.markup import WHITE, Segment, SegmentBuilder, events

Kind = Literal["text", "open", "close", "empty", "break"]


@dataclass(slots=True)
class Token:
    """A part of a document as it is written, and what it is."""

    raw: str
    kind: Kind
    text: str = ""
    """Of a text: without escapes."""
    name: str = ""
    """Of a tag that opens or closes."""
    separates: bool = False
    """Of an empty tag: whether it breaks the line. It ends the text, unless a small letter goes on with the sentence."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive tokens that are one segment. Tags are numbered by the place of their first token in the document."""

    first: int
    last: int
    """The place behind the last token."""
    segment: Segment
    closing: dict[int, int] = field(default_factory=dict)
    """The place of the token that closes each tag."""

    def write(self, tokens: Sequence[Token], segment: Segment, escape: Callable[[str], str]) -> str:
        """The run with another text. White space at its ends is kept."""
        before, after = self.white_space([tokens[self.first], tokens[self.last - 1]])
        parts = [before]
        for event in events(segment):
            if event.kind == "text":
                parts.append(escape(event.text))
            else:
                place = self.closing[event.tag] if event.kind == "close" else event.tag
                parts.append(tokens[place].raw)
        return "".join([*parts, after])

    def white_space(self, ends: Sequence[Token]) -> tuple[str, str]:
        """The white space at the beginning of its first token and at the end of its last."""
        head, tail = ends[0], ends[-1]
        before = head.raw[: len(head.raw) - len(head.raw.lstrip(WHITE))] if head.kind == "text" else ""
        return before, tail.raw[len(tail.raw.rstrip(WHITE)) :] if tail.kind == "text" else ""


def runs(tokens: Sequence[Token]) -> Iterator[Run]:
    """The runs that hold words, in order."""
    start, ends = 0, _ends_of_texts(tokens)
    for place in range(len(tokens) + 1):
        if place == len(tokens) or tokens[place].kind == "break" or place in ends:
            if start < place:
                yield from _whole_runs(tokens, start, place)
            start = place + 1


def _ends_of_texts(tokens: Sequence[Token]) -> set[int]:
    """The line breaks that end a text.

    Others do not: the next letter of the text is a small one, or the break is in a tag that has a part of its sentence only.
    """
    ends, goes_on, within = set[int](), False, _within_sentences(tokens)
    for place in range(len(tokens) - 1, -1, -1):
        token = tokens[place]
        text = token.text.strip(WHITE) if token.kind == "text" else ""
        if token.kind == "break":
            goes_on = False
        elif text:
            goes_on = text[0].islower()
        elif place in within:
            continue
        elif token.separates and not goes_on:
            ends.add(place)
        elif token.separates:  # of two breaks the first one ends a text
            goes_on = False
    return ends


def _within_sentences(tokens: Sequence[Token]) -> set[int]:
    """The line breaks inside of a tag with words beside it: an end there would part these words from theirs in the tag."""
    if not any(token.separates for token in tokens):
        return set()
    before, after = (
        _with_words_before(tokens, range(len(tokens))),
        _with_words_before(tokens, reversed(range(len(tokens)))),
    )
    found, start = set[int](), 0
    for place in range(len(tokens) + 1):
        if place == len(tokens) or tokens[place].kind == "break":
            closing, _ = _partners(tokens, start, place)
            beside = {one: other for one, other in closing.items() if one in before or other in after}
            least = start
            for one, other in sorted(beside.items()):
                found.update(number for number in range(max(one, least), other) if tokens[number].separates)
                least = max(least, other)
            start = place + 1
    return found


def _with_words_before(tokens: Sequence[Token], places: Iterable[int]) -> set[int]:
    """The tags that have words before them, in an order of reading, and no line break or other break between."""
    found, words = set[int](), False
    for place in places:
        token = tokens[place]
        if token.kind == "break" or token.separates:
            words = False
        elif token.kind == "text":
            words = words or any(map(str.isalnum, token.text))
        elif words and token.kind != "empty":
            found.add(place)
    return found


def _whole_runs(tokens: Sequence[Token], first: int, last: int) -> Iterator[Run]:
    """The runs between two breaks. Cutting at a tag without its partner may part others, so it is repeated: three times at most."""
    waiting = [(first, last)]
    while waiting:
        first, last = waiting.pop()
        closing, alone = _partners(tokens, first, last)
        if alone:
            cuts = [first - 1, *alone, last]
            pieces = [(one + 1, other) for one, other in itertools.pairwise(cuts) if one + 1 < other]
            waiting.extend(reversed(pieces))
            continue
        first, last = _trimmed(tokens, first, last, closing)
        if first < last:
            yield _run(tokens, first, last, closing)


def _partners(tokens: Sequence[Token], first: int, last: int) -> tuple[dict[int, int], list[int]]:
    """Which token closes which, and the tags without a partner, in order."""
    opened, counts = list[int](), dict[str, int]()
    closing, alone = dict[int, int](), list[int]()
    for place in range(first, last):
        token = tokens[place]
        if token.kind == "open":
            opened.append(place)
            counts[token.name] = counts.get(token.name, 0) + 1
        elif token.kind == "close":
            if not counts.get(token.name):
                alone.append(place)
                continue
            while tokens[opened[-1]].name != token.name:
                counts[tokens[opened[-1]].name] -= 1
                alone.append(opened.pop())
            counts[token.name] -= 1
            closing[opened.pop()] = place
    return closing, sorted(alone + opened)


def _trimmed(tokens: Sequence[Token], first: int, last: int, closing: dict[int, int]) -> tuple[int, int]:
    """The part without blank texts and empty tags at its ends, and without tags around all of it; nothing if no letter is left."""
    while first < last:
        if _is_outside(tokens[first]):
            first += 1
        elif _is_outside(tokens[last - 1]):
            last -= 1
        elif closing.get(first) == last - 1:
            first, last = first + 1, last - 1
        else:
            break
    has_letters = any(token.kind == "text" and any(map(str.isalpha, token.text)) for token in tokens[first:last])
    return (first, last) if has_letters else (first, first)


def _is_outside(token: Token) -> bool:
    return token.kind == "empty" or (token.kind == "text" and not token.text.strip(WHITE))


def _run(tokens: Sequence[Token], first: int, last: int, closing: dict[int, int]) -> Run:
    builder = SegmentBuilder()
    for place in range(first, last):
        token = tokens[place]
        if token.kind == "text":
            builder.text(token.text)
        elif token.kind == "open":
            builder.open(place)
        elif token.kind == "close":
            builder.close()
        elif token.raw:
            builder.empty(place, separates=token.separates)
    return Run(first, last, builder.segment(), {one: other for one, other in closing.items() if first <= one < last})
