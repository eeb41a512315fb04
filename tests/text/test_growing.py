"""Growing a vocabulary: what was there stays, every text still round-trips, and new pieces are used."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from regard.errors import TextError
from regard.text.build import learn, learn_pair, learn_single
from regard.text.config import OneTextConfig, TextConfig
from regard.text.growing import grown, new_pieces, spelled, tokenizers_of_pairs, tokenizers_of_text
from regard.text.subword import SubwordTokenizer
from regard.text.word import count_words

OLD = ["the low lower lowest tower", "a newer slower tower", "we follow the low road"] * 20
NEW = ["le Müller läuft übers Feld", "Müllers Mühle läuft", "das Feld übersteht den Winter 中文 中"] * 20
STRANGE = [
    "",
    " ",
    "a\tb",
    "naïve 🙂 <mask> </s> <0x41> ▅ ▁x",
    "中文字",
    "<extra_id_0> >>de<<",
    "\x01\u200bz",
    "ZWÖLF Müller",
]
KINDS = ("bpe", "unigram", "word", "char")


def config(kind: str, **changes: Any) -> OneTextConfig:
    return OneTextConfig.model_validate({"kind": kind, "vocabulary": 320, **changes})


@pytest.mark.parametrize("kind", KINDS)
def test_all_texts_round_trip_and_no_piece_is_lost(kind: str) -> None:
    before = learn(config(kind, reserved={"mask": True}), OLD)
    after = grown(before, config(kind, grow=30, reserved={"mask": True, "languages": ["de"], "sentinels": 2}), NEW)
    old, new = before.vocabulary.pieces, after.vocabulary.pieces
    assert [piece for piece in new if piece in before.vocabulary] == list(old), "in their order"
    added = [piece for piece in new if piece not in before.vocabulary]
    assert set(added) > {">>de<<", "<extra_id_0>", "<extra_id_1>"}
    assert 10 < len(added) <= 33
    assert set(after.vocabulary.reserved.names) == {"<mask>", ">>de<<", "<extra_id_0>", "<extra_id_1>"}
    assert new[-1] == "<pad>"
    for text in [*OLD[:3], *NEW[:3], *STRANGE]:
        ids = after.encode(text)
        assert after.decode(ids) == after.normalise(text) == before.normalise(text)
        assert not set(ids) & set(after.vocabulary.special)
    lengths = [sum(len(tokenizer.encode(text)) for text in NEW[:3]) for tokenizer in (before, after)]
    assert lengths[1] < 0.9 * lengths[0], "new pieces shorten the new text"


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_grown_model_is_one_that_can_be_stored_and_grown_again(kind: str) -> None:
    first = grown(learn(config(kind), OLD), config(kind, grow=8), NEW)
    [model] = first.files().values()
    again = SubwordTokenizer(model, kind, first.form, first.lowercase)  # type: ignore[arg-type]
    assert [again.encode(text) for text in (*OLD[:3], *NEW[:3])] == [
        first.encode(text) for text in (*OLD[:3], *NEW[:3])
    ]
    second = grown(first, config(kind, grow=8), NEW)
    assert len(second.vocabulary) == len(first.vocabulary) + 8
    assert grown(learn(config(kind), OLD), config(kind, grow=8), NEW).files() == first.files(), "deterministic"


def test_bpe_cuts_old_words_as_before_and_merges_on() -> None:
    before = learn(config("bpe"), OLD)
    after = grown(before, config("bpe", grow=40), NEW)
    for text in OLD[:3]:
        assert [after.vocabulary.piece(i) for i in after.encode(text)] == [
            before.vocabulary.piece(i) for i in before.encode(text)
        ]
    assert after.encode("Müller") != before.encode("Müller")
    ids = after.encode(NEW[0])
    cuts = [after.drop(ids, 0.5, np.random.default_rng(seed)) for seed in range(5)]
    assert {after.decode(cut) for cut in cuts} == {NEW[0]}
    assert any(cut != ids for cut in cuts)
    assert after.drop(ids, 0.0, np.random.default_rng(1)) == ids, "BPE-dropout merges as sentencepiece does"
    packed = after.packer()(NEW[:3])
    assert [row.tolist() for row in packed.rows()] == [after.encode(text) for text in NEW[:3]]


def test_the_most_frequent_pair_is_merged_first_and_rare_ones_never() -> None:
    tokenizer = learn(config("bpe"), ["a b c d e f"] * 5)
    assert isinstance(tokenizer, SubwordTokenizer)
    words = Counter({"abab": 3, "cd": 4, "ef": 1})
    pieces = new_pieces(tokenizer, words, 10)
    # ▁ is a piece in front: ▁a b a b, so (a, b) occurs 3 times beside (▁a, b) 3 times, (▁c, d) 4 times, and (▁e, f) once
    assert [(piece.text, piece.times) for piece in pieces][:2] == [("▁cd", 4), ("ab", 3)]
    assert "▁ef" not in [piece.text for piece in pieces]
    assert pieces[-1].text == "▁abab"
    assert len(new_pieces(tokenizer, words, 1)) == 1
    assert new_pieces(tokenizer, words, 0) == []


def test_new_characters_get_pieces_first_but_not_all_of_them() -> None:
    tokenizer = learn(config("bpe"), OLD)
    assert isinstance(tokenizer, SubwordTokenizer)
    pieces = new_pieces(tokenizer, count_words(["äöü äö ä"] * 3), 20)
    assert [piece.text for piece in pieces][:3] == ["ä", "ö", "ü"]
    few = new_pieces(tokenizer, count_words(["äöü äö ä"] * 3), 2)
    assert [piece.text for piece in few][:1] == ["ä"]
    assert "ü" not in "".join(piece.text for piece in few)


def test_a_piece_is_spelled_as_it_was_before() -> None:
    tokenizer = learn(config("bpe"), OLD)
    assert spelled(tokenizer, "▁lowtower") == tokenizer.encode("lowtower")
    inside = spelled(tokenizer, "erä")
    assert tokenizer.vocabulary.exact(inside) == "erä"
    assert len(inside) == 3, "er, and two bytes"


def test_two_vocabularies_grow_by_their_own_sides() -> None:
    def of(texts: list[str]) -> list[tuple[str, str]]:
        return [(text, text.upper()) for text in texts]

    two = TextConfig(kind="char", vocabulary=300, joint=False)
    base = learn_pair(two, lambda: of(OLD))
    pair = tokenizers_of_pairs(base, two.model_copy(update={"grow": 5}), lambda: of(NEW))
    assert not pair.joint
    assert "ü" in pair.source.vocabulary
    assert "ü" not in pair.target.vocabulary
    assert "Ü" in pair.target.vocabulary
    joint = tokenizers_of_pairs(
        learn_pair(TextConfig(kind="char"), lambda: of(OLD)), TextConfig(kind="char", grow=9), lambda: of(NEW)
    )
    assert joint.source is joint.target
    assert {"ü", "Ü"} <= set(joint.source.vocabulary.pieces)


def test_a_base_is_kept_as_it_is_without_growth() -> None:
    base = learn_single(config("word"), OLD)
    assert tokenizers_of_text(base, config("word"), NEW) is base
    zero = tokenizers_of_text(base, config("word", grow=0, reserved={"mask": True}), NEW)
    assert len(zero.source.vocabulary) == len(base.source.vocabulary) + 1
    assert zero.source.vocabulary.reserved.mask == 2


def test_an_imported_vocabulary_is_refused() -> None:
    class Imported:
        kind = "wordpiece"

    with pytest.raises(
        TextError, match=r"text.grow: a vocabulary of kind 'wordpiece' came with an imported model and cannot grow"
    ):
        grown(Imported(), config("bpe", grow=3), NEW)  # type: ignore[arg-type]
