"""HTML: what is not translated stays byte for byte, and a browser's parser sees the same tree of elements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from documents.translators import capitals, random_words, reversed_words, same
from regard.documents import html
from regard.documents.formats import FORMATS
from regard.documents.html_tokens import html_tokens
from regard.documents.translate import translate_document

PAGE = """<!DOCTYPE html>
<html lang=fr><head><title>Le chat &amp; moi</title>
<script>var a = "<p>ne touche pas</p>";</script><style>p > b { color: red }</style></head>
<body><!-- un commentaire -->
<h1 class='x'>Bonjour</h1>
<p>Le <b>chat <i>noir</i></b> dort. <a href="x?a=1&amp;b=2" title="un titre">Il est<br/> content</a>&nbsp;!
<ul><li>un<li><b>deux</b> trois <img src=x alt="une image"> quatre</ul>
<pre>ne pas   toucher</pre><p>lance <code>ls -l</code> ici, <span translate="no">Regard</span></p>
<div class="notranslate">pas ici <p>ni ici</p></div>
<table><tr><td>cellule<td>autre</table><input placeholder=nom><p>3 > 2 < 4 et 5&lt;6</p>
</body></html>
"""


def translated(page: str, translate=capitals) -> str:
    return translate_document(page.encode(), "html", translate).decode()


def skeleton(node: LexborNode | None) -> list:
    """The elements and attributes of a page, without texts."""
    if node is None or node.tag in ("-text", "-comment"):
        return []
    children = [skeleton(child) for child in node.iter(include_text=False)]
    names = {name: value for name, value in node.attributes.items() if name not in ("alt", "title", "placeholder")}
    return [node.tag, names, *sorted(filter(None, children), key=repr)]


def test_the_page_by_hand() -> None:
    expected = PAGE
    for old, new in [
        ("<title>Le chat &amp; moi<", "<title>LE CHAT &amp; MOI<"),
        ("Bonjour", "BONJOUR"),
        ("Le <b>chat <i>noir</i></b> dort.", "LE <b>CHAT <i>NOIR</i></b> DORT."),
        ("un titre", "UN TITRE"),
        ("Il est<br/> content</a>&nbsp;!", "IL EST<br/> CONTENT</a> !"),
        ("<li>un<li><b>deux</b> trois", "<li>UN<li><b>DEUX</b> TROIS"),
        ("une image", "UNE IMAGE"),
        (" quatre", " QUATRE"),
        ("lance <code>ls -l</code> ici, <", "LANCE <code>ls -l</code> ICI, <"),
        ("<td>cellule<td>autre<", "<td>CELLULE<td>AUTRE<"),
        ("placeholder=nom", 'placeholder="NOM"'),
        ("3 > 2 < 4 et 5&lt;6", "3 &gt; 2 &lt; 4 ET 5&lt;6"),
    ]:
        assert old in expected
        expected = expected.replace(old, new, 1)
    assert translated(PAGE) == expected


def test_the_same_text_is_the_same_page() -> None:
    assert translated(PAGE, same) == PAGE
    for encoding in ("utf-8-sig", "utf-16"):
        content = PAGE.encode(encoding)
        assert translate_document(content, "html", same) == content


@pytest.mark.parametrize("translate", [reversed_words, random_words])
def test_a_browser_sees_the_same_elements(translate) -> None:
    before, after = (LexborHTMLParser(page).root for page in (PAGE, translated(PAGE, translate)))
    assert skeleton(after) == skeleton(before)


PARTS = st.sampled_from(
    [
        "<b>",
        "</b>",
        "<i class=x>",
        "</i>",
        "<p>",
        "</p>",
        "<br>",
        "le chat ",
        "noir",
        " ",
        "<a href='y'>",
        "</a>",
        "&amp;",
        "<!-- c -->",
        "<code>x</code>",
        "<div>",
        "</div>",
        "<",
        ">",
        "<b",
        "'",
        '"',
        "<script>a</script>",
        "<pre>",
        "</pre>",
        "<span translate=no>",
        "</span>",
        "<img alt='un mot'>",
        "\n",
        "<li>",
        "<title>",
        "</title>",
        "<!",
        "<?x?>",
        "</",
        "é",
    ]
)


@given(st.lists(PARTS, max_size=25).map("".join))
def test_any_page_keeps_its_markup(page: str) -> None:
    assert "".join(token.raw for token in html_tokens(page)) == page
    assert translated(page, same) == page

    def tags(text: str) -> list[str]:
        return sorted(
            token.raw for token in html_tokens(text) if token.kind in ("start", "end") and "alt" not in token.raw
        )

    assert tags(translated(page, reversed_words)) == tags(page)


def test_the_encoding_that_a_page_names() -> None:
    page = '<meta charset="iso-8859-1"><p>café, œuf et 3 €</p>'
    content = page.encode("cp1252")
    assert translate_document(content, "html", same) == content

    def in_greek(texts):
        return [type(one)("Ω café", one.alignment) for one in same(texts)]

    assert translate_document(content, "html", in_greek).endswith("<p>&#937; café</p>".encode("cp1252"))
    odd = b'<meta charset="windows-1252"><p>caf\x81 noir</p>'
    assert translate_document(odd, "html", same) == odd


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("un <b>deux <p>trois</p></b> quatre", "UN <b>DEUX <p>TROIS</p></b> QUATRE"),
        ("<b><i>un</b></i> deux", "<b><i>UN</b></i> DEUX"),
        ("</b>un<b>", "</b>UN<b>"),
        ("<p>un</p>deux", "<p>UN</p>DEUX"),
        ("123 <b>4</b>", "123 <b>4</b>"),
        ("un <x-y>deux</x-y>", "UN <x-y>DEUX</x-y>"),
        ("<p translate=no>un<p>deux", "<p translate=no>un<p>DEUX"),
        ("<p>un <code>deux", "<p>UN <code>deux"),
        ("<textarea>un</textarea> deux", "<textarea>un</textarea> DEUX"),
        ("un <a title='l&#39;ami'>x</a>", "UN <a title='L&#x27;AMI'>X</a>"),
        ('un <a title="x', 'UN <a title="x'),
    ],
)
def test_fragments(page: str, expected: str) -> None:
    assert translated(page) == expected


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("<p>Rue du Lac 5<br>75001 Paris</p>", ["Rue du Lac 5", "75001 Paris"]),
        ("<p>Nom<br/>\n<b>Adresse</b> ici</p>", ["Nom", "Adresse ici"]),
        ("<p>le chat<br><br>dort</p>", ["le chat", "dort"]),
        ("<p>le chat<br>dort <b>bien</b></p>", ["le chat dort bien"]),  # a small letter: the sentence goes on
    ],
)
def test_a_line_break_ends_a_text_unless_the_sentence_goes_on(page: str, seen: list[str]) -> None:
    document = FORMATS["html"].read(page.encode())
    assert [segment.text for segment in document.segments()] == seen
    assert translated(page, same) == page


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("<p>Le <b>chat<br>Noir</b> dort</p>", ["Le chat Noir dort"]),
        ("<p><b>Nom<br>Adresse</b> ici</p>", ["Nom Adresse ici"]),
        ("<p>Le <i><b>chat<br>Noir</b></i></p>", ["Le chat Noir"]),
        ("<p><i><b>Rue du Lac 5<br>75001 Paris</b></i></p>", ["Rue du Lac 5", "75001 Paris"]),
        ("<p>Ici<br><b>Rue du Lac 5<br>75001 Paris</b>.</p>", ["Ici", "Rue du Lac 5", "75001 Paris"]),
        ("<p>Le <b>chat</b><br>Noir <b>ici</b></p>", ["Le chat", "Noir ici"]),
        ("<p>Le <b>chat<br>Noir<p>Ici</b> dort", ["Le", "chat", "Noir", "Ici", "dort"]),
    ],
)
def test_a_line_break_in_a_tag_within_a_sentence_does_not_cut_it(page: str, seen: list[str]) -> None:
    document = FORMATS["html"].read(page.encode())
    assert [segment.text for segment in document.segments()] == seen
    assert translated(page, same) == page
    assert translated(page).replace("<br> ", "<br>").lower() == page.lower()


def test_a_tag_of_many_attributes_is_written_once() -> None:
    """Together the parts are the tag: writing all of it for each attribute would be 10 ** 7 characters."""
    page = "<p " + 'title="a" alt=b ' * 1_000 + "c>"
    document = html.read(page.encode())
    own = [(slot, slot.segment) for slot in document._attributes]
    parts = list(html._with_values(page, own))
    assert len(parts) == 2 * len(own) + 1 == 4_001
    assert translated(page) == "<p " + 'title="A" alt="B" ' * 1_000 + "c>"
