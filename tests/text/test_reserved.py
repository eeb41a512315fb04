"""Reserved pieces: part of every learned vocabulary, never made of text, found by class, stored with the tokeniser."""

import pickle
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.errors import ConfigError, TextError
from regard.text.build import TokenizerPair, learn, load_tokenizers, save_tokenizers, tokenizers_fingerprint
from regard.text.config import OneTextConfig, TextConfig
from regard.text.imported import VocabularyRecord
from regard.text.reserved import ReservedConfig
from regard.text.reserved_text import decode_reserved, encode_reserved
from regard.text.vocabulary import BYTE_PIECES, Vocabulary
from regard.text.wordpiece import WordPieceRecord, WordPieceTokenizer

KINDS = ("bpe", "unigram", "word", "char")
SOME = {"mask": True, "sentinels": 12, "languages": ["en", "zh-Hant"], "placeholders": 2}
NAMES = ("<mask>", *(f"<extra_id_{n}>" for n in range(12)), ">>en<<", ">>zh-Hant<<", "<ph_0>", "<ph_1>")
LINES = ["the <mask> cat sat on the mat", "x<mask>y<mask>z>>en<<v<extra_id_1>u<ph_0>w", "the <extra_id_11> >>en<<"] * 30


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return learn(OneTextConfig.parse({"kind": request.param, "vocabulary": 340, "reserved": SOME}), LINES)


def test_they_stand_behind_the_marks_and_are_found_by_class(tokenizer):
    vocabulary, reserved = tokenizer.vocabulary, tokenizer.vocabulary.reserved
    assert vocabulary.pieces[: 2 + 17] == ("</s>", "<unk>", *NAMES)
    assert vocabulary.pieces[19 : 19 + 256] == BYTE_PIECES
    assert vocabulary.pieces[-1] == "<pad>"
    assert reserved.mask == 2
    assert reserved.sentinels == tuple(range(3, 15))
    assert reserved.languages == {"en": 15, "zh-Hant": 16}
    assert reserved.placeholders == (17, 18)
    assert reserved.names == {name: index for index, name in enumerate(NAMES, 2)}
    assert vocabulary.special == (*range(19), vocabulary.pad)


def test_no_text_has_them_and_every_text_comes_back(tokenizer):
    parts = st.sampled_from([*NAMES, "<extra_id_", ">>", "<<", "<", "mask", ">", " ", "the", "é"])

    @settings(max_examples=80, deadline=None)
    @given(st.lists(parts, max_size=10).map("".join))
    @example("".join(NAMES))
    @example(" ".join(NAMES))
    def holds(text):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == tokenizer.normalise(text)
        assert not set(tokenizer.vocabulary.special) & set(ids)
        assert [row.tolist() for row in tokenizer.packer()([text]).rows()] == [ids]
        assert tokenizer.decode([2, *ids, 5]) == tokenizer.normalise(text), "decoding leaves them out"
        for draw in (0.0, 0.9):
            dropped = tokenizer.drop(ids, draw, np.random.default_rng(1))
            assert tokenizer.decode(dropped) == tokenizer.normalise(text)
            assert not set(tokenizer.vocabulary.special) & set(dropped)

    holds()


def test_their_names_are_understood_and_shown_when_asked(tokenizer):
    text = ">>en<< the <mask> sat <extra_id_11> on"
    ids = encode_reserved(tokenizer, text)
    assert [index for index in ids if index < 19] == [15, 2, 14]
    assert decode_reserved(tokenizer, ids) == text
    assert tokenizer.decode(ids) == "the sat on"
    assert encode_reserved(tokenizer, "the cat") == tokenizer.encode("the cat")
    if tokenizer.kind == "char":  # a space is a piece of its own
        assert tokenizer.vocabulary.id_of("▁") == ids[ids.index(2) - 1] == ids[ids.index(2) + 1]


def test_what_follows_a_gap_without_a_space_goes_on_with_its_word(tokenizer):
    """A full stop behind a mask is what training has it to be: no space stands before it."""
    vocabulary = tokenizer.vocabulary
    for text in ("on the <mask>x.", "<extra_id_3>mat, <mask>é<mask>. the", "<mask><mask>"):
        ids = encode_reserved(tokenizer, text)
        filled = text
        for name in ("<mask>", "<extra_id_3>"):
            filled = filled.replace(name, "")
        if tokenizer.kind in ("bpe", "unigram"):
            behind = [vocabulary.spelling(two) for one, two in pairwise(ids) if one < 15 <= two]
            assert [spelling.startswith("▁") for spelling in behind] == [part[:1] == " " for part in parts_behind(text)]
            assert decode_reserved(tokenizer, ids) == text.replace("é<mask>", "é <mask>").replace("><mask>", "> <mask>")
        assert tokenizer.decode(ids).replace(" ", "") == filled.replace(" ", "")
    ids = encode_reserved(tokenizer, ">>en<<the")
    assert ids == [15, *tokenizer.encode("the")], "a language is no part of a word"


def parts_behind(text):
    """What stands behind each gap, where something does."""
    return [part for part in re.split(r"<mask>|<extra_id_\d>", text)[1:] if part]


def test_they_are_stored_with_the_tokeniser(tokenizer, tmp_path):
    pair = TokenizerPair(tokenizer, tokenizer, joint=True)
    save_tokenizers(pair, tmp_path)
    for copy in (load_tokenizers(tmp_path).source, pickle.loads(pickle.dumps(tokenizer))):
        assert copy.vocabulary == tokenizer.vocabulary
        assert copy.vocabulary.reserved == tokenizer.vocabulary.reserved
        assert copy.encode(LINES[1]) == tokenizer.encode(LINES[1])
    assert tokenizers_fingerprint(load_tokenizers(tmp_path)) == tokenizers_fingerprint(pair)
    for damage in ('["<mask>", "the"]', '["<extra_id_3>"]', '"<mask>"', '["<mask>", "<mask>"]'):
        file = tmp_path / "tokenizer.json"
        content = file.read_text()
        file.write_text(content[: content.index('"reserved"')] + f'"reserved": {damage}\n}}')
        if tokenizer.kind in ("bpe", "unigram") or "extra" not in damage:  # of a word list any name is its own
            with pytest.raises(TextError, match=r"tokenizer\.json|joint") as caught:
                load_tokenizers(tmp_path)
            assert "\n" not in str(caught.value)
        file.write_text(content)


@pytest.mark.parametrize(("kind", "size"), [("bpe", 330), ("word", 60), ("char", 60)])
def test_they_count_as_part_of_the_vocabulary(kind, size):
    lines = ["".join(chr(0x4E00 + 7 * n + m) for m in range(3)) + " low lower lowest" for n in range(120)]
    plain = learn(OneTextConfig(kind=kind, vocabulary=size), lines).vocabulary
    holding = learn(OneTextConfig.parse({"kind": kind, "vocabulary": size, "reserved": SOME}), lines).vocabulary
    assert len(holding) == len(plain) == size + (1 if kind == "bpe" else 260)
    assert len(set(plain.pieces) - set(holding.pieces)) >= 17 == len(holding.reserved.names)


@pytest.mark.parametrize("kind", KINDS)
def test_too_small_a_vocabulary_is_refused(kind):
    least = 317 if kind in ("bpe", "unigram") else 18
    learn(OneTextConfig.parse({"kind": kind, "vocabulary": least, "reserved": SOME}), LINES)
    with pytest.raises(TextError, match=f"text.vocabulary = {least - 1}: .* 17 pieces.*set text.vocabulary to {least}"):
        learn(OneTextConfig.parse({"kind": kind, "vocabulary": least - 1, "reserved": SOME}), LINES)


@pytest.mark.parametrize("bad", [["e n"], [">>en<<"], [""], ["en", "de", "en"], ["x" * 65]])
def test_bad_languages_are_named(bad):
    with pytest.raises(ConfigError, match="languages") as caught:
        TextConfig.parse({"reserved": {"languages": bad}})
    assert "\n" not in str(caught.value)


def test_the_key_of_a_corpus_knows_them_and_is_as_before_without_them():
    plain = TextConfig(vocabulary=300)
    assert "reserved" not in plain.key("dropout")
    assert TextConfig(vocabulary=300, reserved=ReservedConfig(mask=True)).key()["reserved"]["mask"] is True
    assert plain.key("dropout", "joint") == {
        name: getattr(plain, name)
        for name in ("kind", "vocabulary", "form", "lowercase", "character_coverage", "sample")
    }


def test_imported_vocabularies_have_them_where_they_are_no_text():
    pieces = ("[SEP]", "[UNK]", "[CLS]", "[MASK]", "low", "<mask>", "<pad>")
    bert = WordPieceTokenizer(WordPieceRecord(pieces=pieces, silent=("[SEP]", "[CLS]", "[MASK]", "<pad>")))
    assert bert.vocabulary.reserved.mask == 3
    assert bert.vocabulary.special == (0, 1, 2, 3, 6)
    record = VocabularyRecord(pieces=("</s>", "<unk>", "<extra_id_1>", "<extra_id_0>", "a", "<pad>"), silent=())
    assert not Vocabulary(record.pieces).reserved.names, "ordinary pieces of that name are text"
    assert Vocabulary(record.pieces, silent=record.pieces[2:4]).reserved.sentinels == (3, 2), "by number, as in T5"
