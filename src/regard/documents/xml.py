"""Reads the XML of strangers: no entity is expanded, no DTD is read, nothing is fetched, and depth and size are bounded."""

import re
from itertools import islice

from lxml import etree

from regard.errors import DocumentError

DEEPEST = 200
"""Elements inside of each other."""
MOST_NAMESPACES = 500
"""Declarations of namespaces that count at a place: each element that is copied has all of them."""
MOST_ELEMENTS = 500_000
"""Elements and attributes of a document: in memory each takes some 200 bytes, with five bytes in the file."""
_ATTRIBUTE = re.compile(rb"""=\s*+["']""")
_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<\?xml\s[^>]{0,300}\?>")
_STANDALONE = re.compile(rb"""standalone\s*=\s*["'](yes|no)""")
_DOCTYPE = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def parse(content: bytes, name: str, most: int = MOST_ELEMENTS) -> "etree._ElementTree":
    """The tree of a document. A declaration of its type, where entities are declared, is refused, and more elements than `most`."""
    if elements_of(content) > most:
        raise DocumentError(
            f"{name}: a document has at most {MOST_ELEMENTS:,} elements and attributes of XML; split it"
        )
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False, remove_pis=False
    )
    if _DOCTYPE.search(_as_ascii(content)):
        raise DocumentError(f"{name}: it declares a DTD or entities, which are not read; remove <!DOCTYPE ..> from it")
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        line = error.lineno or 1
        raise DocumentError(f"{name}:{line}: not well-formed XML: {error.msg}; export it again") from None
    depth = namespaces = 0
    for event, _ in etree.iterwalk(root, events=("start", "end", "start-ns", "end-ns")):
        if event in ("start", "end"):
            depth += 1 if event == "start" else -1
        else:
            namespaces += 1 if event == "start-ns" else -1
        if depth > DEEPEST:
            raise DocumentError(f"{name}: elements nest more than {DEEPEST} deep; export it again")
        if namespaces > MOST_NAMESPACES:
            raise DocumentError(f"{name}: more than {MOST_NAMESPACES} namespaces at a place; export it again")
    return root.getroottree()


def elements_of(content: bytes) -> int:
    """The number of elements, comments, instructions and attributes of a document that is not parsed yet."""
    ascii_content = _as_ascii(content)
    tags = ascii_content.count(b"<") - ascii_content.count(b"</")
    return tags + sum(1 for _ in islice(_ATTRIBUTE.finditer(ascii_content), MOST_ELEMENTS))


def _as_ascii(content: bytes) -> bytes:
    """The bytes without zeros: a declaration in UTF-16 or UTF-32 looks like one in UTF-8."""
    return content.replace(b"\0", b"")


def serialised(tree: "etree._ElementTree", content: bytes) -> bytes:
    """The document as bytes, with an XML declaration if `content`, of which it was read, has one."""
    declaration = _DECLARATION.match(_as_ascii(content[:400]))
    standalone = None if declaration is None else _STANDALONE.search(declaration[0])
    written: bytes = etree.tostring(
        tree,
        xml_declaration=declaration is not None,
        encoding=tree.docinfo.encoding or "UTF-8",
        standalone=None if standalone is None else standalone[1] == b"yes",
    )
    return written


def local_name(element: "etree._Element") -> str:
    """The name of an element without its namespace; empty for comments and instructions."""
    return "" if not isinstance(element.tag, str) else element.tag.rpartition("}")[2]
