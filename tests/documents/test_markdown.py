"""Markdown: code, addresses and structure stay, and the parser sees the same blocks and tags."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from documents.translators import capitals, random_words, reversed_words, same
from regard.documents import markdown
from regard.documents.formats import FORMATS
from regard.documents.markup import Segment
from regard.documents.patched import Encoding
from regard.documents.translate import translate_document

PAGE = """---
title: ne touche pas
---

# Le *chat* noir &amp; a\\*b `code` #

> un [lien **gras**](http://x "t") et ![img](a.png) <b>html</b> <http://auto.x>
> deux
> trois

- un point
  et la suite
1. premier

Titre
=====

| x | un mot |
|---|---|
| le chat | **le** chien |

    du code

```python
print("rien")
```

<div>ne pas toucher</div>

[ref]: http://x "titre"
[voir][ref] et [ref] ~~fin~~
"""


def translated(page: str, translate=capitals) -> str:
    return translate_document(page.encode(), "md", translate).decode()


def shape(page: str) -> tuple[list[str], Counter]:
    """The blocks of a page in order, and its inline tags with their addresses."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)
    inline = [child for token in tokens for child in token.children or []]
    tags = Counter(
        (child.type, str(child.attrs)) for child in inline if child.nesting or child.type in ("code_inline", "image")
    )
    return [token.type for token in tokens], tags


def test_the_page_by_hand() -> None:
    expected = PAGE
    for old, new in [
        ("# Le *chat* noir &amp; a\\*b `code` #", "# LE *CHAT* NOIR & A\\*B `code` #"),
        ("> un [lien **gras**](", "> UN [LIEN **GRAS**]("),
        (") et !", ") ET !"),
        ("<b>html</b>", "<b>HTML</b>"),
        ("> deux\n> trois", "> DEUX TROIS"),
        ("- un point\n  et la suite", "- UN POINT\n  ET LA SUITE"),
        ("premier", "PREMIER"),
        ("Titre\n", "TITRE\n"),
        ("| x | un mot |", "| X | UN MOT |"),
        ("| le chat | **le** chien |", "| LE CHAT | **LE** CHIEN |"),
        ("[voir][ref] et [ref] ~~fin~~", "[VOIR][ref] ET [REF][ref] ~~FIN~~"),
    ]:
        assert old in expected
        expected = expected.replace(old, new, 1)
    result = translated(PAGE)
    # a line break may be elsewhere in the paragraph
    assert result.replace("\n> ", " ").split() == expected.replace("\n> ", " ").split()
    assert shape(result) == shape(PAGE)


def test_the_same_text_is_the_same_page() -> None:
    assert translated(PAGE, same) == PAGE
    windows = PAGE.replace("\n", "\r\n")
    assert translated(windows, same) == windows
    assert "\n" not in translated(windows).replace("\r\n", "")


@pytest.mark.parametrize("translate", [reversed_words, random_words])
def test_the_parser_sees_the_same_blocks(translate) -> None:
    before, after = shape(PAGE), shape(translated(PAGE, translate))
    assert after[0] == before[0]
    kept = {tag: count for tag, count in before[1].items() if tag[0].startswith(("link", "image", "code"))}
    assert {tag: count for tag, count in after[1].items() if tag in kept} == kept


@pytest.mark.parametrize(
    "said", ["# nicht", "1. nicht", "- nicht", "+ nicht", "> nicht", "*a* _b_ `c` [d] <e> &amp; \\", "==="]
)
def test_what_a_translation_says_is_no_markup(said: str) -> None:
    page = "un mot\n\n## deux *mots* de plus\n\n| a |\n|---|\n| b |\n"

    def translate(texts):
        return [type(one)(said, []) for one in same(texts)]

    assert shape(translated(page, translate))[0] == shape(page)[0]
    rendered = MarkdownIt().render(translated("un mot", translate))
    assert "<em>" not in rendered
    assert "<code>" not in rendered


PARTS = st.sampled_from(
    [
        "*",
        "**",
        "_",
        "`",
        "[",
        "](x)",
        "]",
        "![",
        "<b>",
        "</b>",
        "le chat ",
        "noir",
        " ",
        "\n",
        "\n\n",
        "# ",
        "> ",
        "- ",
        "1. ",
        "    ",
        "\t",
        "|",
        "|---|",
        "~~",
        "\\",
        "&amp;",
        "<http://a.b>",
        "  \n",
        "```",
        "é",
        "[a]: b",
        "***",
        "<!-- c -->",
    ]
)


@given(st.lists(PARTS, max_size=20).map("".join))
def test_any_page_can_be_translated(page: str) -> None:
    assert translated(page, same) == page
    translated(page, reversed_words)
    translated(page, random_words)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("- [x] un mot\n- [ ] deux\n", "- [x] UN MOT\n- [ ] DEUX\n"),
        ("> [!NOTE]\n> un mot\n", "> [!NOTE]\n> UN MOT\n"),
        ("un [[Page|nom]] ici\n", "UN [[Page|nom]] ICI\n"),
        ("un mot[^n] ici.\n\n[^n]: Note.\n", "UN MOT[^n] ICI.\n\n[^n]: NOTE.\n"),
        ("a\n\n[^1]: une note\n[^2]: deux\n\n[r]: x\n", "A\n\n[^1]: UNE NOTE\n[^2]: DEUX\n\n[r]: x\n"),
        ("un [sic] *mot* [sic]\n", "UN [SIC] *MOT* [SIC]\n"),
    ],
)
def test_brackets_of_the_source_stay(page: str, expected: str) -> None:
    assert translated(page, same) == page
    assert translated(page) == expected


@pytest.mark.parametrize("said", ["[d]", "[d] et [d](x)", "[x] mot", "[^1] mot", "[[d]]", "[!NOTE]"])
def test_brackets_of_a_translation_are_no_links(said: str) -> None:
    for page in ("un mot\n\n[d]: http://x\n", "- un [sic] mot\n\n[d]: http://x\n"):
        result = translated(page, lambda texts: [type(one)(said, []) for one in same(texts)])
        assert "<a" not in MarkdownIt().render(result)
        assert said not in result.partition("\n\n")[0]


def test_many_runs_of_one_paragraph_find_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of a place is looked up by halving, not by going through all lines."""
    looked = []
    monkeypatch.setattr(markdown, "range", lambda *ends: looked.extend(range(*ends)) or range(*ends), raising=False)
    page = "</b> mot\n" * 300
    assert translated(page, same) == page
    assert len(looked) < 5_000


@pytest.mark.parametrize("mark", ["  ", "\\"])
def test_a_hard_break_ends_a_text_and_stays(mark: str) -> None:
    page = f"les roses **dorment**{mark}\nles chats aussi\n"
    document = FORMATS["md"].read(page.encode())
    assert [segment.text for segment in document.segments()] == ["les roses dorment", "les chats aussi"]
    written = translate_document(page.encode(), "md", capitals).decode()
    assert written == f"LES ROSES **DORMENT**{mark}\nLES CHATS AUSSI\n"


def test_lines_that_end_as_those_of_old_systems() -> None:
    """A further line begins as the last one does, not with all of the document."""
    content = b"Titre\r\r> le chat noir\r> dort ici.\r\rfin\r"
    assert translate_document(content, "md", same) == content
    expected = content.replace(b"le chat noir", b"LE CHAT NOIR").replace(b"dort ici", b"DORT ICI")
    assert translate_document(content, "md", capitals) == expected.replace(b"Titre", b"TITRE").replace(b"fin", b"FIN")


class Text(str):
    """A text in which nothing is looked for from its end: that takes time with the product of both lengths."""

    __slots__ = ()

    def rfind(self, *_: object) -> int:
        raise AssertionError


def test_a_heading_between_marks_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "decoded", lambda content, name: (Text(content.decode()), Encoding()))
    content = b"# # b ##b## ########\n\n- - a - b\n"
    document = markdown.read(content)
    assert [segment.text for segment in document.segments()] == ["# b ##b##", "a - b"]
    assert document.write([Segment("c"), None]) == b"# c ########\n\n- - a - b\n"


def test_emphasis_of_nothing_in_emphasis_of_nothing_is_left_out() -> None:
    document = markdown.read(b"***un*** [*deux **trois***](x)")
    [segment] = document.segments()
    nothing = Segment("mot", tuple(replace(span, start=3, end=3) for span in segment.spans))
    assert document.write([nothing]) == b"mot[](x)"
