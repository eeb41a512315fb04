"""Where a term stands for its own words: the links of a translation with terms, which say where markup goes."""

from collections.abc import Callable
from typing import Any

from regard.documents.translate import translate_document
from regard.search.options import SearchOptions
from regard.tasks.translate.terms.glossary import Entry, Glossary
from regard.tasks.translate.terms.guided import Terms
from regard.tasks.translate.terms.placing import Placer, with_terms_linked
from regard.tasks.translate.translator import Translator
from regard.text.protected import Protection

# le chat noir dort . -> the black cat sleeps .
LINKS = [(0, 0), (2, 1), (1, 2), (3, 3)]


def test_a_term_in_place_of_words_has_their_links() -> None:
    placer = Placer(["the", "black", "cat", "sleeps."], LINKS, 4)
    placer.place(range(1, 2), "tom cat")
    assert placer.text() == "the black tom cat sleeps."
    assert placer.linked() == [(0, 0), (2, 1), (1, 2), (1, 3), (3, 4)]
    placer = Placer(["the", "black", "sleeps."], [(0, 0), (2, 1), (3, 2)], 4)
    placer.place(range(1, 2), "tomcat")  # no word is linked to it
    assert placer.text() == "the tomcat black sleeps."
    assert placer.linked() == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_a_term_that_was_searched_for_is_linked_to_its_words() -> None:
    confused = [(0, 0), (2, 1), (3, 2), (3, 3)]  # the model knows no tomcat
    assert with_terms_linked(confused, "the black tomcat sleeps.", [(range(1, 2), "tomcat")]) == LINKS
    two = [(0, 0), (1, 1), (2, 2), (0, 2)]
    assert with_terms_linked(two, "cat and cat", [(range(2, 3), "cat"), (range(1), "cat")]) == [(0, 0), (1, 1), (2, 2)]
    assert with_terms_linked(LINKS, "the black dog sleeps.", [(range(1, 2), "tomcat")]) == LINKS


def test_markup_stays_around_a_term(echo: Callable[..., Translator]) -> None:
    terms = Terms(None, Glossary([Entry("chat", ("tom cat",), 1)]), repairs=("replace",))
    model = echo()

    def translate(texts: list[str]) -> Any:
        return terms.search(model, texts, SearchOptions(beam=2))

    [found] = translate(["le chat dort"])
    assert (found.text, found.alignment) == ("le tom cat dort", [(0, 0), (1, 1), (1, 2), (2, 3)])
    page = translate_document(b"<p>le <b>chat</b> dort</p>", "html", translate, source="fr", target="en")
    assert page == b"<p>le <b>tom cat</b> dort</p>"


def test_strings_that_touch_are_one_string() -> None:
    text = "%s%s et {a}{b}, {c} {d}"
    assert [text[start:end] for start, end in Protection().spans(text)] == ["%s%s", "{a}{b}", "{c}", "{d}"]


def test_strings_that_touch_stay_together(echo: Callable[..., Translator]) -> None:
    for backwards in (False, True):
        [found] = Terms(Protection()).search(echo(backwards=backwards), ["je suis %s%s ici"], SearchOptions(beam=2))
        assert found.text.count("%s%s") == 1
