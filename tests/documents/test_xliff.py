"""XLIFF 1.2 and 2.0: targets beside sources, inline elements once each, everything else the same tree."""

import pytest
from lxml import etree

from documents.translators import capitals, random_words, reversed_words, same
from regard.documents import xliff
from regard.documents.translate import translate_document
from regard.errors import DocumentError

ONE = """<?xml version="1.0" encoding="UTF-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file original="a" source-language="fr" datatype="x"><body>
<trans-unit id="1"><source>Le <g id="1">chat</g> noir<x id="2"/> dort</source></trans-unit>
<trans-unit id="2"><source><bpt id="1">&lt;b&gt;</bpt>gras<ept id="1">&lt;/b&gt;</ept> et <ph id="3">{0}</ph></source><target/></trans-unit>
<trans-unit id="3" translate="no"><source>rien</source></trans-unit>
<trans-unit id="4"><source>fait</source><target state="final">done</target></trans-unit>
<group translate="no"><trans-unit id="5"><source>non</source></trans-unit>
<trans-unit id="6" translate="yes"><source>si</source></trans-unit></group>
</body></file></xliff>"""
TWO = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="fr" trgLang="en"><file id="f">
<unit id="u"><segment id="s"><source>Le <pc id="1">chat <mrk id="m" translate="no">X</mrk></pc> dort</source></segment>
<segment><source><sc id="2"/>un<ec startRef="2"/> deux<ph id="3"/></source><target>old one</target></segment></unit>
</file></xliff>"""


def translated(text: str, translate=capitals) -> etree._Element:
    return etree.fromstring(translate_document(text.encode(), "xliff", translate))


def targets(root: etree._Element) -> list[str]:
    """The targets as XML, without their namespaces."""
    found = root.iter("{*}target")
    return [etree.tostring(one, with_tail=False).decode().partition(">")[2].rpartition("</")[0] for one in found]


def test_the_files_by_hand() -> None:
    assert targets(translated(ONE)) == [
        'LE <g id="1">CHAT</g> NOIR<x id="2"/> DORT',
        '<bpt id="1">&lt;b&gt;</bpt>GRAS<ept id="1">&lt;/b&gt;</ept> ET <ph id="3">{0}</ph>',
        "done",
        "SI",
    ]
    assert targets(translated(TWO)) == ['LE <pc id="1">CHAT <mrk id="m" translate="no">X</mrk></pc> DORT', "old one"]


def test_the_same_text_is_the_same_tree() -> None:
    for text in (ONE, TWO):
        root = translated(text, same)
        for unit in root.iter("{*}trans-unit", "{*}segment"):
            source, target = unit.find("{*}source"), unit.find("{*}target")
            if target is not None and target.text not in ("done", "old one"):
                ours, theirs = (etree.tostring(one, method="c14n", with_tail=False) for one in (target, source))
                assert ours.replace(b"target", b"source") == theirs
                unit.remove(target)
        original = etree.fromstring(text.encode())
        for empty in [one for one in original.iter("{*}target") if not len(one) and not one.text]:
            empty.getparent().remove(empty)
        assert "".join(root.itertext()).split() == "".join(original.itertext()).split()
        full = etree.tostring(translated(text), encoding="UTF-8", xml_declaration=True)
        again = etree.fromstring(translate_document(full, "xliff", capitals))
        assert etree.tostring(again, method="c14n") == etree.tostring(etree.fromstring(full), method="c14n")


@pytest.mark.parametrize("translate", [reversed_words, random_words])
@pytest.mark.parametrize("text", [ONE, TWO])
def test_every_inline_element_is_there_once(text: str, translate) -> None:
    for unit in translated(text, translate).iter("{*}trans-unit", "{*}segment"):
        source, target = unit.find("{*}source"), unit.find("{*}target")
        if target is not None and target.text not in ("done", "old one"):
            ours, theirs = (sorted((e.tag, str(e.attrib)) for e in one.iterdescendants()) for one in (target, source))
            assert ours == theirs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<xliff version='1.2'><file></xliff>", r"x.xlf:1: not well-formed XML"),
        ("<xliff version='3.0'/>", r"x.xlf:1: 3.0 is not XLIFF of version"),
        ("<html/>", r"x.xlf:1: <html> is not XLIFF"),
        ("<!DOCTYPE xliff [<!ENTITY a 'b'>]><xliff version='1.2'>&a;</xliff>", "declares a DTD or entities"),
        ("<xliff version='1.2'>" + "<g>" * 250 + "</g>" * 250 + "</xliff>", "nest more than 200 deep"),
        ("", "not well-formed XML"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        translate_document(text.encode(), "xliff", same, name="x.xlf")


def test_a_unit_has_one_source() -> None:
    """Looking at all children for each of many sources would take time with their square."""
    unit = "<trans-unit><note/><source>un</source>%s</trans-unit>" % ("<source>deux</source><note/>" * 3)
    content = f'<xliff version="1.2"><file><body>{unit * 2}</body></file></xliff>'.encode()
    assert [segment.text for segment in xliff.read(content).segments()] == ["un", "un"]


def test_a_file_in_other_languages_is_refused() -> None:
    """Regions do not count, nor does a file without units to translate; what nobody states fits anything."""

    def refused(text: str, source: str | None, target: str | None) -> str:
        try:
            translate_document(text.encode(), "xliff", capitals, name="a.xlf", source=source, target=target)
        except DocumentError as error:
            return str(error)
        return ""

    assert refused(ONE, "fr", "en") == refused(TWO, "fr_CA", "en-GB") == refused(TWO, None, None) == ""
    expected = (
        "a.xlf:2: its source language is fr, that of the model is de; choose a model of the languages of the document"
    )
    assert refused(ONE, "de", "en") == expected
    assert refused(TWO, "fr", "de").startswith("a.xlf:1: its target language is en, that of the model is de")
    both = ONE.replace('datatype="x"', 'target-language="de-AT"')
    assert refused(both, "fr", "de") == ""
    assert refused(both, "fr", "en").startswith("a.xlf:2: its target language is de-AT")
    german = '<file source-language="de"><body>{}</body></file></xliff>'
    assert refused(ONE.replace("</xliff>", german.format("")), "fr", "en") == ""
    second = german.format("\n<trans-unit id='9'><source>Katze</source></trans-unit>")
    assert "its source language is de" in refused(ONE.replace("</xliff>", second), "fr", "en")
