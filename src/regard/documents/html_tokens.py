"""Cuts HTML into tokens, as browsers do, in linear time. Together the tokens are the page, character for character.

A tag or comment that does not end is one token up to the end of the page. Nothing is expanded or fetched.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

RAW = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title"})
"""Elements whose content has no tags."""

_NAME = r"[a-zA-Z][^\s/>]*+"
_ATTRIBUTE = r"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+|(?=>)))?+"""
_MARKUP = re.compile(
    rf"<!--(?:-?>|.*?(?:--!?>|\Z))|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?][^>]*+(?:>|\Z)|</(?![a-zA-Z])[^>]*+(?:>|\Z)"
    rf"|<(?P<end>/?)(?P<name>{_NAME})(?P<attributes>(?:\s++|/|{_ATTRIBUTE})*+)(?P<close>>?)",
    re.DOTALL,
)
_ATTRIBUTES = re.compile(
    r"""(?P<name>[^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?P<bare>[^\s>"'][^\s>]*+)))?+"""
)


@dataclass(slots=True)
class HtmlToken:
    """A part of a page."""

    kind: Literal["text", "start", "end", "other"]
    raw: str
    name: str = ""
    """Of a tag, in small letters."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a start tag, and where its value stands in the tag."""

    name: str
    value: str
    start: int
    end: int
    quote: str


def html_tokens(page: str) -> Iterator[HtmlToken]:
    """The tokens of a page."""
    place = 0
    while place < len(page):
        start = page.find("<", place)
        match = None
        while start >= 0 and (match := _MARKUP.match(page, start)) is None:
            start = page.find("<", start + 1)  # a "<" that begins nothing is text
        if match is None:
            yield HtmlToken("text", page[place:])
            return
        if start > place:
            yield HtmlToken("text", page[place:start])
        if match["name"] is None:
            yield HtmlToken("other", match[0])
            place = match.end()
        elif not match["close"]:  # it does not end
            yield HtmlToken("other", page[start:])
            return
        else:
            name = match["name"].lower()
            yield HtmlToken("end" if match["end"] else "start", match[0], name)
            place = match.end()
            if not match["end"] and name in RAW:
                closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, place)
                end = len(page) if closing is None else closing.start()
                if end > place:
                    yield HtmlToken("text" if name == "title" else "other", page[place:end])
                place = end


def attributes(token: HtmlToken) -> Iterator[Attribute]:
    """The attributes of a start tag, with their values as they are written."""
    for match in _ATTRIBUTES.finditer(token.raw, 1 + len(token.name), len(token.raw) - 1):
        for group, quote in (("double", '"'), ("single", "'"), ("bare", "")):
            if match[group] is not None:
                yield Attribute(match["name"].lower(), match[group], *match.span(group), quote)
                break
        else:
            yield Attribute(match["name"].lower(), "", match.end(), match.end(), "")
