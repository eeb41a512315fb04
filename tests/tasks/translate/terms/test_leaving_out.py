"""Sentences without their protected strings, and what becomes of brackets and stops beside them, by hand."""

import pytest

from regard.tasks.translate.terms.leaving_out import LeftOut
from regard.tasks.translate.terms.restoring import restored, spans_as_text, stand_in
from regard.text.protected import Protection

CASES = [
    ("the {a} dog", "the dog", "der Hund", [(0, 0), (1, 1)], "der {a} Hund"),
    ("see {a}.", "see.", "siehe.", [(0, 0)], "siehe {a}."),
    ("see ({a}), dog", "see, dog", "siehe, Hund", [(0, 0), (1, 1)], "siehe ({a}), Hund"),
    ("{a} sleeps", "sleeps", "schläft", [(0, 0)], "{a} schläft"),
    ("{a}", "", "", [], "{a}"),
    ("{a} and %s run", "and run", "und laufen", [(0, 0), (1, 1)], "{a} und %s laufen"),
    ("a {a} sees %s.", "a sees.", "ein sieht.", [(0, 0), (1, 1)], "ein {a} sieht %s."),
    ("{a}'s dog", "'s dog", "Hund", [(1, 0)], "{a} Hund"),
    ("a dog {a}", "a dog", "Hund ein", [(0, 1), (1, 0)], "Hund {a} ein"),
]


@pytest.mark.parametrize(("source", "rest", "translation", "links", "expected"), CASES)
def test_what_is_left_and_what_is_put_back(
    source: str, rest: str, translation: str, links: list[tuple[int, int]], expected: str
) -> None:
    spans = Protection().spans(source)
    left_out = LeftOut(source, spans)
    assert left_out.text.strip() == rest
    text, whole = left_out.put_back(translation, links)
    assert restored(text, spans_as_text(source, spans)).text == expected
    words = source.split()
    for place, word in enumerate(text.split()):  # every string is linked to itself
        linked = {words[one] for one, other in whole if other == place}
        for number, string in enumerate(spans_as_text(source, spans)):
            if stand_in(number) in word:
                assert any(string in one for one in linked)


def test_the_links_of_the_whole() -> None:
    left_out = LeftOut("the {a} dog sees %s", Protection().spans("the {a} dog sees %s"))
    text, links = left_out.put_back("der Hund sieht", [(0, 0), (1, 1), (2, 2)])
    assert text.split()[1:3] == [stand_in(0), "Hund"]
    assert links == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
