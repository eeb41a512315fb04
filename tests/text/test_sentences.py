"""Sentences of several languages, cut by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.sentences import LONGEST, split_sentences


def cut(text: str, language: str | None = None) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, language)]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Mr. Smith met Dr. Jones at 3.5 p.m. on Jan. 5 in Washington.", "He left."]),
        ("en", ["J. R. R. Tolkien wrote it.", "Really?", "Yes!"]),
        ("en", ['"Go!" she said, e.g. to him.', "He went."]),
        ("en", ["Wait... what?", "It costs $3.50.", "(See fig. 2.)", "Done."]),
        ("en", ["It was the U.S. army vs. the U.N. forces.", "They met in the U.S.A.", "He knew."]),
        ("en", ["We sell pens, paper, etc.", "Come in."]),
        ("en", ["1. Open the door.", "Then wait."]),
        ("en", ["Visit example.com or www.x.org/a.b?c=d today.", "Thanks."]),
        ("en", ["He was born in 1999.", "She was not."]),
        (None, ["Mr. Smith left.", "He came back."]),
        ("fr", ["M. Dupont et Mme. Durand habitent av. Foch.", "Il est 10 h. du matin."]),
        ("fr", ["« Bonjour ! » dit-il.", "Il part."]),
        ("fr", ["Est-ce vrai ?", "Oui…", "Non !"]),
        ("fr", ["Il a crié : « Venez ! »", "Elle vint."]),
        ("fr", ["C'est p. ex. le cas de l'art. 3 du code.", "Fin."]),
        ("de", ["Am 3. Mai kam Hr. Müller, z.B. mit Dr. Schmidt.", "Er blieb ca. 2 Std. dort."]),
        ("de", ["Das ist der 2. Versuch.", "Es war 1999.", "Ja!"]),
        ("de", ["Er sagte: „Komm!“", "Sie kam."]),
        ("es", ["El Sr. García vive en EE.UU. desde 2001.", "¿De verdad?", "¡Sí!"]),
        ("it", ["Il sig. Rossi arriva.", "«Davvero?»", "Certo."]),
        ("ru", ["Это г. Москва, ул. Ленина, д. 5.", "Он живёт там."]),
        ("zh", ["你好。", "你是谁？", "我是学生！"]),
        ("ja", ["「はい。」", "猫が寝ています。", "本当？"]),
        ("el", ["Ναι.", "Όχι."]),
        ("hi", ["यह एक है।", "वह दो है।"]),
        ("en", ["no end here"]),
    ],
)
def test_sentences(language: str | None, sentences: list[str]) -> None:
    text = ("" if language in ("zh", "ja") else " ").join(sentences)
    assert cut(text, language) == sentences


def test_white_space_is_between_sentences() -> None:
    assert cut("  One.\n\n Two?\t") == ["One.", "Two?"]
    assert cut("") == cut(" \n ") == []


def test_long_sentences_are_cut_at_commas_or_else_at_spaces() -> None:
    clause = "a word and another, "
    parts = cut(clause * 60)
    assert len(parts) > 1
    assert all(len(part) <= LONGEST for part in parts)
    assert all(part.endswith(",") for part in parts)
    assert " ".join(parts) == (clause * 60).strip()
    words = cut("word " * 300)
    assert " ".join(words) == ("word " * 300).strip()
    assert all(len(part) <= LONGEST for part in words)
    assert "".join(cut("x" * 1000)) == "x" * 1000


@given(st.text(alphabet="aB1 .!?…»«\"'。\n,", max_size=80), st.sampled_from(["en", "fr", "de", "zh", None]))
def test_nothing_but_white_space_is_lost(text: str, language: str | None) -> None:
    ranges = split_sentences(text, language)
    place = 0
    for start, end in ranges:
        assert place <= start < end
        assert not text[place:start].strip()
        assert text[start:end] == text[start:end].strip()
        place = end
    assert not text[place:].strip()


def test_a_megabyte_takes_linear_time() -> None:
    for text in ("x" * 1_000_000, "." * 1_000_000, "a. " * 30_000, '"' * 1_000_000, "!» " * 30_000, "( " * 50_000):
        assert split_sentences(text, "en")
