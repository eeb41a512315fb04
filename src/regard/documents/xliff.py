"""XLIFF 1.2 and 2.0: `<source>` is translated into `<target>`, with its inline elements in their new places.

A unit with a translation keeps it, and so does one that says `translate="no"`. Halves of a tag (`bpt` and `ept`, `bx` and `ex`, `sc` and
`ec`) are one tag if they belong together in their text.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy

from lxml import etree

from regard.documents.elements import Part, write_parts
from regard.documents.languages import StatedLanguages
from regard.documents.markup import Segment
from regard.documents.patched import check_size
from regard.documents.tags import Token, runs
from regard.documents.xml import local_name, parse, serialised
from regard.errors import DocumentError

VERSIONS = ("1.1", "1.2", "2.0", "2.1", "2.2")
AROUND = frozenset({"g", "pc", "mrk", "sub"})
"""Inline elements with text."""
HALVES = {"bpt": "ept", "bx": "ex", "sc": "ec"}
_STATES = frozenset({"translated", "final", "signed-off", "reviewed"})


class _Unit:
    """A source that is translated, as tokens."""

    def __init__(self, source: "etree._Element") -> None:
        self.source = source
        self.parts = list(_parts(source))
        self.runs = list(runs([part.token for part in self.parts]))

    def write(self, translations: Sequence[Segment | None]) -> None:
        """Make or fill the target beside the source."""
        target = self._target()
        target.text = None
        for child in list(target):
            target.remove(child)
        write_parts(self.parts, self.runs, translations, _Writer(target))

    def _target(self) -> "etree._Element":
        """The target of the source, made if there is none."""
        parent = self.source.getparent()
        assert parent is not None
        for child in parent:
            if local_name(child) == "target":
                return child
        space = etree.QName(self.source).namespace
        target = etree.Element(f"{{{space}}}target" if space else "target")
        before = [child for child in parent if local_name(child) in ("source", "seg-source")]
        target.tail = before[-1].tail
        before[-1].addnext(target)
        return target


class _Writer:
    """Appends texts and elements inside of a target."""

    def __init__(self, target: "etree._Element") -> None:
        self._stack = [target]

    def text(self, text: str) -> None:
        inside = self._stack[-1]
        last = next(inside.iterchildren(reversed=True), None)  # `len` would count all children
        if last is not None:
            last.tail = (last.tail or "") + text
        else:
            inside.text = (inside.text or "") + text

    def add(self, part: Part) -> None:
        if part.token.kind == "text":
            self.text(part.token.raw)
        elif part.element is None:  # the end of an element with text
            self._stack.pop()
        else:
            around = part.token.kind == "open" and local_name(part.element) in AROUND
            copied = (
                etree.Element(part.element.tag, part.element.attrib, part.element.nsmap)
                if around
                else deepcopy(part.element)
            )
            copied.tail = None
            self._stack[-1].append(copied)
            if around:
                self._stack.append(copied)


class XliffDocument:
    """A file of units."""

    def __init__(self, content: bytes, name: str, language: str | None = None) -> None:
        self._content = content
        self._tree = parse(content, name)
        root = self._tree.getroot()
        if local_name(root) != "xliff" or root.get("version") not in VERSIONS:
            version = root.get("version") if local_name(root) == "xliff" else f"<{local_name(root)}>"
            raise DocumentError(f"{name}:1: {version} is not XLIFF of version {', '.join(VERSIONS)}")
        self._units = [_Unit(source) for source in root.iter(etree.Element) if _is_wanted(source)]
        self.languages = tuple(dict.fromkeys(map(_languages, {_holder(unit.source): None for unit in self._units})))

    def segments(self) -> list[Segment]:
        """The texts to translate."""
        return [run.segment for unit in self._units for run in unit.runs]

    def write(self, translations: Sequence[Segment | None]) -> bytes:
        """The file with a target for each source."""
        place = 0
        for unit in self._units:
            unit.write(translations[place : place + len(unit.runs)])
            place += len(unit.runs)
        return serialised(self._tree, self._content)


def read(content: bytes, name: str = "document") -> XliffDocument:
    """A document of XLIFF."""
    check_size(content, name)
    return XliffDocument(content, name)


def _holder(source: "etree._Element") -> "etree._Element":
    """The element that states the languages of a source: its `<file>`, in XLIFF 2 the whole."""
    for element in source.iterancestors():
        if local_name(element) == "xliff" or (local_name(element) == "file" and element.get("source-language")):
            return element
    raise AssertionError("the root is an ancestor")


def _languages(holder: "etree._Element") -> StatedLanguages:
    """The languages that an element states."""
    source = holder.get("source-language") or holder.get("srcLang")
    return StatedLanguages(source, holder.get("target-language") or holder.get("trgLang"), holder.sourceline or 1)


def _is_wanted(source: "etree._Element") -> bool:
    """Whether a source has words, no translation, and may be translated."""
    parent = source.getparent()
    if local_name(source) != "source" or parent is None or local_name(parent) not in ("trans-unit", "segment"):
        return False
    if any(local_name(other) == "source" for other in source.itersiblings(preceding=True)):
        return False  # a unit has one source
    for element in (parent, *parent.iterancestors()):
        wanted = element.get("translate")
        if wanted == "no":
            return False
        if wanted == "yes":
            break
    state = parent.get("state")
    for child in parent:
        if local_name(child) == "target" and (
            "".join(child.itertext()).strip() or (state or child.get("state")) in _STATES
        ):
            return False
    return any(map(str.isalpha, "".join(source.itertext())))


def _parts(source: "etree._Element") -> Iterator[Part]:
    """Texts and tags of a source. Its elements nest at most as deep as `xml.parse` allows."""
    halves = _halves(source)
    if source.text:
        yield Part(Token(source.text, "text", source.text))
    for child in source:
        yield from _element_parts(child, halves)


def _element_parts(element: "etree._Element", halves: "dict[etree._Element, str]") -> Iterator[Part]:
    name = local_name(element)
    if name in AROUND and element.get("translate") != "no":
        # each has a partner: its name only needs to be another one than those of halves
        yield Part(Token(f"<{name}>", "open", name=name), element)
        if element.text:
            yield Part(Token(element.text, "text", element.text))
        for child in element:
            yield from _element_parts(child, halves)
        yield Part(Token(f"</{name}>", "close", name=name))
    elif element in halves:
        kind = "open" if name in HALVES else "close"
        yield Part(Token(f"<{name}/>", "open" if kind == "open" else "close", name=halves[element]), element)
    else:
        yield Part(Token(f"<{name}/>", "empty"), element)
    if element.tail:
        yield Part(Token(element.tail, "text", element.tail))


def _halves(source: "etree._Element") -> "dict[etree._Element, str]":
    """The halves of tags whose other half is in the same element, with a name for both."""
    found = dict[tuple[str, str], list[etree._Element]]()
    for element in source.iterdescendants():
        name = local_name(element)
        for first, second in HALVES.items():
            if name in (first, second):
                key = (
                    element.get("startRef")
                    if name == "ec"
                    else element.get("rid") or element.get("i") or element.get("id")
                )
                found.setdefault((first, key or ""), []).append(element)
    names = dict[etree._Element, str]()
    for (first, key), pair in found.items():
        if len(pair) == 2 and local_name(pair[0]) == first and local_name(pair[1]) == HALVES[first]:
            names.update((element, f"{first}:{key}") for element in pair)
    return names
