import random
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest

from regard.text.build import learn
from regard.text.config import TextConfig
from regard.text.dropout import BpeDropout, dropout_generator
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


def test_each_seed_epoch_and_sentence_has_numbers_of_its_own():
    keys = list(product([0, 1, -1, 2**70 + 5], [0, 1, 2], [0, 1, 2, 5_000_000]))
    streams = [dropout_generator(*key).random(500).tolist() for key in keys]
    assert streams == [dropout_generator(*key).random(500).tolist() for key in keys]
    assert len({number for stream in streams for number in stream}) == 500 * len(keys)  # no overlap either
