"""Word documents (docx): a paragraph is a segment. Runs of one style, links and objects are its tags.

Translated are the paragraphs of the body, its tables and text boxes, headers, footers, footnotes and endnotes. All other parts of the zip
file are copied. Fields such as page numbers and tables of contents, formulas and deleted text stay as they are.
"""

import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path

from lxml import etree

from regard.documents.elements import Part, write_parts
from regard.documents.markup import Segment
from regard.documents.patched import check_size
from regard.documents.tags import Run, Token, runs
from regard.documents.xml import MOST_ELEMENTS, elements_of, local_name, parse, serialised
from regard.errors import DocumentError
from regard.zips import ZipKind, zip_of_bytes

KIND = ZipKind("a Word document", DocumentError, times=200, free_bytes=8 << 20)
MOST_BYTES = 32 << 20
"""Of all parts with text, unpacked."""
MOST_STYLES = 128 << 20
"""Bytes of styles that a translation writes. Each of its runs has a copy of a style, which a small file can make large."""
BODY = "word/document.xml"
_PARTS = ("word/document", "word/header", "word/footer", "word/footnotes", "word/endnotes")
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_AROUND = frozenset({"hyperlink", "ins", "smartTag", "customXml"})
"""Elements around runs."""
_NOTHING = frozenset({"proofErr", "lastRenderedPageBreak", "softHyphen"})
"""Elements that a program sets anew."""
_BREAKS = frozenset({"br", "cr", "tab", "ptab"})
"""Elements between which a text of its own stands."""
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


class _Styles:
    """The styles of a document: a key of each, made once, and how many bytes of them were written."""

    def __init__(self, name: str) -> None:
        self._name, self._written = name, 0
        self._keys = dict["etree._Element", bytes]()

    def key(self, style: "etree._Element | None") -> bytes:
        """A key that tells one style from another."""
        if style is None:
            return b"plain"
        if style not in self._keys:
            self._keys[style] = _key(style)
        return self._keys[style]

    def copy(self, style: "etree._Element") -> "etree._Element":
        """A copy to write."""
        self._written += len(self.key(style))
        if self._written > MOST_STYLES:
            raise DocumentError(
                f"{self._name}: the styles of its translation have more than {MOST_STYLES:,} bytes; split the document"
            )
        return deepcopy(style)


class _Paragraph:
    """A paragraph as tokens. The most frequent style of its letters is no tag."""

    __slots__ = ("_styles", "_usual", "_usual_key", "_w", "element", "parts", "runs")

    def __init__(self, element: "etree._Element", styles: _Styles) -> None:
        self.element, self._styles = element, styles
        space = etree.QName(element).namespace
        self._w = f"{{{space}}}"
        parts = list(self._parts_of(element))
        letters = Counter[bytes]()
        for part in parts:
            if part.token.kind == "text":
                letters[styles.key(part.style)] += sum(map(str.isalpha, part.token.text))
        self._usual_key = max(letters, key=letters.__getitem__, default=b"")
        self._usual = next((part.style for part in parts if styles.key(part.style) == self._usual_key), None)
        self.parts = self._with_styles(parts)
        self.runs: list[Run] = list(runs([part.token for part in self.parts]))

    def _parts_of(self, element: "etree._Element") -> Iterator[Part]:
        """The content of a paragraph or of what is around runs."""
        depth = 0  # of fields: what is between their marks is not translated
        for child in element:
            name = local_name(child)
            if name == "r":
                marks = [mark.get(f"{self._w}fldCharType") for mark in child.iter(f"{self._w}fldChar")]
                if depth or marks:
                    depth += marks.count("begin") - marks.count("end")
                    # one after the other, so that a field keeps its order
                    yield Part(Token("<field>", "break"), child)
                else:
                    yield from self._run_parts(child)
            elif name in _AROUND:
                yield Part(Token(f"<{name}>", "open", name=name), child)
                yield from self._parts_of(child)
                yield Part(Token(f"</{name}>", "close", name=name))
            elif name == "pPr" or name in _NOTHING or not name:
                continue
            else:
                yield Part(Token(f"<{name}>", "empty"), child)

    def _run_parts(self, run: "etree._Element") -> Iterator[Part]:
        """The texts and objects of a run, each with its style."""
        style = run.find(f"{self._w}rPr")
        for child in run:
            name = local_name(child)
            if name == "t":
                yield Part(Token(child.text or "", "text", child.text or ""), style=style)
            elif name == "noBreakHyphen":
                yield Part(Token("\u2011", "text", "\u2011"), style=style)
            elif name and name != "rPr" and name not in _NOTHING:
                yield Part(Token(f"<{name}>", "break" if name in _BREAKS else "empty"), child, style)

    def _with_styles(self, parts: list[Part]) -> list[Part]:
        """The tokens with a tag around texts of the same unusual style. An object or link between two of them ends it."""
        results, current = list[Part](), b""
        for part in parts:
            key = self._styles.key(part.style) if part.token.kind == "text" else b""
            key = b"" if key == self._usual_key else key
            if key != current:
                if current:
                    results.append(Part(Token("</style>", "close", name="style")))
                if key:
                    results.append(Part(Token("<style>", "open", name="style"), style=part.style))
                current = key
            results.append(part)
        if current:
            results.append(Part(Token("</style>", "close", name="style")))
        return results

    def write(self, translations: Sequence[Segment | None]) -> None:
        """Fill the paragraph anew."""
        kept = [child for child in self.element if local_name(child) == "pPr"]
        for child in list(self.element):
            self.element.remove(child)
        self.element.extend(kept)
        write_parts(self.parts, self.runs, translations, _Writer(self.element, self._w, self._usual, self._styles))


class _Writer:
    """Appends runs to a paragraph."""

    def __init__(self, paragraph: "etree._Element", w: str, usual: "etree._Element | None", styles: _Styles) -> None:
        self._stack, self._w, self._known = [paragraph], w, styles
        self._styles = [usual]

    def text(self, text: str) -> None:
        """A run in the style of the innermost tag."""
        if text:
            element = self._run(self._styles[-1])
            inside = etree.SubElement(element, f"{self._w}t")
            inside.text = text
            if text != text.strip():
                inside.set(_SPACE, "preserve")

    def _run(self, style: "etree._Element | None") -> "etree._Element":
        run = etree.SubElement(self._stack[-1], f"{self._w}r")
        if style is not None:
            run.append(self._known.copy(style))
        return run

    def add(self, part: Part) -> None:
        token, element = part.token, part.element
        if token.kind == "text":
            self.text(token.raw)
        elif token.name == "style":
            if token.kind == "open":
                self._styles.append(part.style)
            else:
                self._styles.pop()
        elif token.kind == "close":
            self._stack.pop()
        elif token.kind == "open":
            assert element is not None
            around = etree.SubElement(self._stack[-1], element.tag, element.attrib, element.nsmap)
            around.extend([child for child in element if local_name(child).endswith("Pr")])
            self._stack.append(around)
        elif element is not None and (part.style is not None or _is_of_run(element)):
            self._run(part.style).append(element)
        elif element is not None:
            self._stack[-1].append(element)


_OF_PARAGRAPH = frozenset(
    {
        *(
            "r",
            "bookmarkStart",
            "bookmarkEnd",
            "commentRangeStart",
            "commentRangeEnd",
            "del",
            "moveFrom",
            "moveTo",
            "sdt",
        ),
        *("fldSimple", "permStart", "permEnd", "oMath", "oMathPara", "subDoc", "bdo", "dir", "contentPart"),
        *("moveFromRangeStart", "moveFromRangeEnd", "moveToRangeStart", "moveToRangeEnd"),
        *("customXmlInsRangeStart", "customXmlInsRangeEnd", "customXmlDelRangeStart", "customXmlDelRangeEnd"),
    }
)


def _is_of_run(element: "etree._Element") -> bool:
    """Whether an element stands inside of a run, not beside it."""
    return local_name(element) not in _OF_PARAGRAPH


def _key(style: "etree._Element") -> bytes:
    """The content of a style without marks of languages and of the spelling checker."""
    own = [child for child in style if local_name(child) not in ("lang", "noProof")]
    return b"".join(etree.tostring(child, method="c14n", exclusive=True, with_tail=False) for child in own) or b"plain"


class DocxDocument:
    """A Word document: the parts of its zip file, and the paragraphs of those with text."""

    def __init__(self, content: bytes, name: str) -> None:
        self._content, self._name = content, name
        size, left = 0, MOST_ELEMENTS
        styles = _Styles(name)
        self._trees = dict[str, tuple[etree._ElementTree, bytes, list[_Paragraph]]]()
        with zip_of_bytes(content, Path(name), KIND) as archive:
            names = [entry.filename for entry in archive.entries]
            if BODY not in names:
                raise DocumentError(f"{name}: a zip file without {BODY}; is it a Word document (docx)?")
            for part in names:
                if not part.startswith(_PARTS) or not part.endswith(".xml"):
                    continue
                size += archive.file.getinfo(part).file_size
                if size > MOST_BYTES:
                    raise DocumentError(f"{name}: more than {MOST_BYTES:,} bytes of text, unpacked; split the document")
                text = b"".join(archive.chunks(part))
                tree = parse(text, f"{name}: {part}", left)
                left -= elements_of(text)
                self._trees[part] = tree, text, [_Paragraph(element, styles) for element in _paragraphs(tree)]

    def segments(self) -> list[Segment]:
        """The texts to translate."""
        return [run.segment for _, _, own in self._trees.values() for paragraph in own for run in paragraph.runs]

    def write(self, translations: Sequence[Segment | None]) -> bytes:
        """The document with a translation for each segment; None leaves it as it is."""
        written, place = dict[str, bytes](), 0
        for part, (tree, text, own) in self._trees.items():
            changed = False
            for paragraph in own:
                count = len(paragraph.runs)
                values = translations[place : place + count]
                place += count
                if any(value is not None for value in values):
                    paragraph.write(values)
                    changed = True
            if changed:
                text = serialised(tree, text)
            written[part] = text
        output = io.BytesIO()
        with (
            zip_of_bytes(self._content, Path(self._name), KIND) as archive,
            zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as copy,
        ):
            for entry in archive.entries:
                content = written.get(entry.filename)
                fresh = zipfile.ZipInfo(entry.filename, entry.date_time)
                fresh.compress_type, fresh.external_attr = entry.compress_type, entry.external_attr
                fresh.file_size = entry.file_size if content is None else len(content)
                with copy.open(fresh, "w") as part_of_copy:
                    for chunk in archive.chunks(entry.filename) if content is None else [content]:
                        part_of_copy.write(chunk)
        return output.getvalue()


def read(content: bytes, name: str = "document") -> DocxDocument:
    """A Word document."""
    check_size(content, name)
    return DocxDocument(content, name)


def _paragraphs(tree: "etree._ElementTree") -> "list[etree._Element]":
    """All paragraphs, those of text boxes before the paragraphs that hold them."""
    found = [element for space in (_W, _STRICT) for element in tree.iter(f"{{{space}}}p")]
    return [element for element in reversed(found) if any(local_name(child) in ("r", *_AROUND) for child in element)][
        ::-1
    ]
