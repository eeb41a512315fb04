"""`shown`: text of others in a message is one line that a terminal cannot be steered by."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import LONGEST_MESSAGE, LONGEST_SHOWN, BundleError, InputTypeError, RegardError, shown


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x9b31m\x85", r"\x9b31m\x85"),
        ("abc\u202egpj.exe", r"abc\u202egpj.exe"),
        ("\u2066x\u2069\u200f\u061c", r"\u2066x\u2069\u200f\u061c"),
        ("a\u2028b\ufeff\u200b", r"a\u2028b\ufeff\u200b"),
        ("\udcff", r"\udcff"),
        ("\U000e0041", r"\U000e0041"),
        (r"C:\new [bold] é ñ 中文 می\u200cخواهم", r"C:\new [bold] é ñ 中文 می\u200cخواهم"),
        ("می\u200cخواهم 1\u202f000\u00a0€ 👩\u200d🔬", "می\u200cخواهم 1\u202f000\u00a0€ 👩\u200d🔬"),
    ],
)
def test_what_could_steer_a_terminal_is_escaped_and_all_else_stays(text: str, safe: str) -> None:
    assert shown(text) == safe


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    line = shown("key " + "k" * 5_000_000 + "; fix it")
    assert len(line) <= LONGEST_SHOWN
    assert line.startswith("key kkk")
    assert line.endswith("kkk; fix it")
    assert "[.. 5,000,012 characters ..]" in line


@given(st.text(st.characters(codec=None)), st.integers(min_value=60, max_value=200))
def test_the_result_is_short_can_be_written_and_is_shown_as_it_is(text: str, limit: int) -> None:
    line = shown(text, limit)
    assert len(line) <= limit
    line.encode("utf-8")  # raises for a lone surrogate
    assert len(line.splitlines()) <= 1
    assert "\x1b" not in line
    assert shown(line, limit) == line


def test_every_error_shows_its_own_message_safely() -> None:
    for kind in (RegardError, BundleError, InputTypeError):
        error = kind("no such file: \x1b[2J\u202e" + "x" * 10_000)
        assert str(error).startswith(r"no such file: \x1b[2J\u202exxx")
        assert len(str(error)) <= LONGEST_MESSAGE
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
