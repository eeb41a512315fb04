"""Reads and writes TMX 1.4, the translators' exchange format, as a stream of pairs.

XML entities are refused, since a few lines of them can expand to fill the memory. So are elements that nest deep, and a unit or a tag
that does not end. Nothing outside the file is fetched.
"""

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from regard.data.config import LANGUAGE_SETTINGS, find_language
from regard.data.opening import Readable
from regard.errors import DataError

LONGEST_UNIT = 16 << 20  # characters of a translation unit in all of its languages, and `_A_VARIANT` for each
LONGEST_TAG = 1 << 20  # bytes of a tag or a comment, which the parser holds whole
DEEPEST = 100  # elements inside of each other
_CHUNK = 1 << 16
_A_VARIANT = 100
_SHOWN_LANGUAGES = 20
# Elements of a segment that hold formatting codes, not text; <hi> holds text.
_CODES = frozenset({"bpt", "ept", "ph", "it", "ut", "sub"})

Unit = list[tuple[str, str]]  # (language tag, text) in the order of the file


def tmx_pairs(file: Readable, name: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    """One pair for each translation unit; a side that the unit lacks is empty."""
    has_both_languages, seen_languages = False, set[str]()
    for unit in _units(file, name):
        tags = [tag for tag, _ in unit]
        if len(seen_languages) <= _SHOWN_LANGUAGES:
            seen_languages.update(tags[: _SHOWN_LANGUAGES + 1])
        texts = dict(reversed(unit))  # the first of two variants in one language wins
        left, right = (find_language(language, tags) for language in (source, target))
        has_both_languages = has_both_languages or (left is not None and right is not None)
        yield "" if left is None else texts[left], "" if right is None else texts[right]
    if seen_languages and not has_both_languages:
        raise DataError(
            f"{name}: no unit in both {source!r} and {target!r}; its languages are {_listed(seen_languages)}: "
            f"set {LANGUAGE_SETTINGS}"
        )


def _listed(languages: set[str]) -> str:
    more = ", .." if len(languages) > _SHOWN_LANGUAGES else ""
    return ", ".join(sorted(languages)[:_SHOWN_LANGUAGES]) + more


def _units(file: Readable, name: str) -> Iterator[Unit]:
    reader, read = _UnitReader(name), 0
    try:
        while chunk := file.read(_CHUNK):
            reader.parser.Parse(chunk, False)
            read += len(chunk)
            if read - max(0, reader.parser.CurrentByteIndex) > LONGEST_TAG:
                reader.refuse_size("a tag or comment", LONGEST_TAG)
            yield from reader.take_complete()
        reader.parser.Parse(b"", True)
    except DataError:
        raise
    except (LookupError, ValueError) as error:  # of the parser: an encoding that it does not have
        raise DataError(
            f"{name}: encoding {reader.encoding!r} in its XML declaration cannot be read ({error}); "
            "convert the file to UTF-8 (iconv) and say so in its first line"
        ) from None
    except expat.ExpatError as error:
        raise DataError(
            f"{name}:{error.lineno}: not well-formed XML ({expat.ErrorString(error.code)}, column {error.offset + 1}); "
            "export the TMX file again"
        ) from None
    yield from reader.take_complete()


class _UnitReader:
    """The handlers of the XML parser; collects complete units."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.complete: list[Unit] = []
        self.unit: Unit = []
        self.language = ""
        self.segment: list[str] | None = None  # None outside of <seg>
        self.codes = 0  # depth of nested code elements
        self.started = False
        self.encoding: str | None = None
        self.depth = 0
        self.size = 0  # of the unit so far
        self.parser = expat.ParserCreate()
        self.parser.XmlDeclHandler = self.declare
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.refuse_declaration
        self.parser.SkippedEntityHandler = self.refuse_reference

    def take_complete(self) -> list[Unit]:
        complete, self.complete = self.complete, []
        return complete

    def start(self, element: str, attributes: dict[str, str]) -> None:
        if not self.started and element != "tmx":
            raise DataError(f"{self.name}: not TMX: the first element is <{element}>; export it as TMX 1.4")
        self.started = True
        self.depth += 1
        if self.depth > DEEPEST:
            line = self.parser.CurrentLineNumber
            raise DataError(f"{self.name}:{line}: elements nest more than {DEEPEST} deep; export the TMX file again")
        if element == "tu":
            self.unit, self.size = [], 0
        elif element == "tuv":
            self.grow(_A_VARIANT)
            self.language = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif element == "seg":
            self.segment, self.codes = [], 0
        elif element in _CODES:
            self.codes += 1

    def declare(self, version: str, encoding: str | None, standalone: int) -> None:
        self.encoding = encoding

    def end(self, element: str) -> None:
        self.depth -= 1
        if element == "tu":
            self.complete.append(self.unit)
            self.unit, self.size = [], 0
        elif element == "seg" and self.segment is not None:
            self.unit.append((self.language, "".join(self.segment)))
            self.segment = None
        elif element in _CODES:
            self.codes -= 1

    def characters(self, text: str) -> None:
        if self.segment is not None and self.codes == 0:
            self.grow(len(text))
            self.segment.append(text)

    def grow(self, characters: int) -> None:
        """Count what is held of a unit that is not at its end."""
        self.size += characters
        if self.size > LONGEST_UNIT:
            self.refuse_size("a unit", LONGEST_UNIT)

    def refuse_size(self, what: str, most: int) -> NoReturn:
        line = self.parser.CurrentLineNumber
        raise DataError(f"{self.name}:{line}: {what} of more than {most:,} bytes; export the TMX file again")

    def refuse_declaration(self, entity: str, *_: object) -> NoReturn:
        self.refuse(entity, "declares")

    def refuse_reference(self, entity: str, *_: object) -> NoReturn:
        self.refuse(entity, "uses")

    def refuse(self, entity: str, verb: str) -> NoReturn:
        line = self.parser.CurrentLineNumber
        raise DataError(f"{self.name}:{line}: {verb} the XML entity {entity!r}, which is not expanded; write it out")


_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # and surrogates, which no text of ours has
_HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header creationtool="regard" creationtoolversion="{version}" segtype="sentence" o-tmf="regard" adminlang="en" \
srclang={source} datatype="plaintext"/>
  <body>
"""
_FOOTER = "  </body>\n</tmx>\n"


class TmxText:
    """Writes TMX 1.4, a translation unit a pair. Characters that XML lacks become U+FFFD."""

    def __init__(self, file: BinaryIO, source: str, target: str) -> None:
        from importlib.metadata import version

        self._file = file
        start, middle = (f"<tuv xml:lang={quoteattr(language)}><seg>" for language in (source, target))
        self._parts = f"    <tu>{start}", f"</seg></tuv>{middle}", "</seg></tuv></tu>\n"
        self.altered = 0
        file.write(_HEADER.format(version=version("regard"), source=quoteattr(source)).encode())

    def write(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        start, middle, end = self._parts
        units = [
            f"{start}{self._escaped(source)}{middle}{self._escaped(target)}{end}"
            for source, target in zip(sources, targets, strict=True)
        ]
        self._file.write("".join(units).encode())

    def close(self) -> None:
        """Write what follows the last unit."""
        self._file.write(_FOOTER.encode())

    def _escaped(self, text: str) -> str:
        if not text.isprintable():  # a fast test that most texts pass
            plain = _NOT_XML.sub("\ufffd", text)
            self.altered += plain != text
            return escape(plain, {"\r": "&#13;"})  # a parser reads a plain one as "\n"
        return escape(text)
