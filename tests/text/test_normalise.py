import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.normalise import _LEADING_MARKS, LONGEST_RUN, is_dropped, normalise, tidy

ANY_TEXT = st.text(st.characters(exclude_categories=[]))  # surrogates too


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("  a \t b\nc\r\n", "a b c"),
        ("a\u00a0b\u3000c\u2028d\x85e\x1ff", "a b c d e f"),
        ("a\x00b\x7fc\x1b[0m\ufeff", "abc[0m"),
        ("e\x00\u0301", "é"),  # composed although something stood between
        ("e\u0301", "é"),
        ("ﬁn ①", "ﬁn ①"),
        ("\u2581x", "_x"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        ("👩\u200d👧", "👩\u200d👧"),  # the joiner is part of the picture
        ("ÉA", "ÉA"),
    ],
)
def test_by_hand(text, expected):
    assert normalise(text) == expected


def test_forms_and_lowercase():
    assert normalise("ﬁ ①\u00a8", "nfkc") == "fi 1 \u0308"
    assert normalise("e\u0301", "none") == "e\u0301"
    assert normalise("ÉTÉ İ", lowercase=True) == "été i̇"
    assert normalise("H\u0331", lowercase=True) == "\u1e96"  # composed only once it is lowercase


@given(ANY_TEXT, st.sampled_from(["nfc", "nfkc", "none"]), st.booleans())
def test_what_comes_out_is_one_spelling(text, form, lowercase):
    result = normalise(text, form, lowercase)
    assert normalise(result, form, lowercase) == result
    assert result.split(" ") == (result.split() or [""])  # no other white space, none twice, none at the ends
    assert "▁" not in result
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in result)
    assert tidy(result) == result
    if form != "none":
        assert unicodedata.is_normalized(form.upper(), result)


@pytest.mark.parametrize("form", ["nfc", "nfkc"])
def test_every_character_settles_at_once(form):
    for code in range(0x30000):
        once = normalise(f"x{chr(code)}\u0301", form, lowercase=True)
        assert normalise(once, form, lowercase=True) == once, hex(code)


def test_exactly_the_control_characters_that_are_no_space_are_dropped():
    dropped = {chr(code) for code in range(sys.maxunicode + 1) if is_dropped(chr(code))}
    controls = {chr(code) for code in range(0x100) if unicodedata.category(chr(code)) == "Cc"}
    assert dropped == {control for control in controls if not control.isspace()} | {"\ufeff"}


MARKS = {  # ends in a mark of a lower class than the one before it, so that they have to be put in order
    "marks": "\u0301\u0323",
    "marks that are two": "\u0344\u0323",
    "letters that are marks": "\u0f73\uff9e",
    "both": "\uff9e\u0301",
}


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("form", ["nfc", "nfkc"])
@pytest.mark.parametrize("name", MARKS)
def test_a_long_run_of_marks_is_shortened(monkeypatch, form, lowercase, name):
    """Putting n marks in order takes n^2 steps: 160,000 took 41 s, in one call that nothing can interrupt."""
    ordered = []
    normalize = unicodedata.normalize
    monkeypatch.setattr(unicodedata, "normalize", lambda kind, text: ordered.append(text) or normalize(kind, text))
    text = f"q{MARKS[name] * 80_000} e\u0301"
    once = normalise(text, form, lowercase)
    assert once.startswith("q")
    assert once.endswith(" é")
    assert ordered
    assert all(map(has_short_runs, ordered))
    assert normalise(once, form, lowercase) == once


def has_short_runs(text):
    """Whether no run of characters that are, or begin with, a mark is longer than it may be."""
    run = longest = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) or character in _LEADING_MARKS else 0
        longest = max(longest, run)
    return longest <= LONGEST_RUN


@pytest.mark.parametrize("form", ["nfc", "nfkc"])
def test_runs_of_usual_length_stay_whole(form):
    zalgo = "z" + "\u0301\u0323\u0334" * 80 + "a" + "\u0300" * LONGEST_RUN
    assert normalise(zalgo * 40, form) == unicodedata.normalize(form.upper(), zalgo * 40)
    assert normalise("e\u0301" * 5000, form) == "é" * 5000
    assert normalise("e\u0301 " * 5000, form) == "é " * 4999 + "é"
    assert normalise("\uff21" * 1000, form) == ("A" if form == "nfkc" else "\uff21") * 1000


def test_all_letters_whose_decomposition_begins_with_a_mark_are_known():
    combining, decomposed = unicodedata.combining, lambda code: unicodedata.normalize("NFKD", chr(code))[0]
    codes = (code for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
    leading = {chr(code) for code in codes if combining(decomposed(code)) and not combining(chr(code))}
    assert leading == _LEADING_MARKS
