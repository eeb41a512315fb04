"""Texts with placeholder pieces: what is put in comes back as it was, spaces too."""

from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text.build import learn_pair
from regard.text.config import TextConfig
from regard.text.placeholders import decode_with, encode_with, placeholder_ids
from regard.text.protected import Protection
from regard.text.tokenizer import Tokenizer

PAIRS = [("je suis étudiant (ici).", "I am a student (here)."), ("le chat dort", "the cat sleeps")]


def tokenizer(kind: str, reserved: int = 4) -> Tokenizer:
    text = {"kind": kind, "vocabulary": 400, "reserved": {"placeholders": reserved}}
    return learn_pair(TextConfig.parse(text), lambda: PAIRS).source


TOKENIZERS = {kind: tokenizer(kind) for kind in ("bpe", "unigram", "char")}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(TOKENIZERS)),
    st.lists(st.sampled_from(["le", " ", "chat", "{x}", "%s", "(", ").", "l'", "  ", "<ph_0>", "日"]), max_size=8),
)
def test_a_text_comes_back_as_it_was(kind: str, parts: list[str]) -> None:
    text = "".join(parts)
    one = TOKENIZERS[kind]
    spans = Protection().spans(text)[:4]
    pieces = placeholder_ids(one)[: len(spans)]
    ids = encode_with(one, text, spans, pieces)
    assert [index for index in ids if index in pieces] == list(pieces)
    strings = {piece: text[span.start : span.end] for piece, span in zip(pieces, spans, strict=True)}
    assert decode_with(one, ids, strings) == one.normalise(text)


def test_the_name_of_a_piece_in_a_text_is_text() -> None:
    one = TOKENIZERS["bpe"]
    assert not set(placeholder_ids(one)) & set(encode_with(one, "le <ph_0> dort", [], []))


def test_which_tokenisers_have_placeholders() -> None:
    assert len(placeholder_ids(TOKENIZERS["bpe"])) == 4
    assert placeholder_ids(tokenizer("bpe", 0)) == ()
    assert placeholder_ids(tokenizer("word")) == ()  # its pieces do not say where spaces are


def test_a_placeholder_without_a_string_is_left_out() -> None:
    one = TOKENIZERS["bpe"]
    text = "le {x} dort"
    ids = encode_with(one, text, Protection().spans(text), placeholder_ids(one)[:1])
    assert decode_with(one, ids, {}) == "le dort"
