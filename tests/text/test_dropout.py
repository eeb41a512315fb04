import math
import random
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest

from regard.text import dropout as dropout_module
from regard.text.build import learn
from regard.text.config import TextConfig
from regard.text.dropout import BpeDropout, dropout_generator
from regard.text.streams import ExampleStreams
from regard.text.vocabulary import BYTE_PIECES, Vocabulary

PIECES = ["ab", "▁a", "bc", "cab", "abab", "▁ab", "a", "b", "c", "▁"]  # from the best score to the worst
VOCABULARY = Vocabulary(["</s>", "<unk>", *BYTE_PIECES, *PIECES, "<pad>"])
RANKS = {piece: rank for rank, piece in enumerate(PIECES)}
DROPOUT = BpeDropout(VOCABULARY, [0.0] * 258 + [-float(rank) for rank in range(len(PIECES))])


def outcomes(symbols: tuple[str, ...], probability: float) -> Counter:
    """The paper's algorithm, every set of dropped merges with its probability."""
    candidates = [
        (RANKS[left + right], place) for place, (left, right) in enumerate(pairwise(symbols)) if left + right in RANKS
    ]
    if not candidates:
        return Counter({symbols: 1.0})
    result: Counter = Counter()
    for dropped in product([False, True], repeat=len(candidates)):
        weight = np.prod([probability if drop else 1 - probability for drop in dropped])
        left = [candidate for candidate, drop in zip(candidates, dropped, strict=True) if not drop]
        if not left:
            result[symbols] += weight
            continue
        _, place = min(left)
        merged = (*symbols[:place], symbols[place] + symbols[place + 1], *symbols[place + 2 :])
        for end, share in outcomes(merged, probability).items():
            result[end] += weight * share
    return result


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("word", ["▁abab", "▁cabc"])
def test_segmentations_are_as_frequent_as_in_the_paper(word, probability):
    expected = outcomes(tuple(word), probability)
    ids = [VOCABULARY.id_of(character) for character in word]
    draws = 20_000
    generator = np.random.default_rng(5)
    seen = Counter(
        tuple(VOCABULARY.piece(index) for index in DROPOUT(ids, probability, generator)) for _ in range(draws)
    )
    assert set(seen) <= set(expected)
    for segmentation, share in expected.items():
        deviation = (share * (1 - share) / draws) ** 0.5
        assert abs(seen[segmentation] / draws - share) < 4 * deviation + 1e-9, segmentation


def test_by_hand():
    # ▁ a b a b: ab is best and leftmost first, then the second ab, then abab; "▁a" lost its a at the first step.
    ids = [VOCABULARY.id_of(character) for character in "▁abab"]
    nothing = np.random.default_rng(0)
    assert [VOCABULARY.piece(index) for index in DROPOUT(ids, 0.0, nothing)] == ["▁", "abab"]
    marks = [0, *ids, VOCABULARY.id_of("<0xC3>"), VOCABULARY.id_of("<0xA9>"), *ids[1:], 0, VOCABULARY.pad]
    shown = [VOCABULARY.piece(index) for index in DROPOUT(marks, 0.0, nothing)]
    assert shown == ["</s>", "▁", "abab", "<0xC3>", "<0xA9>", "abab", "</s>", "<pad>"]
    for bad in (1.0, -0.1):
        with pytest.raises(ValueError, match="not in"):
            DROPOUT(ids, bad, nothing)


def sentences(size: int, seed: int) -> list[str]:
    """Real-looking words, random words of their letters, unseen characters, and runs that repeat."""
    generator = random.Random(seed)
    words = ["the", "old", "sailor", "unhappiness", "étudiants", "l'écriture", "préféré", "42", "lighthouses", ",", "!"]
    letters = "".join(words)

    def word() -> str:
        kind = generator.random()
        if kind < 0.5:
            return generator.choice(words)
        if kind < 0.9:
            return "".join(generator.choice(letters) for _ in range(generator.randrange(1, 15)))
        return (
            generator.choice(letters) * generator.randrange(1, 9) + generator.choice("日🙂zÆ") + generator.choice(words)
        )

    return [" ".join(word() for _ in range(generator.randrange(0, 14))) for _ in range(size)]


@pytest.mark.parametrize("vocabulary", [320, 450, 8000])
def test_without_dropout_it_is_sentencepiece(pairs, vocabulary):
    tokenizer = learn(TextConfig(vocabulary=vocabulary), [text for pair in pairs for text in pair])
    for number, text in enumerate([*sentences(2000, seed=vocabulary), "ab" * 20_000, "se" * 3001 + " " + "e" * 5000]):
        ids = tokenizer.encode(text)
        assert tokenizer.drop(ids, 0.0, np.random.default_rng(0)) == ids
        dropped = tokenizer.drop(ids, 0.3, dropout_generator(1, 1, number))
        assert tokenizer.decode(dropped) == tokenizer.normalise(text)
        assert tokenizer.drop(dropped, 0.0, np.random.default_rng(0)) == ids  # and it finds its way back


def test_it_depends_on_nothing_but_its_arguments(tokenizers):
    tokenizer = tokenizers["bpe", True].source
    fresh = type(tokenizer)(tokenizer.files()[".spm"], "bpe")
    texts = sentences(200, seed=3)
    rows = tokenizer.encode_batch(texts)
    forward = [tokenizer.drop(row, 0.2, dropout_generator(1, 4, number)) for number, row in enumerate(rows)]
    backward = [
        fresh.drop(np.array(row), 0.2, dropout_generator(1, 4, number))
        for number, row in reversed(list(enumerate(rows)))
    ]
    assert forward == backward[::-1]
    assert all(type(index) is int for row in backward for index in row)
    assert forward != [tokenizer.drop(row, 0.2, dropout_generator(1, 5, number)) for number, row in enumerate(rows)]


def dropped_slowly(pieces: list[str], ranks: dict[str, int], probability: float, generator) -> list[str]:
    """One word, every step from scratch: the candidates in order, and a draw that tells how many of them are dropped."""
    symbols = list("".join(pieces))
    draws = generator.random(len(symbols)).tolist()
    for draw in draws:
        places = [place for place in range(len(symbols) - 1) if symbols[place] + symbols[place + 1] in ranks]
        places.sort(key=lambda place: ranks[symbols[place] + symbols[place + 1]])
        dropped = 0 if draw < 1.0 - probability else max(1, int(math.log(1.0 - draw) / math.log(probability)))
        if dropped >= len(places):
            break
        place = places[dropped]
        symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
    return symbols


@pytest.mark.parametrize("probability", [0.05, 0.3, 0.9])
def test_a_draw_decides_a_step(pairs, probability, monkeypatch):
    """The draws mean what they always meant: a run of an older version is resumed with the same segmentations."""
    monkeypatch.setattr(dropout_module, "_MEMO_CUTS", 50)  # so that it is forgotten in between, too
    tokenizer = learn(TextConfig(vocabulary=450), [text for pair in pairs for text in pair])
    scores = [tokenizer._processor.get_score(index) for index in range(len(tokenizer.vocabulary) - 1)]
    order = {score: rank for rank, score in enumerate(sorted(set(scores[258:]), reverse=True))}
    pieces = tokenizer.vocabulary.pieces
    ranks = {piece: order[scores[index]] for index, piece in enumerate(pieces[:-1]) if index >= 258}
    words = ["the", "sailor", "unhappiness", "étudiants", "handwriting", "lighthouses" * 2, "counting" * 3]
    streams = ExampleStreams(3, 9)
    for number, word in enumerate(words * 40):
        ids = tokenizer.encode(word)
        found = tokenizer.drop(ids, probability, streams.of(number))
        expected = dropped_slowly([pieces[index] for index in ids], ranks, probability, dropout_generator(3, 9, number))
        assert [pieces[index] for index in found] == expected


def test_the_words_of_a_sentence_take_their_draws_in_turn(tokenizers):
    tokenizer = tokenizers["bpe", True].source
    text = "the old sailor understood the unhappiness of others"
    for number in range(50):
        whole = dropout_generator(1, 0, number)
        expected = []
        for word in text.split():
            expected += tokenizer.drop(tokenizer.encode(word), 0.3, whole)  # one generator draws on
        assert tokenizer.drop(tokenizer.encode(text), 0.3, dropout_generator(1, 0, number)) == expected


@pytest.mark.parametrize("key", [(0, 0, 0), (1, 2, 3), (-1, 7, 2**70 + 5), (2**70 + 5, -3, 5_000_000)])
def test_a_stream_is_that_of_a_generator_made_for_it(key):
    seed, epoch, sentence = (number % 2**64 for number in key)
    made = np.random.Philox(
        counter=np.array([0, 0, epoch, sentence], dtype=np.uint64), key=np.array([seed, 0], dtype=np.uint64)
    )
    expected = np.random.Generator(made).random(50).tolist()
    assert dropout_generator(*key).random(50).tolist() == expected
    streams = ExampleStreams(key[0], key[1])
    streams.of(4).random(7)
    assert streams.of(key[2]).random(50).tolist() == expected
    streams.of(5).integers(0, 9, dtype=np.uint32)  # half of a number is left over
    assert streams.of(key[2]).random(50).tolist() == expected


def test_each_seed_epoch_and_sentence_has_numbers_of_its_own():
    keys = list(product([0, 1, -1, 2**70 + 5], [0, 1, 2], [0, 1, 2, 5_000_000]))
    streams = [dropout_generator(*key).random(500).tolist() for key in keys]
    assert streams == [dropout_generator(*key).random(500).tolist() for key in keys]
    assert len({number for stream in streams for number in stream}) == 500 * len(keys)  # no overlap either
