"""A line in another language is noticed, one in the own language is not; numbers by hand."""

import pytest

from regard.bundle.config import Languages
from regard.tasks.translate import language_check
from regard.tasks.translate.language_check import LanguageCheck, characters_per_piece
from regard.tasks.translate.translation import Source
from regard.text.build import TokenizerPair, learn_pair
from regard.text.config import TextConfig

FRENCH = "le chat dort sur la table et le chien mange dans la cuisine avec mon frère"
ENGLISH = "the cat sleeps on the table and the dog eats inside the kitchen with my brother"
GERMAN = "unsere katze schläft hinter dem ofen und mein hund frisst seinen knochen draußen"


def pair(joint: bool, kind: str = "bpe") -> TokenizerPair:
    pairs = [(FRENCH, ENGLISH)] * 50
    return learn_pair(TextConfig.parse({"kind": kind, "vocabulary": 400, "joint": joint}), lambda: pairs)


def warning(pair: TokenizerPair, *lines: str, languages: Languages | None = None) -> tuple[int, str] | None:
    check = LanguageCheck(pair, languages or Languages(source="fr", target="en"))
    return check.warning(0, [Source(line, pair.source.encode(line), False) for line in lines])


def test_most_of_a_line_in_bytes() -> None:
    both = pair(joint=True)
    assert (
        warning(both, FRENCH, "", "le chat 🙂", "🙂🙂🙂") is None
    )  # an emoji is not most of a line, or too short to tell
    place, message = warning(both, FRENCH, "Привет, как дела?") or (None, "")
    assert (place, message) == (
        1,
        "line 2: most of it is unknown to the vocabulary; this model reads fr (this is told once)",
    )
    # by hand: "le" is known; of the ten characters of "le длинный?" without the space, seven and the mark are not
    assert warning(both, "le длинный?") is not None
    assert warning(both, "chat table д") is None
    assert "the source language" in (warning(both, "Привет, как дела?", languages=Languages()) or (0, ""))[1]


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_what_the_model_was_trained_on_is_never_told(kind: str) -> None:
    assert warning(pair(joint=False, kind=kind), *[FRENCH] * 30, "") is None
    assert warning(pair(joint=False, kind=kind), "Привет, как дела?") is not None


def test_the_target_language_typed_in() -> None:
    apart = pair(joint=False)
    ratio = len(apart.source.encode(ENGLISH)) / len(apart.target.encode(ENGLISH))
    assert ratio > language_check.TIMES
    place, message = warning(apart, FRENCH, ENGLISH) or (None, "")
    assert (place, message) == (
        1,
        "line 2: it looks like en, which this model writes; it reads fr (this is told once)",
    )
    assert warning(apart, "the cat") is None  # too short to tell


def test_hardly_a_word_in_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    both = pair(joint=True)
    assert warning(both, GERMAN) is None  # a small vocabulary has few words of any text
    monkeypatch.setattr(language_check, "WHOLE_WORDS", 10)
    assert "line 1: hardly a word" in (warning(both, GERMAN) or (0, ""))[1]
    assert (
        warning(both, FRENCH, ENGLISH, *[GERMAN] * 9) is None
    )  # the text began as it should: 0.5 and above of 60 words


def test_it_warns_once() -> None:
    both = pair(joint=True)
    check = LanguageCheck(both, Languages())
    strange = [Source("Привет, как дела?", both.source.encode("Привет, как дела?"), False)] * 3
    assert (check.warning(10, strange) or (9, ""))[0] == 0
    assert check.warning(13, strange) is None


@pytest.mark.parametrize("joint", [True, False])
def test_smaller_pieces_than_those_of_the_training_text(joint: bool) -> None:
    """The mean is that of the French line. A text with less than half of it is told, unless it began as it should."""
    both = pair(joint)
    mean = characters_per_piece(both.source, [FRENCH])
    assert mean == len(FRENCH.replace(" ", "")) / len(both.source.encode(FRENCH))
    lines = [Source(line, both.source.encode(line), False) for line in (GERMAN[:10], GERMAN, FRENCH)]
    share = characters_per_piece(both.source, [GERMAN[:10], GERMAN]) / mean
    assert share < language_check.PIECE_SHARE
    place, message = LanguageCheck(both, Languages(source="fr"), mean).warning(0, lines) or (None, "")
    assert (place, message) == (
        1,  # the first line is too short to tell
        "line 2: the text so far is cut into far smaller pieces than the training text: another language or subject? "
        "This model reads fr (this is told once)",
    )
    assert LanguageCheck(both, Languages(), mean).warning(0, [*[lines[2]] * 3, lines[1]]) is None
    assert LanguageCheck(both, Languages(), share * mean).warning(0, lines) is None  # the mean of such a text
    assert characters_per_piece(both.source, []) is None
