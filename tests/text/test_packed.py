"""Many texts in one array are the same ids as text by text, whatever is remembered in between."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.text import packed
from regard.text.normalise import SPACE_MARK, normalise, words_with_text_ends
from regard.text.packed import pack, take
from regard.text.word import count_words

KINDS = ("bpe", "unigram", "word", "char")
ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=40)
PLAIN = st.text(st.sampled_from("the old sailor's étudiant ΣσÉ\u0301\u00a8\ufeff42▁ \t\n\u00a0\x00<>/x"), max_size=60)
TEXTS = st.lists(ANY_TEXT | PLAIN, max_size=8)
FORMS = st.sampled_from(["nfc", "nfkc", "none"])


@given(rows=st.lists(st.lists(st.integers(0, 70_000), max_size=5), max_size=9))
def test_rows_are_packed_and_taken_apart(rows):
    together = pack(rows)
    assert [row.tolist() for row in together.rows()] == rows
    assert together.lengths.tolist() == [len(row) for row in rows]


@given(st.data())
def test_rows_are_taken_from_anywhere(data):
    ids = np.arange(20) * 3
    places = data.draw(st.lists(st.integers(0, 19).flatmap(lambda i: st.tuples(st.just(i), st.integers(i, 20)))))
    starts = np.array([start for start, _ in places], dtype=np.int64)
    ends = np.array([end for _, end in places], dtype=np.int64)
    found = take(ids, starts, ends - starts)
    assert [row.tolist() for row in found.rows()] == [ids[start:end].tolist() for start, end in places]


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_packer_gives_what_encode_gives(tokenizers, kind, joint):
    tokenizer = tokenizers[kind, joint].target
    packer = tokenizer.packer()  # one for all examples: what it remembers must not matter

    @settings(max_examples=80, deadline=None)
    @given(TEXTS)
    @example([])
    @example([""])
    @example(["", " \t", "▁", "a ▁ b", "the▁old", ""])
    @example(["x" * 3000 + " the", "</s><unk><pad> <0x41>"])
    def holds(texts):
        found = packer(texts)
        assert [row.tolist() for row in found.rows()] == [tokenizer.encode(text) for text in texts]

    holds()


@pytest.mark.parametrize("kind", ["bpe", "word"])
def test_a_packer_may_forget(tokenizers, pairs, kind, monkeypatch):
    monkeypatch.setattr(packed, "_MEMO_IDS", 40)
    tokenizer = tokenizers[kind, True].source
    packer = tokenizer.packer()
    sizes = []
    for start in range(0, len(pairs), 7):
        texts = [text for pair in pairs[start : start + 7] for text in pair]
        assert [row.tolist() for row in packer(texts).rows()] == [tokenizer.encode(text) for text in texts]
        sizes.append(len(packer._cache.ids))
    assert any(after < before for before, after in pairwise(sizes))


@pytest.mark.parametrize("lowercase", [True, False])
def test_lowercase_and_form_hold_in_packs(pairs, lowercase):
    from regard.text.build import learn
    from regard.text.config import TextConfig

    texts = ["ÉTÉ ﬁn ΑΣ ΑΣ' ①\u00a8 e\u0301", "ΣΑΣ\u00a0Σ"]
    for kind in KINDS:
        tokenizer = learn(TextConfig(kind=kind, form="nfkc", lowercase=lowercase), [pair[1] for pair in pairs])
        assert [row.tolist() for row in tokenizer.packer()(texts).rows()] == [tokenizer.encode(text) for text in texts]


@given(TEXTS, FORMS, st.booleans())
def test_words_in_a_row_are_those_of_each_text(texts, form, lowercase):
    expected = []
    for text in texts:
        expected += [*normalise(text, form, lowercase).split(), SPACE_MARK]
    assert words_with_text_ends(texts, form, lowercase) == expected


@given(TEXTS, FORMS, st.booleans())
def test_words_are_counted_as_if_every_text_were_normalised(texts, form, lowercase):
    expected = Counter(word for text in texts for word in normalise(text, form, lowercase).split())
    assert count_words(texts, form, lowercase) == expected
