"""Sampling against known distributions, its limits against greedy search, and its randomness against its batch."""

import math
from collections import Counter

import pytest
import torch

from regard.errors import SearchError
from regard.search.greedy import greedy
from regard.search.sampling import draw, sample
from search.toy import TableStepper, ToyStepper, padded, random_sources

NO_SOURCE = torch.zeros((1, 1), dtype=torch.long)


def chi_square(counts: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> float:
    total = sum(counts.values())
    return sum((counts[said] - total * p) ** 2 / (total * p) for said, p in expected.items())


def test_sequences_come_as_often_as_they_are_probable() -> None:
    table = {(): [0.1, 0.5, 0.4], (1,): [0.7, 0.3, 0.0], (2,): [0.2, 0.2, 0.6]}
    expected = {(): 0.1, (1,): 0.35, (1, 1): 0.15, (2,): 0.08, (2, 1): 0.08, (2, 2): 0.24}
    assert sum(expected.values()) == pytest.approx(1.0)
    [found] = sample(TableStepper(3, table), NO_SOURCE, samples=6000, seed=1, max_length=4)
    counts = Counter(one.tokens for one in found)
    assert set(counts) == set(expected)
    assert chi_square(counts, expected) < 20.5  # five degrees of freedom: one in a thousand lies above
    assert {one.tokens: round(math.exp(one.logprob), 9) for one in found} == pytest.approx(expected)


def test_temperature_changes_the_distribution_but_not_the_log_probabilities() -> None:
    # p^2 / sum: (0.01, 0.25, 0.16) / 0.42
    expected = {(): 0.01 / 0.42, (1,): 0.25 / 0.42, (2,): 0.16 / 0.42}
    stepper = TableStepper(3, {(): [0.1, 0.5, 0.4]})
    [found] = sample(stepper, NO_SOURCE, samples=6000, temperature=0.5, seed=2, max_length=4)
    assert chi_square(Counter(one.tokens for one in found), expected) < 13.8  # two degrees of freedom
    assert {round(math.exp(one.logprob), 9) for one in found} == {0.1, 0.5, 0.4}


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"top_k": 2}, {1: 5 / 8, 4: 3 / 8}),
        ({"top_k": 3}, {1: 0.5 / 0.9, 4: 0.3 / 0.9, 2: 0.1 / 0.9}),
        ({"top_p": 0.5}, {1: 1.0}),  # 0.5 reaches 0.5: one token is enough
        ({"top_p": 0.51}, {1: 5 / 8, 4: 3 / 8}),
        ({"top_p": 0.79}, {1: 5 / 8, 4: 3 / 8}),
        ({"top_p": 0.81}, {1: 0.5 / 0.9, 4: 0.3 / 0.9, 2: 0.1 / 0.9}),
        ({"top_p": 1.0}, {0: 0.03, 1: 0.5, 2: 0.1, 3: 0.07, 4: 0.3}),
        ({"top_k": 3, "top_p": 0.6}, {1: 5 / 8, 4: 3 / 8}),  # of the three, 5/9 is not enough and 8/9 is
        ({"top_k": 99, "top_p": 0.51}, {1: 5 / 8, 4: 3 / 8}),
    ],
)
def test_what_top_k_and_top_p_keep(options: dict[str, float], kept: dict[int, float]) -> None:
    logits = torch.tensor([0.03, 0.5, 0.1, 0.07, 0.3], dtype=torch.float64).log()
    uniform = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    chosen = draw(logits.expand(1000, 5), uniform, **{"temperature": 1.0, "top_k": 0, "top_p": 1.0, **options})
    counts = Counter(chosen.tolist())
    assert set(counts) == set(kept)
    for token, share in kept.items():
        assert abs(counts[token] / 1000 - share) <= 0.002  # even numbers fill a distribution evenly


def test_a_draw_never_leaves_the_kept_tokens() -> None:
    logits = torch.tensor([[0.6, 0.4, 0.0, 0.0]], dtype=torch.float64).log()
    first, last = torch.tensor([0.0], dtype=torch.float64), torch.tensor([1.0 - 2.0**-53], dtype=torch.float64)
    assert draw(logits.flip(-1), first, temperature=1.0, top_k=0, top_p=1.0).tolist() == [2]
    for top_p, token in ((1.0, 1), (0.6, 0), (0.7, 1)):
        assert draw(logits, last, temperature=1.0, top_k=0, top_p=top_p).tolist() == [token]


@pytest.mark.parametrize("options", [{"temperature": 1e-3}, {"top_k": 1}, {"top_p": 1e-9}])
def test_its_limits_are_greedy_search(options: dict[str, float]) -> None:
    for seed in range(5):
        stepper = ToyStepper(7, seed, end_bias=1.0)
        source = padded(random_sources(6, seed))
        rows = sample(stepper, source, samples=3, seed=seed, max_length=5, **options)
        for found, [expected] in zip(rows, greedy(stepper, source, max_length=5), strict=True):
            assert [(one.tokens, one.finished) for one in found] == [(expected.tokens, expected.finished)] * 3
            assert [one.logprob for one in found] == pytest.approx([expected.logprob] * 3, abs=1e-9)


def test_the_seed_decides() -> None:
    stepper = ToyStepper(9, 0)
    source = padded(random_sources(4, 0))
    once = sample(stepper, source, samples=5, seed=7, max_length=8)
    assert once == sample(stepper, source, samples=5, seed=7, max_length=8)
    assert once != sample(stepper, source, samples=5, seed=8, max_length=8)


def test_two_sentences_draw_different_numbers() -> None:
    stepper = ToyStepper(9, 0, end_bias=-5.0)
    [[one], [two]] = sample(stepper, padded([[3, 1], [3, 1]]), seed=7, max_length=8)
    assert one.tokens != two.tokens


def test_a_sentence_does_not_depend_on_its_batch() -> None:
    stepper = ToyStepper(9, 3, end_bias=1.0)
    sources = random_sources(8, 3)
    together = sample(stepper, padded(sources), samples=4, seed=5, max_length=6)
    order = [6, 0, 3, 7, 1, 2, 5, 4]
    for numbers in (order[:1], order[1:4], order[4:]):
        part = padded([sources[number] for number in numbers])
        rows = sample(stepper, part, samples=4, seed=5, max_length=6, sentences=numbers)
        for number, found in zip(numbers, rows, strict=True):
            assert [one.tokens for one in found] == [one.tokens for one in together[number]]
            assert [one.logprob for one in found] == pytest.approx([one.logprob for one in together[number]], abs=1e-9)


def test_a_longer_limit_elsewhere_in_the_batch_changes_nothing() -> None:
    stepper = ToyStepper(9, 3, end_bias=-1.0)
    source = padded([[3, 1], [2]])
    [short, _] = sample(stepper, source, samples=4, seed=5, max_length=torch.tensor([4, 4]))
    [same, _] = sample(stepper, source, samples=4, seed=5, max_length=torch.tensor([4, 9]))
    assert short == same


def test_finished_samples_and_sentences_leave_the_batch() -> None:
    stepper = ToyStepper(7, 2, end_bias=2.0)
    sources = random_sources(6, 2)
    rows = sample(stepper, padded(sources), samples=5, seed=3, max_length=9)
    steps = [[len(one.tokens) + 1 for one in found] for found in rows]
    expected = [(6, 1)]
    for step in range(1, max(map(max, steps))):
        living = [sum(count > step for count in row) for row in steps]
        expected.append((sum(count > 0 for count in living), max(living)))
    assert stepper.fed == expected
    assert expected[-1] != expected[1]


def test_unfinished_samples_come_last() -> None:
    stepper = ToyStepper(7, 2, end_bias=0.5)
    found = [
        one for row in sample(stepper, padded(random_sources(4, 1)), samples=9, seed=3, max_length=3) for one in row
    ]
    assert {one.finished for one in found} == {True, False}
    for row in sample(stepper, padded(random_sources(4, 1)), samples=9, seed=3, max_length=3):
        assert row == sorted(row, key=lambda one: (not one.finished, -one.score))
        assert all(len(one.tokens) == 3 for one in row if not one.finished)


def test_logits_that_are_not_numbers_are_named() -> None:
    with pytest.raises(SearchError, match="NaN"):
        sample(TableStepper(2, {(): [math.nan, math.nan]}), NO_SOURCE, seed=1, max_length=4)


def test_no_sentences_give_no_results() -> None:
    assert sample(ToyStepper(5, 0), torch.empty((0, 3), dtype=torch.long), seed=1, max_length=4) == []
