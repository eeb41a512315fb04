"""gettext: polib reads what we write, and lines that are no translation stay byte for byte."""

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.translators import Said, capitals, same
from regard.documents.markup import Segment
from regard.documents.po import _entries, _written, read
from regard.documents.translate import translate_document
from regard.errors import DocumentError

PO = r"""# un commentaire
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\n"

#: a.c:12
#, fuzzy, c-format
#| msgid "old"
msgctxt "menu"
msgid "le chat\n"
msgstr "the dog\n"

#, c-format
msgid "un chat"
msgid_plural ""
"des "
"chats"
msgstr[0] ""
msgstr[1] ""

msgid "déjà"
msgstr "already"

msgid "dire \"oui\"\tet \\ non"
msgstr ""
#~ msgid "vieux"
#~ msgstr "old"
"""


def translated(text: str, translate=capitals) -> str:
    return translate_document(text.encode(), "po", translate).decode()


def test_the_file_by_hand() -> None:
    expected = PO.replace('msgstr "the dog\\n"', 'msgstr "LE CHAT\\n"')
    expected = expected.replace('msgstr[0] ""\nmsgstr[1] ""', 'msgstr[0] "UN CHAT"\nmsgstr[1] "DES CHATS"')
    expected = expected.replace('et \\\\ non"\nmsgstr ""', 'et \\\\ non"\nmsgstr "DIRE \\"OUI\\" ET \\\\ NON"')
    assert translated(PO) == expected


def test_polib_reads_the_translations() -> None:
    entries = {entry.msgid: entry for entry in polib.pofile(translated(PO))}
    assert entries["le chat\n"].msgstr == "LE CHAT\n"
    assert entries["le chat\n"].msgctxt == "menu"
    assert "fuzzy" in entries["le chat\n"].flags
    assert entries["un chat"].msgstr_plural == {0: "UN CHAT", 1: "DES CHATS"}
    assert entries["déjà"].msgstr == "already"
    assert entries['dire "oui"\tet \\ non'].msgstr == 'DIRE "OUI" ET \\ NON'
    assert entries["vieux"].obsolete


@pytest.mark.parametrize("change", [lambda text: text, lambda text: text.replace("\n", "\r\n")])
def test_a_file_with_all_translations_stays(change) -> None:
    full = change(translated(PO.replace(", fuzzy", "")))
    assert translate_document(full.encode(), "po", capitals) == full.encode()


STRINGS = st.text(alphabet='ab \n\t"\\é{}%', max_size=200)


@given(STRINGS)
def test_what_is_written_is_what_polib_and_we_read(text: str) -> None:
    file = 'msgid "x"\n' + "\n".join(_written("msgstr", text)) + "\n"
    assert polib.pofile(file)[0].msgstr == text
    [entry] = _entries(file, "x")
    assert entry.translations == {"": text}
    assert all(len(line) <= 90 or " " not in line[10:-2] for line in file.splitlines())


@given(st.text(alphabet="abcd é\n", min_size=1, max_size=200).filter(str.strip))
def test_we_read_what_polib_writes(text: str) -> None:
    file = polib.POFile()
    file.append(polib.POEntry(msgid=text, msgstr=""))
    written = polib.pofile(translated(str(file), same))
    [entry] = [entry for entry in written if entry.msgid]
    assert entry.msgid == text
    if any(map(str.isalpha, text)):
        assert entry.msgstr.split() == text.split()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('msgid "a"\nmsgstr "b', r"x.po:2: neither a comment nor a string"),
        ("bonjour", r"x.po:1: neither a comment nor a string .* is it PO"),
        ('"lost"\n', r"x.po:1: neither"),
    ],
)
def test_what_is_no_po(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        translate_document(text.encode(), "po", same, name="x.po")


def test_line_breaks_at_the_ends_are_those_of_the_source() -> None:
    text = 'msgid "\\n un mot \\n"\nmsgstr ""\n'
    [entry] = polib.pofile(translated(text, lambda texts: [Said("a b", []) for _ in texts]))
    assert entry.msgstr == "\n a b \n"


def test_lines_of_a_string_are_joined_once() -> None:
    """Adding 40,000 lines one by one would copy 10 ** 11 characters and more."""
    line = "x" * 200
    file = 'msgid ""\n' + f'"{line}"\n' * 40_000 + 'msgstr ""\n'
    [entry] = _entries(file, "x")
    assert entry.ids["msgid"] == line * 40_000


def test_a_long_string_is_folded_once() -> None:
    text = ("x" * 70 + " ") * 60_000
    folded = _written("msgstr", text)
    assert folded[0] == 'msgstr ""'
    assert "".join(line[1:-1] for line in folded[1:]) == text


LINES = r"""
msgid "Le chat dort.\n\n  - un chien\n  - 12\n"
msgstr ""

msgid "un chat"
msgid_plural "%d chats\nici"
msgstr[0] ""
msgstr[1] ""
"""


def test_lines_of_an_entry_stay_lines() -> None:
    """Each is translated by itself; list marks, indents and blank lines stay."""
    document = read(LINES.encode())
    assert [segment.text for segment in document.segments()] == [
        "Le chat dort.",
        "un chien",
        "un chat",
        "%d chats",
        "ici",
    ]
    upper = [Segment(segment.text.upper()) for segment in document.segments()]
    entries = polib.pofile(document.write(upper).decode())
    assert entries[0].msgstr == "LE CHAT DORT.\n\n  - UN CHIEN\n  - 12\n"
    assert entries[1].msgstr_plural == {0: "UN CHAT", 1: "%D CHATS\nICI"}
