"""Word documents: python-docx reads what we write, with the same styles, tables, headers and links."""

import io
import zipfile

import docx
import pytest
from docx.enum.text import WD_BREAK
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from documents.translators import capitals, random_words, reversed_words, same
from regard.documents.formats import FORMATS
from regard.documents.translate import translate_document
from regard.errors import DocumentError

LINK = f'<w:hyperlink {nsdecls("w")} w:anchor="x"><w:r><w:rPr><w:u w:val="single"/></w:rPr><w:t>un lien</w:t></w:r></w:hyperlink>'
FIELD = "".join(
    f"<w:r>{part}</w:r>"
    for part in (
        '<w:fldChar w:fldCharType="begin"/>',
        "<w:instrText>PAGE</w:instrText>",
        '<w:fldChar w:fldCharType="separate"/>',
        "<w:t>sept</w:t>",
        '<w:fldChar w:fldCharType="end"/>',
    )
)
NOTE = (
    f'<w:footnotes {nsdecls("w")}><w:footnote w:id="1"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t>une note</w:t></w:r></w:p>'
    "</w:footnote></w:footnotes>"
)


def made() -> bytes:
    """A document with a bit of everything."""
    document = docx.Document()
    document.add_heading("Le titre", 1)
    paragraph = document.add_paragraph("Le ")
    paragraph.add_run("chat noir").bold = True
    paragraph.add_run(" dort")
    paragraph.add_run(" ici.").add_break(WD_BREAK.LINE)
    paragraph.add_run("Voici ")
    paragraph._p.append(parse_xml(LINK))
    paragraph.add_run("!")
    split = document.add_paragraph()
    for part in ("bon", "jo", "ur"):  # as Word splits words that were edited
        split.add_run(part)
    field = document.add_paragraph("page ")
    field._p.append(parse_xml(f'<w:ins {nsdecls("w")} w:id="1" w:author="a">{FIELD}</w:ins>'))
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "cellule", "12"
    document.sections[0].header.paragraphs[0].text = "en tête"
    document.sections[0].footer.paragraphs[0].text = "pied"
    output = io.BytesIO()
    document.save(output)
    with zipfile.ZipFile(output, "a") as archive:
        archive.writestr("word/footnotes.xml", NOTE)
    return output.getvalue()


def read(content: bytes) -> tuple[list[list[tuple[str, bool | None, str | None]]], str, str, list[str]]:
    """Runs with bold and style of the paragraphs, header, footer and cells."""
    document = docx.Document(io.BytesIO(content))
    runs = [
        [(run.text, run.bold, paragraph.style.name if paragraph.style else None) for run in paragraph.runs]
        for paragraph in document.paragraphs
    ]
    section = document.sections[0]
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
    return runs, section.header.paragraphs[0].text, section.footer.paragraphs[0].text, cells


def texts(content: bytes) -> list[str]:
    return [paragraph.text for paragraph in docx.Document(io.BytesIO(content)).paragraphs]


def test_the_document_by_hand() -> None:
    result = translate_document(made(), "docx", capitals)
    runs, header, footer, cells = read(result)
    assert runs[0] == [("LE TITRE", None, "Heading 1")]
    assert [run[:2] for run in runs[1]] == [
        ("LE ", None),
        ("CHAT NOIR", True),
        (" DORT ICI.", None),
        ("\n", None),
        ("VOICI ", None),
        ("!", None),
    ]
    assert texts(result)[1] == "LE CHAT NOIR DORT ICI.\nVOICI UN LIEN!"
    assert runs[2] == [("BONJOUR", None, "Normal")]
    assert (header, footer, cells) == ("EN TÊTE", "PIED", ["CELLULE", "12"])
    with zipfile.ZipFile(io.BytesIO(result)) as archive:
        body = archive.read("word/document.xml").decode()
        assert "<w:t>sept</w:t>" in body  # of a field
        assert body.index("begin") < body.index("separate") < body.index('"end"')
        assert "UNE NOTE" in archive.read("word/footnotes.xml").decode()
        assert "footnoteRef" in archive.read("word/footnotes.xml").decode()


def test_the_same_text_is_the_same_document() -> None:
    content = made()
    result = translate_document(content, "docx", same)
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(io.BytesIO(result)) as after:
        assert after.namelist() == before.namelist()
        for name in before.namelist():
            assert after.read(name) == before.read(name), name


@pytest.mark.parametrize("translate", [reversed_words, random_words])
def test_styles_links_and_breaks_are_there_once(translate) -> None:
    content = made()
    result = translate_document(content, "docx", translate)
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(io.BytesIO(result)) as after:
        ours, theirs = (archive.read("word/document.xml").decode() for archive in (after, before))
    for mark in ("<w:hyperlink", "<w:br/>", "<w:pStyle", "<w:fldChar", "<w:tbl>", "<w:ins ", "<w:sectPr"):
        assert ours.count(mark) == theirs.count(mark), mark
    read(result)


def with_part(content: bytes, name: str, part: bytes) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.namelist():
            after.writestr(entry, part if entry == name else before.read(entry))
        if name not in before.namelist():
            after.writestr(name, part)
    return output.getvalue()


BOMB = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><a>&b;</a>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x.docx: damaged: not a zip file"),
        (b"PK\x03\x04 nothing", "x.docx: damaged: not a zip file"),
        (with_part(made(), "word/document.xml", BOMB), "x.docx: word/document.xml: it declares a DTD or entities"),
        (with_part(made(), "word/document.xml", BOMB.decode().encode("utf-16")), "declares a DTD or entities"),
        (with_part(made(), "word/document.xml", b"<w:p>"), "x.docx: word/document.xml:1: not well-formed XML"),
        (with_part(made(), "../../evil", b"x"), "leads out of the directory"),
        (with_part(made(), "word/header9.xml", b" " * (300 << 20)), "bytes unpacked from a file of"),
        (
            with_part(b"PK\x05\x06" + bytes(18), "word/other.xml", b"<a/>"),
            "without word/document.xml; is it a Word document",
        ),
    ],
)
def test_what_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        translate_document(content, "docx", same, name="x.docx")


def test_breaks_and_tabs_end_a_text() -> None:
    paragraph = (document := docx.Document()).add_paragraph("Nom :\tPaul")
    paragraph.add_run().add_break()
    paragraph.add_run("le chat").bold = True
    stream = io.BytesIO()
    document.save(stream)
    found = FORMATS["docx"].read(stream.getvalue()).segments()
    assert [segment.text for segment in found] == ["Nom :", "Paul", "le chat"]
    assert texts(translate_document(stream.getvalue(), "docx", capitals)) == ["NOM :\tPAUL\nLE CHAT"]
