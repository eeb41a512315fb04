"""Documents of strangers: every format, everything that is wrong with it. The outcome is a document or one line that names it."""

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from documents.translators import capitals, random_words, same
from regard.documents import docx, html
from regard.documents.formats import FORMATS
from regard.documents.translate import Translate, translate_document
from regard.errors import DocumentError

MEGABYTE = 1 << 20


def outcome(content: bytes, format: str, translate: Translate = same) -> bytes | str:
    """The document, or the line that refuses it."""
    try:
        return translate_document(content, format, translate, name="a.x")
    except DocumentError as error:
        return str(error)


TEXTS = {
    "a long word": "x" * MEGABYTE,
    "long words": "mot " * (MEGABYTE // 8),
    "points": "." * MEGABYTE,
    "open tags": "<b>" * 5_000 + "mot" + "</i>" * 5_000,
    "nested tags": "<b>" * 2_000 + "mot" + "</b>" * 2_000,
    "side by side": "<b>mot</b> " * 2_000,
    "less than": "<" * 50_000,
    "unfinished tags": "<a " * 10_000,
    "unfinished attributes": '<a b="' * 10_000,
    "unfinished comments": "<!--" * 10_000,
    "unfinished scripts": "<script>" * 50_000,
    "kept and open": "<code>" * 5_000,
    "backticks": "`" * 10_000 + " a",
    "brackets": "[" * 3_000,
    "stars": "*a " * 3_000,
    "quotes of Markdown": "> " * 300 + "mot",
    "tables": "|a" * 500 + "\n" + "|-" * 500 + "\n",
    "combining marks": "e" + "\u0301" * 100_000,
    "one direction": "\u202e mot \u2066" * 1_000,
    "half of a pair": "mot \ufffd",
    "entities": "&amp;amp;lt;" * 3_000,
    "an entity bomb": '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><a>&b; mot</a>',
    "an external DTD": '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a>mot</a>',
    "subtitles": "1\n00:00:01,000 --> 00:00:02,000\n" + "mot " * 5_000 + "\n\n" + "-->" * 50_000,
    "WebVTT": "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<v a>" * 2_000 + "mot" + "\n" * 50_000,
    "gettext": 'msgid "' + "\\" * 10_000 + '"\n',
    "more gettext": 'msgid "mot"\nmsgstr ""\n' * 3_000,
    "cues without blank lines": "1\n00:00:01,000 --> 00:00:02,000\nmot\n" * 3_000,
    "cues of WebVTT without blank lines": "WEBVTT\n\n" + "00:01.000 --> 00:02.000\nmot\n" * 3_000,
    "lines of gettext": 'msgid ""\n' + '"mot "\n' * 20_000 + 'msgstr ""\n',
    "lines of one paragraph": "</b> mot\n" * 3_000,
}


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "docx"])
@pytest.mark.parametrize("name", TEXTS)
def test_it_is_translated_or_refused_in_one_line(format: str, name: str) -> None:
    content = TEXTS[name].encode()
    result = outcome(content, format)
    if isinstance(result, str):
        assert result.startswith("a.x")
        assert "\n" not in result
        assert len(result) < 400
    elif format not in ("po", "xliff"):
        assert result == content


@pytest.mark.parametrize("format", FORMATS)
@given(content=st.binary(max_size=200))
def test_any_bytes(format: str, content: bytes) -> None:
    result = outcome(content, format, random_words)
    assert isinstance(result, bytes) or result.startswith("a.x")


def zipped(**parts: bytes) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name.replace("__", "/"), part)
    return output.getvalue()


def test_nothing_outside_is_read(tmp_path: Path) -> None:
    """An external entity or DTD is neither opened nor fetched."""
    secret = tmp_path / "secret"
    secret.write_text("geheim")
    bodies = [
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><a>&x; mot</a>',
        f'<?xml version="1.0"?><!DOCTYPE a SYSTEM "{secret.as_uri()}"><a>mot</a>',
        f'<a xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="{secret.as_uri()}" parse="text"/>mot</a>',
    ]
    for body in bodies:
        for content, format in (
            (zipped(word__document__xml=b""), "docx"),
            (body.encode(), "xliff"),
            (body.encode(), "html"),
        ):
            if format == "docx":
                content = zipped(**{"word__document.xml": body.encode()})
            result = outcome(content, format)
            assert "geheim" not in (result if isinstance(result, str) else result.decode("latin-1"))


WORD = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">%b</w:document>'


@pytest.mark.parametrize("inside", [b"<w:p/>" * 500_000, b"<w:p" + b' a=""' * 500_000 + b"/>"])
def test_a_small_file_of_many_elements_is_refused_before_it_is_parsed(
    inside: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(etree, "fromstring", None)
    result = outcome(zipped(**{"word__document.xml": WORD % inside}), "docx")
    assert result == ("a.x: word/document.xml: a document has at most 500,000 elements and attributes of XML; split it")
    assert outcome(b"<xliff>" + inside, "xliff") == (
        "a.x: a document has at most 500,000 elements and attributes of XML; split it"
    )


def test_the_parts_of_a_word_document_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    part = WORD % (b"<w:p/>" * 10)
    content = zipped(**{f"word__{name}.xml": part for name in ("document", "header1", "header2")})
    assert isinstance(outcome(content, "docx"), bytes)
    monkeypatch.setattr(docx, "MOST_ELEMENTS", 30)  # each has 10 paragraphs, and its root with a namespace
    assert str(outcome(content, "docx")).startswith("a.x: word/header2.xml: a document has at most")
    monkeypatch.undo()
    monkeypatch.setattr(docx, "MOST_BYTES", 2 * len(part))
    assert "more than" in str(outcome(content, "docx"))


def test_a_page_of_too_many_tags_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MOST_TOKENS", 10)
    assert outcome(b"<b>" * 10, "html") == b"<b>" * 10
    assert outcome(b"<b>" * 11, "html") == "a.x: a page has at most 10 tags, texts and comments; split it"


def test_more_namespaces_than_a_document_needs_are_refused() -> None:
    """Each copied element would declare all of them."""
    names = " ".join(f'xmlns:a{number}="u{number}"' for number in range(501))
    assert outcome(f'<xliff version="1.2" {names}/>'.encode(), "xliff") == (
        "a.x: more than 500 namespaces at a place; export it again"
    )
    apart = '<file xmlns:a="u"/>' * 501
    assert isinstance(outcome(f'<xliff version="1.2">{apart}</xliff>'.encode(), "xliff"), bytes)


def test_a_style_is_looked_at_once_and_its_copies_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of many texts has one style, which the translation has as often as there are texts."""
    looked = []
    key = docx._key
    monkeypatch.setattr(docx, "_key", lambda style: looked.append(style) or key(style))
    run = b"<w:r><w:rPr>%b</w:rPr>%b</w:r>" % (b"<w:b/>" * 50, b"<w:t>mot</w:t><w:br/>" * 50)
    content = zipped(**{"word__document.xml": WORD % (b"<w:p>%b</w:p>" % run)})
    assert isinstance(outcome(content, "docx", capitals), bytes)
    assert len(looked) == 1
    monkeypatch.setattr(docx, "MOST_STYLES", 50 * len(key(looked[0])))  # there are 50 texts and 50 breaks
    assert outcome(content, "docx", capitals) == (
        f"a.x: the styles of its translation have more than {docx.MOST_STYLES:,} bytes; split the document"
    )
    assert outcome(content, "docx") == content
