import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.normalise import is_dropped, normalise, tidy

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
