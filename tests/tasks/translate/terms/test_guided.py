"""Translations with terms: an echo whose every answer is known, random networks, and the plain search where nothing is asked."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from regard.search.interruption import SearchStopped
from regard.search.options import SearchOptions
from regard.serve.workers import ends_when
from regard.tasks.translate.terms.glossary import Entry, Glossary, Match, said
from regard.tasks.translate.terms.guided import MOST_MATCHES, Terms, TermWarning
from regard.tasks.translate.translation import TermUse
from regard.tasks.translate.translator import Translator
from regard.text.protected import Protection, Span

TEXTS = ["le chat dort", "la pomme {x} est rouge", "", "je suis %s, {x} et %s", "{x}"]
OPTIONS = SearchOptions(beam=2)


def strings(text: str) -> list[str]:
    return [text[start:end] for start, end in Protection().spans(text)]


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_an_echo_keeps_its_strings_and_backwards_they_are_put_back(echo: Callable[..., Translator], kind: str) -> None:
    terms = Terms(Protection())
    found = terms.search(echo(kind), TEXTS, OPTIONS)
    assert [one.text for one in found] == TEXTS
    backwards = terms.search(echo(kind, backwards=True), TEXTS, OPTIONS)
    for text, one in zip(TEXTS, backwards, strict=True):
        assert [one.text[start:end] for start, end in one.protected] == strings(text)
        assert sorted(strings(one.text)) == sorted(strings(text))


@pytest.mark.parametrize("options", [{}, {"nbest": 2}, {"sample": True}, {"beam": 1}, {"groups": 2}])
def test_a_random_network_keeps_every_string(random_model: Callable[..., Translator], options: dict[str, Any]) -> None:
    model = random_model("bpe")
    glossary = Glossary([Entry("chat", ("cat", "cats"), 1), Entry("rouge", ("red",), 2)], "fr", "en")
    found = Terms(Protection(), glossary).search(
        model, TEXTS, SearchOptions(**{"beam": 2, "max_length": 12, **options})
    )
    for text, one in zip(TEXTS, found, strict=True):
        for other in one.alternatives or (one,):
            assert [other.text[start:end] for start, end in other.protected] == strings(text)
    assert [use.source for one in found for use in one.terms] == ["chat", "rouge"]
    assert all(use.said for one in found for use in one.terms)


def test_what_has_its_terms_is_the_plain_translation(random_model: Callable[..., Translator]) -> None:
    model = random_model("bpe")
    plain = model.search(TEXTS, OPTIONS)
    glossary = Glossary([Entry("absent", ("cat",), 1)])
    for terms in (Terms(), Terms(glossary=glossary), Terms(Protection(("never matches",)), glossary)):
        found = terms.search(model, TEXTS, OPTIONS)
        assert found == plain
        assert [one.alignment for one in found] == [one.alignment for one in plain]
    word = plain[0].text.split()[0]
    [same] = Terms(glossary=Glossary([Entry("chat", (word,), 1)])).search(model, TEXTS[:1], OPTIONS)
    assert same.text == plain[0].text
    assert same.terms == (TermUse("chat", (word,), word, 1),)


def test_an_echo_says_the_term_in_its_place(echo: Callable[..., Translator]) -> None:
    glossary = Glossary([Entry("chat", ("cat", "cats"), 7)], "fr", "en")
    [found] = Terms(glossary=glossary, repairs=("replace",)).search(echo(), ["le chat, {x} dort"], OPTIONS)
    assert found.text in ("le cat, {x} dort", "le cats, {x} dort")
    assert found.terms[0].line == 7
    assert [source for source, target in found.alignment if target == 1] == [1]


def test_terms_and_strings_in_one_sentence(echo: Callable[..., Translator]) -> None:
    glossary = Glossary([Entry("chat", ("cat",), 1)])
    terms = Terms(Protection(("default", "dort")), glossary)
    [found] = terms.search(echo(), ["chat {chat} chat dort"], OPTIONS)
    assert [found.text[start:end] for start, end in found.protected] == ["{chat}", "dort"]
    assert len(found.terms) == 2
    assert said(found.text, ["cat"])


def test_more_terms_than_are_looked_after_are_told(echo: Callable[..., Translator]) -> None:
    terms = Terms(glossary=Glossary([Entry("chat", ("chat",), 1)]))
    text = " ".join(["chat"] * (MOST_MATCHES + 1))
    with pytest.warns(TermWarning, match="more than 100 terms of the glossary"):
        [found] = terms.search(echo(), [text], SearchOptions(beam=1))
    assert len(found.terms) == MOST_MATCHES


def test_nobody_looks_for_terms_that_nobody_wants(echo: Callable[..., Translator]) -> None:
    looked: list[str] = []

    class Looking(Glossary):
        def matches(self, text: str, without: Sequence[Span] = ()) -> list[Match]:
            looked.append(text)
            return super().matches(text, without)

    terms = Terms(glossary=Looking([Entry("chat", ("chat",), 1)]))
    with pytest.raises(SearchStopped), ends_when(lambda: bool(looked)):
        terms.search(echo(), ["le chat", "un chat"], OPTIONS)
    assert looked == ["le chat"]
