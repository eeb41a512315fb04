"""gettext's PO: `msgid` is translated into `msgstr`. Only the lines of a `msgstr` are written anew.

An entry that has a translation keeps it; one that is marked `fuzzy` is translated anew and keeps the mark. The plural forms of an entry
get the translations of `msgid` and `msgid_plural`. The header and obsolete entries (`#~`) stay.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from regard.documents.markup import Segment, SegmentBuilder
from regard.documents.patched import Encoding, decoded, line_end
from regard.errors import DocumentError

WIDTH = 77
"""Characters of a line, quotes included, beyond which gettext's programs fold a string."""

_LINE = re.compile(r"(?P<line>[^\r\n]*+)(?:\r\n|\n|\r|\Z)")
_KEYWORD = re.compile(r'(?P<word>msgctxt|msgid_plural|msgid|msgstr)(?:\[(?P<form>\d{1,2})\])?[ \t]*+(?=")')
_WHOLE_LINE = re.compile(r"[^\n]*+\n|[^\n]++")
_LIST_MARK = re.compile(r"[-*\u2022\u2013]\s++")
_STRING = re.compile(r'"(?P<text>(?:[^"\\\r\n]|\\.)*+)"[ \t]*+$')
_ESCAPE = re.compile(r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}


@dataclass
class _Entry:
    """An entry: its strings, and where the lines of each translation stand."""

    fuzzy: bool = False
    lines: dict[str, list[str]] = field(default_factory=dict)
    """The lines of each string, by keyword; those of `msgstr` with their form in brackets."""
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def ids(self) -> dict[str, str]:
        """`msgid` and `msgid_plural`."""
        return {key: "".join(lines) for key, lines in self.lines.items() if not key.startswith("msgstr")}

    @cached_property
    def translations(self) -> dict[str, str]:
        """The text of each form."""
        return {key[7:-1]: "".join(lines) for key, lines in self.lines.items() if key.startswith("msgstr")}


@dataclass(frozen=True)
class _Slot:
    start: int
    end: int
    form: str
    lines: tuple["_Line", ...]
    """The lines of the entry. Its translation has the same line breaks: gettext demands those at the ends."""


@dataclass(frozen=True)
class _Line:
    """A line of an entry: white space and a list mark, the text, white space and the line break."""

    before: str
    text: str
    after: str
    segment: int | None
    """The segment whose translation stands for the text; None: the text stays."""


class PoDocument:
    """A file of entries."""

    def __init__(self, text: str, encoding: Encoding, name: str) -> None:
        self._text, self._encoding, self._end = text, encoding, line_end(text)
        self._segments = list[Segment]()
        self._slots = list[_Slot]()
        for entry in _entries(text, name):
            self._add(entry)

    def _add(self, entry: _Entry) -> None:
        wanted = [text for text in entry.ids.values() if any(map(str.isalpha, text))]
        missing = entry.fuzzy or not any(entry.translations.values())
        if not entry.ids.get("msgid") or not wanted or not missing:  # the header has an empty msgid
            return
        lines = {key: tuple(self._lines_of(text)) for key, text in entry.ids.items()}
        for form, (start, end) in entry.ranges.items():
            plural = form not in ("", "0") and "msgid_plural" in entry.ids
            self._slots.append(_Slot(start, end, form, lines["msgid_plural" if plural else "msgid"]))

    def _lines_of(self, text: str) -> Iterator["_Line"]:
        """The lines of a text, and a segment for each that has words."""
        for line in _WHOLE_LINE.findall(text):
            body = line.strip()
            start = line.index(body) if body else 0
            end = start + len(body)
            if mark := _LIST_MARK.match(body):
                start += mark.end()
            segment = None
            if any(map(str.isalpha, line)):
                builder = SegmentBuilder()
                builder.text(line[start:end])
                segment = len(self._segments)
                self._segments.append(builder.segment())
            yield _Line(line[:start], line[start:end], line[end:], segment)

    def segments(self) -> list[Segment]:
        """The texts to translate."""
        return self._segments

    def write(self, translations: Sequence[Segment | None]) -> bytes:
        """The file with a translation for each segment; for None it is the text itself."""
        parts, place = list[str](), 0
        for slot in self._slots:
            text = "".join(_translated(line, translations) for line in slot.lines)
            keyword = f"msgstr[{slot.form}]" if slot.form else "msgstr"
            parts += (self._text[place : slot.start], self._end.join(_written(keyword, text)))
            place = slot.end
        return self._encoding.encode("".join([*parts, self._text[place:]]))


def read(content: bytes, name: str = "document") -> PoDocument:
    """A document of gettext."""
    text, encoding = decoded(content, name)
    return PoDocument(text, encoding, name)


def _entries(text: str, name: str) -> Iterator[_Entry]:
    """The entries of a file."""
    entry, key, number = _Entry(), "", 0
    for match in _LINE.finditer(text):
        number += 1
        line = match["line"].strip()
        if match.start() == len(text):
            break
        if line.startswith("#~") or not line:
            if line or entry.ranges:
                yield entry
                entry = _Entry()
            key = ""
            continue
        if line.startswith("#"):
            if entry.ranges:
                yield entry
                entry = _Entry()
            entry.fuzzy |= line.startswith("#,") and "fuzzy" in re.split(r"[,\s]+", line[2:])
            key = ""
            continue
        keyword = _KEYWORD.match(line)
        if keyword is not None:
            word = keyword["word"]
            if word in ("msgctxt", "msgid") and entry.ranges:
                yield entry
                entry = _Entry()
            key = f"{word}[{keyword['form'] or ''}]" if word == "msgstr" else word
            if word == "msgstr":
                entry.ranges[keyword["form"] or ""] = match.span("line")
            rest = line[keyword.end() :]
        else:
            rest = line
        string = _STRING.match(rest)
        if string is None or not key:
            raise DocumentError(f'{name}:{number}: neither a comment nor a string such as msgid "text"; is it PO?')
        value = _ESCAPE.sub(_unescaped, string["text"])
        if key.startswith("msgstr["):
            form = key[7:-1]
            entry.ranges[form] = entry.ranges[form][0], match.end("line")
        if key != "msgctxt":
            entry.lines.setdefault(key, []).append(value)
    yield entry


def _unescaped(match: re.Match[str]) -> str:
    code = match[0][1:]
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _NAMED.get(code, code)


def _translated(line: _Line, translations: Sequence[Segment | None]) -> str:
    """A line with its translation, if there is one."""
    translation = None if line.segment is None else translations[line.segment]
    return line.before + (line.text if translation is None else translation.text) + line.after


def _written(keyword: str, text: str) -> list[str]:
    """The lines of a string, folded as gettext's programs do."""
    lines = [_escaped(line) for line in text.splitlines(keepends=True)] if "\n" in text else [_escaped(text)]
    if len(lines) == 1 and len(keyword) + 3 + len(lines[0]) <= WIDTH + 2:
        return [f'{keyword} "{lines[0]}"']
    folded = [f'{keyword} ""']
    for line in lines:
        place = 0
        while len(line) - place + 2 > WIDTH:
            cut = line.rfind(" ", place, place + WIDTH - 2) + 1
            if cut == 0:
                cut = line.find(" ", place) + 1 or len(line)
            if cut >= len(line):
                break
            folded.append(f'"{line[place:cut]}"')
            place = cut
        folded.append(f'"{line[place:]}"')
    return folded


def _escaped(text: str) -> str:
    named = {character: f"\\{code}" for code, character in _NAMED.items()}
    return "".join(named.get(character, character) for character in text)
