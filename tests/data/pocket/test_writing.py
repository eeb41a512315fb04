"""How the sentences of the pocket corpus are written: capitals, final marks, commas, and their links."""

import re
from collections import Counter
from random import Random

import pytest

from regard.data.pocket.corpus import BARE, BOOK, PocketPair, vocabulary, write
from regard.data.pocket.lexicon import LANGUAGES
from regard.data.pocket.sentences import sentence
from regard.data.pocket.tokens import Draft
from regard.data.pocket.writing import Writing, draw_writing, plain
from regard.metrics.alignment import to_pharaoh
from regard.text.normalise import normalise

CAT = ([("le", 1), ("chat", 2), ("noir", 4), ("dort", 8)], [("the", 1), ("black", 4), ("cat", 2), ("sleeps", 8)])
SEES = ([("je", 1), ("vois", 2), ("le", 4), ("chat", 8)], [("I", 1), ("see", 2), ("the", 4), ("cat", 8)])
ASKED = ([("où", 1), ("est", 2), ("Paul", 4), ("?", 0)], [("where", 1), ("is", 2), ("Paul", 4), ("?", 0)])
IF = (
    [("si", 1), ("tu", 2), ("viens", 4), (",", 8), ("je", 16), ("dors", 32)],
    [("if", 1), ("you", 2), ("come", 4), (",", 8), ("I", 16), ("sleep", 32)],
)
MISSED = ([("Marie", 1), ("lui", 2), ("manque", 4)], [("he", 2), ("misses", 4), ("Marie", 1)])
BLACK = ([("le", 1), ("chat", 2), ("noir", 4)], [("the", 1), ("black", 4), ("cat", 2)])
CHECKED = (
    (CAT, BARE, "le chat noir dort", "the black cat sleeps", "0-0 1-2 2-1 3-3"),
    (CAT, BOOK, "Le chat noir dort.", "The black cat sleeps.", "0-0 1-2 2-1 3-3"),
    (CAT, Writing(final="!"), "le chat noir dort !", "the black cat sleeps!", "0-0 1-2 2-1 3-3 4-3"),
    (CAT, Writing(final="!", space=False), "le chat noir dort!", "the black cat sleeps!", "0-0 1-2 2-1 3-3"),
    (CAT, Writing(capital=True), "Le chat noir dort", "The black cat sleeps", "0-0 1-2 2-1 3-3"),
    (SEES, BOOK, "Je vois le chat.", "I see the cat.", "0-0 1-1 2-2 3-3"),
    # the full stops are linked by the words that they are a part of
    (BLACK, BOOK, "Le chat noir.", "The black cat.", "0-0 1-2 2-1 2-2"),
    (ASKED, Writing(True, "?"), "Où est Paul ?", "Where is Paul?", "0-0 1-1 2-2 3-2"),
    (ASKED, Writing(True, "?", space=False), "Où est Paul?", "Where is Paul?", "0-0 1-1 2-2"),
    (ASKED, BARE, "où est Paul", "where is Paul", "0-0 1-1 2-2"),
    (IF, BOOK, "Si tu viens, je dors.", "If you come, I sleep.", "0-0 1-1 2-2 3-3 4-4"),
    (IF, BARE, "si tu viens je dors", "if you come I sleep", "0-0 1-1 2-2 3-3 4-4"),
    # a name has its capital in any case: nothing tells both ways of writing apart, so English always has one too
    (MISSED, BARE, "Marie lui manque", "He misses Marie", "0-2 1-0 2-1"),
)
ALWAYS = {"I", *(english for _, english in LANGUAGES)}


@pytest.mark.parametrize(
    ("sides", "writing", "french", "english", "alignment"), CHECKED, ids=[row[2] for row in CHECKED]
)
def test_checked_by_hand(sides, writing: Writing, french: str, english: str, alignment: str) -> None:
    pair = write(*sides, writing)
    assert (pair.french, pair.english, to_pharaoh(pair.alignment)) == (french, english, alignment)


def test_english_is_written_as_french_is(sample: list[PocketPair]) -> None:
    for pair in sample:
        if pair.french[0].isupper():
            assert pair.english[0].isupper(), pair
        else:  # the English word has its capital everywhere, as in "I" and "Marie's book"
            first = re.split("['.,?!]", pair.english.split()[0])[0]
            assert pair.english[0].islower() or first in {*ALWAYS, *re.findall(r"\w+", pair.french)}, pair
        assert re.sub(r"[^.,?!]", "", pair.french) == re.sub(r"[^.,?!]", "", pair.english), pair
        assert not re.search(r" [.,?!]|[.?!].", pair.english), pair
        assert not re.search(r" [.,]|[.?!].", pair.french), pair


def test_marks_are_linked_to_marks(sample: list[PocketPair]) -> None:
    for pair in sample:
        french, english = pair.french.split(), pair.english.split()
        if pair.french.endswith((".", "?", "!")):
            assert (len(french) - 1, len(english) - 1) in pair.alignment, pair
        commas = [[i for i, word in enumerate(words) if word.endswith(",")] for words in (french, english)]
        assert set(zip(*commas, strict=True)) <= pair.alignment, pair


def test_every_way_of_writing_is_drawn(sample: list[PocketPair]) -> None:
    ends = Counter((pair.french[0].isupper(), re.sub(r".*?( ?[.?!])?$", r"\1", pair.french)) for pair in sample)
    common = {(True, "."): 0.35, (False, ""): 0.2, (True, " ?"): 0.05, (False, " ?"): 0.01, (True, "?"): 0.01}
    rare = dict.fromkeys(((True, ""), (False, "."), (True, " !"), (True, "!"), (False, " !"), (False, "?")), 0.001)
    assert {way: ends[way] for way, share in (common | rare).items() if ends[way] < share * len(sample)} == {}
    assert sum("," in pair.french for pair in sample) > len(sample) / 50


def test_a_sentence_is_the_same_however_it_is_written() -> None:
    for seed in range(300):
        draft = Draft(Random(seed))
        sides = sentence(draft)
        pairs = [write(*sides, draw_writing(draft, kind)) for kind in ".?!"] + [
            write(*sides, BARE),
            write(*sides, BOOK),
        ]
        assert len({(plain(pair.french), plain(pair.english)) for pair in pairs}) == 1


@pytest.mark.parametrize("space", ["\u00a0", "\u202f"])
def test_a_no_break_space_before_a_mark_is_a_space(space: str) -> None:
    """French typography has one there; a model reads the text that it was trained on."""
    assert normalise(f"Où est Paul{space}?") == write(*ASKED, Writing(True, "?")).french


def test_vocabulary_counts_the_parts_of_joined_words() -> None:
    assert vocabulary(["L'homme dort.", "l'homme, où dort-il ?"]) == {"l", "homme", "dort", "où", "il"}
