"""Subtitles: SubRip (srt) and WebVTT. A cue is a segment, or what each person says if it is a dialogue with dashes, which stay.

A cue ends at a blank line, or at the next time code where that line is missing.

Numbers, time codes, settings of cues, styles and notes are not touched. The text of a cue is broken into lines of about the same length.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape, unescape
from itertools import pairwise

from regard.documents.lines import balanced
from regard.documents.markup import Segment
from regard.documents.patched import Slot, TextDocument, decoded, line_end, line_of
from regard.documents.tags import Run, Token, runs
from regard.errors import DocumentError

WIDTH = 42
"""Characters of a line of a subtitle, as broadcasters set them. A cue with longer lines keeps its own width."""

_SRT_TIME = r"\d{1,3}:\d{1,2}:\d{1,2}(?:[,.]\d{1,3})?"
_VTT_TIME = r"(?:\d{2,}:)?\d{2}:\d{2}\.\d{3}"
_SRT_TIMES = re.compile(rf"^[ \t]*+{_SRT_TIME}[ \t]*+-->[ \t]*+{_SRT_TIME}[^\r\n]*+", re.MULTILINE)
_VTT_TIMES = re.compile(rf"^[ \t]*+{_VTT_TIME}[ \t]++-->[ \t]++{_VTT_TIME}[^\r\n]*+", re.MULTILINE)
_SRT_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z]++)[^<>\r\n]*+>|\{[^{}\r\n]*+\}")
_VTT_TAG = re.compile(rf"<(?:(?P<end>/?)(?P<name>[a-z]++)[^<>]*+|{_VTT_TIME})>")
_DASH = r"[-–—][ \t]?(?=\S)"
_SPEAKER = re.compile(rf"[ \t]*+(?:<[^<>]*+>|\{{[^{{}}]*+\}})*+{_DASH}")
_FIRST_DASH = re.compile(rf"[ \t]*+{_DASH}")
_FURTHER_DASH = re.compile(r"(?<=[.!?…»”\"])[ \t]+[-–—][ \t](?=\S)")
_BLANK = re.compile(r"(?>\r\n|\n|\r)[ \t]*+(?=\r\n|\n|\r|\Z)")
_LINE = re.compile(r"[^\r\n]++")
_NUMBER = re.compile(r"[ \t]*+\d++[ \t]*+")


def read_srt(content: bytes, name: str = "document") -> TextDocument:
    """A document of SubRip."""
    text, encoding = decoded(content, name)
    if text.strip() and not _SRT_TIMES.search(text):
        raise DocumentError(f"{name}:1: no time code such as 00:00:01,000 --> 00:00:02,500; is it SubRip (srt)?")
    return TextDocument(text, encoding, list(_slots(text, _SRT_TIMES, _srt_token, unescapes=False)))


def read_vtt(content: bytes, name: str = "document") -> TextDocument:
    """A document of WebVTT."""
    text, encoding = decoded(content, name)
    if not re.match(r"WEBVTT(?:[ \t\r\n]|\Z)", text):
        raise DocumentError(f"{name}:{line_of(text, 0)}: WebVTT begins with the line WEBVTT; is it of another format?")
    return TextDocument(text, encoding, list(_slots(text, _VTT_TIMES, _vtt_token, unescapes=True)))


def _slots(
    text: str, times: re.Pattern[str], token_of: Callable[[re.Match[str]], Token], *, unescapes: bool
) -> Iterator[Slot]:
    """The texts of all cues."""
    end_of_line = line_end(text)
    found = list(times.finditer(text))
    stops = [*(match.start() for match in found[1:]), len(text)]
    for match, stop in zip(found, stops, strict=False):
        blank = _BLANK.search(text, match.end(), stop)  # for it the line end before `stop` is one, too
        end = stop if blank is None else blank.start()
        lines = [line.span() for line in _LINE.finditer(text, match.end(), max(match.end(), end))]
        reaches_next = blank is not None and blank.end() == stop < len(text)
        if reaches_next and lines and not unescapes and _NUMBER.fullmatch(text, *lines[-1]):
            lines.pop()  # the number of the next cue, without a blank line before it
        width = max([WIDTH, *(stop - start for start, stop in lines)])
        for start, stop in _speeches(text, lines):
            tokens = _tokens(text[start:stop], _VTT_TAG if unescapes else _SRT_TAG, token_of, unescapes=unescapes)
            if _SPEAKER.match(text, start, stop):
                tokens = _without_dashes(tokens)
            one_of_several = len(lines) > 1 and text[start:stop].splitlines() == [text[start:stop]]
            yield from _cue(list(tokens), start, 0 if one_of_several else width, end_of_line, unescapes=unescapes)


def _speeches(text: str, lines: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """From .. up to of what each person says: a dash begins each, and its further lines have none. Without a first dash, the whole cue."""
    if not lines:
        return []
    begins = [number for number, line in enumerate(lines) if _SPEAKER.match(text, *line)]
    if begins[:1] != [0]:
        return [(lines[0][0], lines[-1][1])]
    return [(lines[begin][0], lines[after - 1][1]) for begin, after in pairwise([*begins, len(lines)])]


def _without_dashes(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens of a speech with its dashes apart, which the model does not see."""
    first = True
    for token in tokens:
        if token.kind != "text":
            yield token
            continue
        place, dashes = 0, _FURTHER_DASH.finditer(token.raw)
        begin = _FIRST_DASH.match(token.raw) if first else None
        for match in [*([begin] if begin else []), *dashes]:
            if match.start() > place:
                yield _part(token, place, match.start())
            yield Token(match[0], "break")
            place = match.end()
        if place < len(token.raw):
            yield _part(token, place, len(token.raw))
        first = False


def _part(token: Token, start: int, stop: int) -> Token:
    raw = token.raw[start:stop]
    return Token(raw, "text", raw if token.raw == token.text else unescape(raw))


def _cue(tokens: list[Token], start: int, width: int, end_of_line: str, *, unescapes: bool) -> Iterator[Slot]:
    places = [start]
    for token in tokens:
        places.append(places[-1] + len(token.raw))
    for run in runs(tokens):
        yield Slot(
            places[run.first],
            places[run.last],
            run.segment,
            _writer(run, tokens, width, end_of_line, unescapes=unescapes),
        )


def _writer(
    run: Run, tokens: list[Token], width: int, end_of_line: str, *, unescapes: bool
) -> Callable[[Segment], str]:
    def escaped(text: str) -> str:
        return (escape(text, quote=False) if unescapes else text).replace("\n", end_of_line)

    return lambda segment: run.write(tokens, balanced(segment, width) if width else segment, escaped)


def _tokens(
    text: str, tag: re.Pattern[str], token_of: Callable[[re.Match[str]], Token], *, unescapes: bool
) -> Iterator[Token]:
    place = 0
    for match in tag.finditer(text):
        if match.start() > place:
            raw = text[place : match.start()]
            yield Token(raw, "text", unescape(raw) if unescapes else raw)
        yield token_of(match)
        place = match.end()
    if place < len(text):
        raw = text[place:]
        yield Token(raw, "text", unescape(raw) if unescapes else raw)


def _srt_token(match: re.Match[str]) -> Token:
    return _token(match, "" if match["name"] is None else match["name"].lower())


def _vtt_token(match: re.Match[str]) -> Token:
    return _token(match, match["name"] or "")


def _token(match: re.Match[str], name: str) -> Token:
    if not name or name == "br":
        return Token(match[0], "empty", separates=name == "br")
    return Token(match[0], "close" if match["end"] else "open", name=name)
