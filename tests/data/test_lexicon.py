"""IBM Model 1 on corpora whose dictionary is known."""

import random

import pytest

from regard.data import lexicon
from regard.data.lexicon import Lexicon


def test_one_iteration_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "ITERATIONS", 1)
    learned = Lexicon([([0, 1], [0, 1]), ([0], [0])], 2, 2)
    # a third of each target piece of the first pair goes to each of 0, 1 and the empty piece; half of the second pair's to 0
    assert learned.likely(0, 5, (1 / 3 + 1 / 2) / (2 / 3 + 1 / 2) - 1e-9) == [0]
    assert learned.likely(0, 5, (1 / 3) / (2 / 3 + 1 / 2) - 1e-9) == [0, 1]
    assert learned.likely(1, 5, 0.5 - 1e-9) == [0, 1]
    assert learned.likely(1, 1, 0.0) == [0]
    assert learned.frequencies.tolist() == [2, 1]
    assert learned.frequent(5) == [0, 1]


def test_a_dictionary_is_found_in_shuffled_sentences() -> None:
    chance, pieces = random.Random(1), 40
    becomes = list(range(pieces))
    chance.shuffle(becomes)
    pairs = []
    for _ in range(400):
        source = chance.sample(range(pieces), 6)
        target = [becomes[piece] for piece in source]
        chance.shuffle(target)
        pairs.append((source, target))
    learned = Lexicon(pairs, pieces, pieces)
    assert [learned.likely(piece, 1, 0.0) for piece in range(pieces)] == [[target] for target in becomes]


def test_pieces_that_never_occur_have_no_candidates() -> None:
    learned = Lexicon([([1], [2])], 4, 4)
    assert learned.likely(3, 5, 0.0) == []
    assert learned.frequent(5) == [2]
    assert Lexicon([], 3, 3).likely(0, 5, 0.0) == []
