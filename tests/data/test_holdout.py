"""The held-out pairs are what was promised: how many, which, and none of them trained on."""

import numpy as np
import pytest

from data.preparing import CHAR, moses, sentences, text_of
from regard.data.config import PairData
from regard.data.corpus import Counts
from regard.data.holdout import hold_out
from regard.data.prepare import prepare


def test_training_and_held_out_pairs_are_a_partition(tmp_path, cache):
    pairs = sentences(300)
    ready = prepare(PairData(**moses(tmp_path, pairs)), CHAR, cache)
    assert len(ready.valid) == len(ready.valid_pairs) == 3
    assert ready.held_out
    assert text_of(ready.valid, ready.tokenizers) == ready.valid_pairs
    assert sorted(text_of(ready.train, ready.tokenizers) + ready.valid_pairs) == sorted(pairs)
    assert ready.counts == Counts(read=300, kept=297, held_out=3)
    assert ready.languages == ("en", "de")
    assert (ready.valid_alignments, ready.test_pairs, ready.test_alignments) == (None, None, None)


def test_lines_lead_back_to_the_file(tmp_path, cache):
    pairs = sentences(200)
    pairs[10] = ("", "leer")
    ready = prepare(PairData(**moses(tmp_path, pairs)), CHAR, cache)
    assert text_of(ready.train, ready.tokenizers) == [pairs[line - 1] for line in ready.train.lines.tolist()]
    assert ready.valid_pairs == [pairs[line - 1] for line in ready.valid.lines.tolist()]


def test_validation_and_test_files_are_used_as_given(tmp_path, cache):
    train, valid, test = sentences(30), sentences(8, 100), sentences(5, 200)
    valid[2] = ("", "leer")
    valid[4] = ("x" * 30, "zu lang")
    test[1] = ("", "leer")
    data = moses(tmp_path, train)
    data |= {f"valid_{key}": path for key, path in moses(tmp_path, valid, "val").items()}
    data |= {f"test_{key}": path for key, path in moses(tmp_path, test, "test").items()}
    ready = prepare(PairData(**data, max_length=20), CHAR, cache)
    assert not ready.held_out
    assert text_of(ready.train, ready.tokenizers) == train
    assert ready.valid_pairs == [pair for i, pair in enumerate(valid) if i not in (2, 4)]
    assert text_of(ready.valid, ready.tokenizers) == ready.valid_pairs
    assert ready.valid_counts == Counts(read=8, kept=6, too_long=1, empty=1)
    assert ready.test_pairs == test


def test_copies_of_held_out_pairs_are_not_trained_on(tmp_path, cache):
    pairs = sentences(60) * 2
    pairs += [(s, t + "!") for s, t in sentences(60)]
    ready = prepare(PairData(**moses(tmp_path, pairs)), CHAR, cache)
    (held,) = ready.valid_pairs
    trained = text_of(ready.train, ready.tokenizers)
    copies = pairs.count(held) - 1
    assert held not in trained
    assert ready.counts == Counts(read=180, kept=179 - copies, held_out=1, duplicates_of_validation=copies)
    assert len(trained) == 179 - copies


@pytest.mark.parametrize(("usable", "wanted"), [(2, 1), (99, 1), (100, 1), (250, 2), (99_999, 999), (150_000, 1000)])
def test_one_percent_is_held_out_within_bounds(usable, wanted):
    held = hold_out(((f"s{i}", f"t{i}") for i in range(usable)), max_length=256, seed=1)
    assert (len(held.pairs), held.usable) == (wanted, usable)
    assert all(pair == (f"s{line - 1}", f"t{line - 1}") for line, pair in held.pairs)


def test_the_hold_out_depends_on_its_seed_alone():
    pairs = sentences(3000)
    first, again, other = (hold_out(pairs, 256, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_hold_out_is_the_one_that_it_always_was():
    """Each usable pair gets the next number of one generator, and the smallest are taken."""
    pairs = sentences(25_000)
    for index in range(0, 25_000, 7):
        pairs[index] = (" ", "\u200b")[index % 2], "x"
    usable = [line for line, (source, _) in enumerate(pairs, 1) if source not in (" ", "\u200b")]
    generator = np.random.default_rng([4, 0])
    numbers = {line: generator.random() for line in usable}
    chosen = sorted(sorted(usable, key=numbers.__getitem__)[: len(usable) // 100])
    held = hold_out(pairs, 256, 4)
    assert held.usable == len(usable)
    assert list(held.pairs) == [(line, pairs[line - 1]) for line in chosen]


def test_every_pair_is_as_likely_to_be_held_out():
    pairs = sentences(200)
    times = [0] * 201
    for seed in range(600):
        for line, _ in hold_out(pairs, 256, seed).pairs:
            times[line] += 1
    # 1200 draws over 200 pairs: each 6 times, and the chi-square of 199 degrees stays below 280 in 9999 of 10000.
    assert sum((count - 6) ** 2 / 6 for count in times[1:]) < 280


def test_what_cannot_validate_is_never_held_out():
    pairs = [("", "x"), ("\u200b\ufeff", "x"), ("a" * 100_000, "x"), ("a", " \x07 "), ("b", "y")]
    for seed in range(20):
        held = hold_out(pairs, 256, seed)
        assert (held.pairs, held.usable) == (((5, ("b", "y")),), 1)
