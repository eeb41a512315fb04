"""Texts in sentences and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.pieces import pieces_of

MIXED = st.text(st.sampled_from("abA 。.!?\n\r\t\u2028;\"'7"), max_size=40)


@given(MIXED)
def test_a_text_that_is_not_changed_is_the_same(text: str) -> None:
    pieces = pieces_of(text, "fr", "en")
    assert pieces.joined(pieces.texts) == text
    assert all(piece == piece.strip() and piece for piece in pieces.texts)


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("One. Two!  Three?\n\n Four", ("One.", "Two!", "Three?", "Four")),
        ("12:30\n---\nnoon", ("noon",)),
        ("Mr. Smith sleeps.", ("Mr. Smith sleeps.",)),
        ("a" * 5000, ()),
        ("", ()),
    ],
)
def test_the_sentences(text: str, texts: tuple[str, ...]) -> None:
    assert pieces_of(text, "en", "fr").texts == texts


def test_white_space_between_sentences_stays_and_is_added_where_it_is_needed() -> None:
    pieces = pieces_of("One.  Two.\n Three.", "en", "fr")
    assert pieces.joined(["Un.", "Deux.", "Trois."]) == "Un.  Deux.\n Trois."
    pieces = pieces_of("猫。狗。\n鸟。", "zh", "en")
    assert pieces.joined(["A cat.", "A dog.", "A bird."]) == "A cat. A dog.\nA bird."


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["\n \n", " ", "a. ", "a\n", "。", "?! "])
def test_no_text_takes_more_than_linear_time(part: str) -> None:
    text = part * (100_000 // len(part))
    pieces = pieces_of(text, "en", "fr")
    assert pieces.joined(pieces.texts) == text
