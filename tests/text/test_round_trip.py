"""The contract of every tokeniser: no text is unknown, and what is encoded comes back."""

import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.text.dropout import dropout_generator

KINDS = ("bpe", "unigram", "word", "char")
ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=40)
PLAIN = st.text(st.sampled_from("the old sailor's étudiant 42▁ \t\u00a0\x00<>/x"), max_size=60)
LITERALS = st.lists(
    st.sampled_from(["</s>", "<unk>", "<pad>", "<0x41>", "<0x0A>", "▁", "▅", " ", "the", "é", "🙂", "</w>"]),
    max_size=12,
).map("".join)

FAMILY = "👩\u200d👩\u200d👧 Ελλάδα \u0928\u092e\u0938\u094d\u0924\u0947 日本語 \u202bעברית"


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_any_text_comes_back(tokenizers, kind, joint, side):
    tokenizer = getattr(tokenizers[kind, joint], side)

    @settings(max_examples=120, deadline=None)
    @given(ANY_TEXT | PLAIN | LITERALS)
    @example(FAMILY)
    @example("a\ud83d b\x00c\td\u00a0e\r\nf")
    @example("</s><unk><pad> <0x41>")
    @example("\ufffd\uffff\U0010ffff")
    @example("x" * 3000)
    def holds(text):
        ids = tokenizer.encode(text)
        decoded = tokenizer.decode(ids)
        assert decoded == tokenizer.normalise(text)
        assert not {0, 1, tokenizer.vocabulary.pad} & set(ids)  # a mark written out is plain text, nothing is unknown
        assert tokenizer.decode([*ids, 0, tokenizer.vocabulary.pad]) == decoded
        owners = tokenizer.words(ids)
        words = decoded.split(" ")
        assert [
            tokenizer.decode([index for index, owner in zip(ids, owners, strict=True) if owner == word])
            for word in range(len(words))
        ] == words
        dropped = tokenizer.drop(ids, 0.5, dropout_generator(1, 2, 3))
        assert tokenizer.decode(dropped) == decoded
        if kind != "bpe":
            assert dropped == ids

    holds()


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_its_sentences(tokenizers, pairs, kind):
    tokenizer = tokenizers[kind, True].source
    texts = [text for pair in pairs for text in pair] + ["", FAMILY, "<0x41>"]
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_batch(texts[-3:]) == [tokenizer.encode(text) for text in texts[-3:]]
    assert tokenizer.encode_batch([]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_can_be_sent_to_another_process(tokenizers, kind):
    tokenizer = tokenizers[kind, True].source
    tokenizer.drop(tokenizer.encode(FAMILY), 0.5, dropout_generator(1, 2, 3))
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.vocabulary == tokenizer.vocabulary
    assert copy.encode(FAMILY) == tokenizer.encode(FAMILY)


@pytest.mark.parametrize("kind", KINDS)
def test_known_text_takes_no_bytes(tokenizers, pairs, kind):
    tokenizer = tokenizers[kind, True].source
    used = {index for text in pairs[0] for index in tokenizer.encode(text)}
    assert not any(tokenizer.vocabulary.piece(index).startswith("<0x") for index in used)
