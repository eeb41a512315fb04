"""HTML: pages and fragments. Text between block elements is a segment, inline elements are its tags, and the rest stays as it is.

Scripts, styles, comments, `<pre>`, `<code>`, pictures of SVG, formulas, and what says `translate="no"` stay as they are. So does every
attribute but `alt`, `title`, `placeholder` and `aria-label`.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape, unescape
from itertools import groupby, islice

from regard.documents.html_tokens import HtmlToken, attributes, html_tokens
from regard.documents.markup import Segment, SegmentBuilder
from regard.documents.patched import Encoding, check_size, decoded
from regard.documents.tags import Token, runs
from regard.errors import DocumentError

MOST_TOKENS = 1_000_000
"""Tags, texts and comments of a page: in memory one takes some 300 bytes, with three bytes in the file."""
_INLINE = """a abbr acronym b bdi bdo big cite data del dfn em font i ins label mark q rp rt ruby s small span strike strong sub
sup time tt u"""
INLINE = frozenset(_INLINE.split())
EMPTY_INLINE = frozenset({"br", "img", "wbr", "input"})
_VOID = "area base br col embed hr img input link meta param source track wbr"
VOID = frozenset(_VOID.split())
KEPT_INLINE = frozenset({"code", "kbd", "samp", "var", "svg", "math"})
"""Inline elements whose content is not translated."""
KEPT = (
    frozenset({"pre", "script", "style", "textarea", "xmp", "iframe", "noembed", "noframes", "object", "template"})
    | KEPT_INLINE
)
ENDS_BY_ITSELF = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "option"})
"""Elements that the next of their kind ends, or the end of what they are listed in."""
LISTS = frozenset({"ul", "ol", "dl", "table", "select", "div", "body"})
TRANSLATED_ATTRIBUTES = frozenset({"alt", "title", "placeholder", "aria-label"})

_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([-\w]{1,40})""", re.IGNORECASE)
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([-\w]{1,40})["']""", re.IGNORECASE)


class HtmlDocument:
    """A page as tokens, its runs of text and its attributes with text."""

    def __init__(self, page: str, encoding: Encoding, name: str) -> None:
        self._encoding = encoding
        self._html = list(islice(html_tokens(page), MOST_TOKENS + 1))
        if len(self._html) > MOST_TOKENS:
            raise DocumentError(f"{name}: a page has at most {MOST_TOKENS:,} tags, texts and comments; split it")
        self._tokens = _tokens(self._html)
        self._runs = list(runs(self._tokens))
        self._attributes = list(_attribute_slots(self._html, self._tokens))

    def segments(self) -> list[Segment]:
        """The texts to translate: those of the page, then those of attributes."""
        return [run.segment for run in self._runs] + [slot.segment for slot in self._attributes]

    def write(self, translations: Sequence[Segment | None]) -> bytes:
        """The page with a translation for each segment; None leaves it as it is."""
        texts, values = translations[: len(self._runs)], translations[len(self._runs) :]
        tokens = [Token(token.raw, token.kind) for token in self._tokens]
        changed = [pair for pair in zip(self._attributes, values, strict=True) if pair[1] is not None]
        for number, own in groupby(changed, key=lambda pair: pair[0].token):
            tokens[number].raw = "".join(_with_values(tokens[number].raw, own))
        parts, place = list[str](), 0
        for run, text in zip(self._runs, texts, strict=True):
            if text is not None:
                parts += (token.raw for token in tokens[place : run.first])
                parts.append(run.write(tokens, text, _escaped))
                place = run.last
        parts += (token.raw for token in tokens[place:])
        return self._encoding.encode("".join(parts))


class _AttributeSlot:
    """The value of an attribute that is translated."""

    def __init__(self, token: int, start: int, end: int, quote: str, segment: Segment) -> None:
        self.token, self.start, self.end, self._quote, self.segment = token, start, end, quote, segment

    def write(self, segment: Segment) -> str:
        value = escape(segment.text, quote=True)
        return value if self._quote else f'"{value}"'


def _with_values(raw: str, changed: Iterable[tuple[_AttributeSlot, Segment | None]]) -> Iterator[str]:
    """The parts of a tag with other values of its attributes, in order."""
    place = 0
    for slot, value in changed:
        if value is not None:
            yield raw[place : slot.start]
            yield slot.write(value)
            place = slot.end
    yield raw[place:]


def read(content: bytes, name: str = "document") -> HtmlDocument:
    """A page or a fragment, in UTF-8 or the encoding that it names."""
    check_size(content, name)
    charset = _DECLARED.match(content[:400]) or _CHARSET.search(content[:4096])
    codec = charset[1].decode("ascii").lower() if charset else "utf-8"
    marked = content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not marked and codec in _ONE_BYTE:
        # browsers read these names as Windows' code page
        page = content.decode(_ONE_BYTE[codec], "surrogateescape")
        return HtmlDocument(page, Encoding(_ONE_BYTE[codec], errors="regard.page"), name)
    page, encoding = decoded(content, name)
    return HtmlDocument(page, encoding, name)


_ONE_BYTE = {
    **dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii", "windows-1252", "cp1252"), "cp1252"),
    **{f"iso-8859-{number}": f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"windows-{number}": f"cp{number}" for number in (1250, 1251, 1253, 1254, 1255, 1256, 1257, 1258)},
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
}


def _unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    """Characters that a page's encoding lacks become references, and bytes that it could not read become themselves again."""
    assert isinstance(error, UnicodeEncodeError)
    result = b""
    for character in error.object[error.start : error.end]:
        code = ord(character)
        result += bytes([code - 0xDC00]) if 0xDC80 <= code <= 0xDCFF else b"&#%d;" % code
    return result, error.end


codecs.register_error("regard.page", _unencodable)


def _escaped(text: str) -> str:
    return escape(text, quote=False)


def _tokens(html: list[HtmlToken]) -> list[Token]:
    """The tokens of a page as text, inline tags and breaks."""
    tokens, place = list[Token](), 0
    while place < len(html):
        token = html[place]
        if token.kind == "start" and _is_kept(token):
            end = _end_of(html, place)
            inline = token.name in KEPT_INLINE or token.name in INLINE or token.name in EMPTY_INLINE
            # the parts of a kept element are one empty tag: the first has all of them, the others nothing
            tokens.append(Token("".join(part.raw for part in html[place:end]), "empty" if inline else "break"))
            tokens.extend(Token("", "empty") for _ in range(place + 1, end))
            place = end
            continue
        tokens.append(_token(token))
        place += 1
    return tokens


def _token(token: HtmlToken) -> Token:
    if token.kind == "text":
        return Token(token.raw, "text", unescape(token.raw))
    if token.kind == "other":
        is_comment = token.raw.startswith(("<!--", "<?", "</"))
        return Token(token.raw, "empty" if is_comment and token.raw.endswith(">") else "break")
    if token.name in EMPTY_INLINE and token.kind == "start":
        return Token(token.raw, "empty", separates=token.name == "br")
    if token.name in INLINE:
        return Token(token.raw, "open" if token.kind == "start" else "close", name=token.name)
    return Token(token.raw, "break")


def _is_kept(token: HtmlToken) -> bool:
    """Whether an element is not translated."""
    if token.name in KEPT:
        return True
    if "translate" not in token.raw.lower():  # also in the class of Google's translator, notranslate
        return False
    found = {attribute.name: attribute.value.lower() for attribute in attributes(token)}
    return found.get("translate") == "no" or "notranslate" in found.get("class", "").split()


def _end_of(html: list[HtmlToken], place: int) -> int:
    """The place behind an element; the end of the page if it has no end."""
    token = html[place]
    if token.name in VOID or (token.name in ("svg", "math") and token.raw.endswith("/>")):
        return place + 1
    depth, lists = 0, 0
    may_end = token.name in ENDS_BY_ITSELF
    for other in range(place, len(html)):
        kind, name = html[other].kind, html[other].name
        if may_end and name in LISTS:
            lists += 1 if kind == "start" else -1
            if lists < 0:
                return other
        if name != token.name or lists:
            continue
        if kind == "start":
            if may_end and other > place:
                return other
            depth += not (html[other].raw.endswith("/>") and name in ("svg", "math"))
        else:
            depth -= 1
            if depth == 0:
                return other + 1
    return len(html)


def _attribute_slots(html: list[HtmlToken], tokens: list[Token]) -> list[_AttributeSlot]:
    """The attributes with text, of all elements that are not kept."""
    slots = list[_AttributeSlot]()
    for place, token in enumerate(html):
        if token.kind != "start" or tokens[place].raw != token.raw or token.name in KEPT or _is_kept(token):
            continue
        for attribute in attributes(token):
            if attribute.name in TRANSLATED_ATTRIBUTES and any(map(str.isalpha, unescape(attribute.value))):
                builder = SegmentBuilder()
                builder.text(unescape(attribute.value))
                slots.append(_AttributeSlot(place, attribute.start, attribute.end, attribute.quote, builder.segment()))
    return slots
