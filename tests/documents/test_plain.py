"""Plain text: paragraphs and meant line breaks stay, and identity is byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.translators import Said, capitals, same
from regard.documents.formats import FORMATS, format_of_file
from regard.documents.translate import translate_document
from regard.errors import ConfigError, DocumentError

TEXT = """Le titre

Ceci est une longue ligne de texte qui continue ici
sur une autre ligne. M. Dupont dort. Il rêve.
Fin.

- un point
- deux points

  rue Foch
  75016 Paris
"""


def translated(text: str, translate=capitals) -> str:
    return translate_document(text.encode(), "text", translate).decode()


def test_by_hand() -> None:
    assert translated(TEXT) == TEXT.upper().replace("RÊVE.\nFIN.", "RÊVE. FIN.")  # filled to the width of the paragraph


def test_a_paragraph_is_one_text() -> None:
    seen = []

    def watching(texts: list[str]) -> list[Said]:
        seen.extend(texts)
        return same(texts)

    assert translated(TEXT, watching) == TEXT
    assert seen == [
        "Le titre",
        "Ceci est une longue ligne de texte qui continue ici sur une autre ligne.",
        "M. Dupont dort.",
        "Il rêve.",
        "Fin.",
        "un point",
        "deux points",
        "rue Foch",
        "75016 Paris",
    ]


@given(st.text(alphabet="ab é.\n\r\t -1!。\u2028\x0c", max_size=120))
def test_the_same_text_is_the_same_file(text: str) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        content = text.encode(encoding)
        assert translate_document(content, "text", same) == content
    assert "".join(translated(text).lower().split()) == "".join(text.lower().split())


def test_languages_without_spaces() -> None:
    def chinese(texts: list[str]) -> list[Said]:
        return [Said("你好。", []) for _ in texts]

    def english(texts: list[str]) -> list[Said]:
        return [Said("Hello.", []) for _ in texts]

    assert translate_document(b"Hello. Go!", "text", chinese, source="en", target="zh").decode() == "你好。你好。"
    assert translate_document("你好。再见。".encode(), "text", english, source="zh", target="en") == b"Hello. Hello."


def test_what_is_no_language_is_copied() -> None:
    long = "aGVsbG8" * 200_000
    seen = []

    def watching(texts: list[str]) -> list[Said]:
        seen.extend(texts)
        return capitals(texts)

    assert translated(f"un mot {long} 12\n34", watching).lower() == f"un mot {long} 12\n34".lower()
    assert all(len(text) <= 400 for text in seen)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\xff", r"x.txt:2: not UTF-8 \(byte 0xff\); convert it to UTF-8"),
        (b"a\0b", r"x.txt:1: a character of zero"),
        (b"\xff\xfea", "x.txt:1: not UTF-16-LE"),
        (b"a" * ((32 << 20) + 1), "are the most of a document: split it"),
    ],
)
def test_what_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        translate_document(content, "text", same, name="x.txt")


def test_the_format_of_a_file() -> None:
    assert {
        suffix: format_of_file(f"A{suffix.upper()}").name for row in FORMATS.values() for suffix in row.suffixes
    } == {suffix: row.name for row in FORMATS.values() for suffix in row.suffixes}
    with pytest.raises(
        DocumentError, match=r"a\.pdf: its format cannot be told from its name, which ends with none of \.txt"
    ):
        format_of_file("a.pdf")
    with pytest.raises(ConfigError, match="format 'doc': not one of text, html"):
        translate_document(b"", "doc", same)
