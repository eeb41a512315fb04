"""How often each pair is seen: counted by hand, and over many epochs."""

from collections import Counter

import numpy as np
import pytest

from regard.data.mixing import CorpusPart, corpus_parts, epoch_examples, is_mixed, origins


def parts(*sizes_and_weights):
    return tuple(CorpusPart(f"c{n}", weight, size, size) for n, (size, weight) in enumerate(sizes_and_weights))


def test_whole_weights_repeat_every_pair_with_numbers_of_its_own():
    numbers = epoch_examples(parts((2, 1), (3, 2)), seed=1, epoch=0)
    assert sorted(numbers.tolist()) == [0, 1, 2, 3, 4, 7, 8, 9]  # 5 pairs; the second occurrence of 2 is 7


@pytest.mark.parametrize(
    ("weight", "epochs", "times"), [(0.25, 4, 1), (0.1, 10, 1), (1.5, 2, 3), (2.75, 4, 11), (0.7, 10, 7)]
)
def test_after_some_epochs_all_pairs_were_seen_equally_often(weight, epochs, times):
    corpora = parts((7, 1), (40, weight))
    seen = Counter(int(n) % 47 for epoch in range(epochs) for n in epoch_examples(corpora, 3, epoch))
    assert {seen[n] for n in range(7)} == {epochs}
    assert {seen[n] for n in range(7, 47)} == {times}


def test_every_epoch_has_its_share_and_never_a_pair_too_often():
    corpora = parts((101, 0.3), (10, 2.5))
    for epoch in range(20):
        numbers = epoch_examples(corpora, 1, epoch)
        assert len(set(numbers.tolist())) == len(numbers)
        seen = Counter((numbers % 111).tolist())
        first, second = [seen[n] for n in range(101)], [seen[n] for n in range(101, 111)]
        assert 30 <= sum(first) <= 31
        assert set(first) == {0, 1}
        assert sum(second) == 25
        assert set(second) == {2, 3}


def test_the_examples_are_a_function_of_seed_and_epoch():
    corpora = parts((50, 0.5), (50, 1))
    first = epoch_examples(corpora, 1, 4)
    assert np.array_equal(first, epoch_examples(corpora, 1, 4))
    assert not np.array_equal(first, epoch_examples(corpora, 1, 5))
    assert not np.array_equal(first, epoch_examples(corpora, 2, 4))


def test_no_epoch_is_empty():
    assert [len(epoch_examples(parts((3, 0.01)), 1, epoch)) for epoch in range(5)] == [1] * 5


def test_parts_are_found_again_by_their_lines():
    """Lines 2 and 5 were left out."""
    found = corpus_parts(["a", "b"], [1, 2.0], [3, 4], np.array([1, 3, 4, 6, 7]))
    assert [(part.lines, part.examples) for part in found] == [(3, 2), (4, 3)]
    assert origins(found, [1, 3, 4, 7]) == ["a:1", "a:3", "b:1", "b:4"]
    assert is_mixed(found)
    assert not is_mixed(parts((3, 1), (4, 1.0)))
