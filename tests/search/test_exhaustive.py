"""Exhaustive search against every sequence that itertools can spell."""

import itertools

import pytest

from regard.errors import SearchError
from regard.search.exhaustive import LARGEST_SPACE, exhaustive
from search.toy import TableStepper, ToyStepper, padded, random_sources


def spelled(stepper: ToyStepper, source: list[int], vocabulary: int, max_length: int) -> dict[tuple[int, ...], float]:
    """log p of every sequence, each from its own product of probabilities."""
    result = {}
    for length in range(max_length + 1):
        for said in itertools.product(range(1, vocabulary), repeat=length):
            steps = [stepper.next_logprobs(source, said[:at])[token] for at, token in enumerate((*said, 0))]
            result[said] = sum(steps)
    return result


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
@pytest.mark.parametrize(("vocabulary", "max_length"), [(2, 4), (3, 4), (5, 3)])
def test_it_finds_the_best_of_all_sequences(vocabulary: int, max_length: int, alpha: float) -> None:
    for seed in range(3):
        stepper = ToyStepper(vocabulary, seed)
        sources = random_sources(2, seed)
        rows = exhaustive(stepper, padded(sources), max_length=max_length, alpha=alpha, nbest=5)
        for source, found in zip(sources, rows, strict=True):
            everything = spelled(stepper, source, vocabulary, max_length)
            assert len(everything) == sum((vocabulary - 1) ** length for length in range(max_length + 1))
            scores = {said: logprob / max(1, len(said)) ** alpha for said, logprob in everything.items()}
            expected = sorted(scores, key=lambda said: -scores[said])[:5]
            assert [one.tokens for one in found] == expected
            assert [one.logprob for one in found] == pytest.approx([everything[said] for said in expected], abs=1e-9)
            assert [one.score for one in found] == pytest.approx([scores[said] for said in expected], abs=1e-9)
            assert all(one.finished for one in found)


def test_all_sequences_and_the_mass_beyond_the_limit_sum_to_one() -> None:
    stepper = ToyStepper(3, 0, end_bias=6.0)
    [found] = exhaustive(stepper, padded([[4, 2]]), max_length=7, nbest=10_000)
    assert len(found) == 2**8 - 1
    assert sum(2.718281828459045**one.logprob for one in found) == pytest.approx(1.0, abs=1e-3)


def test_a_space_that_is_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(SearchError) as refused:
        exhaustive(ToyStepper(60, 0), padded([[1]]), max_length=4)
    message = str(refused.value)
    assert "60 tokens" in message
    assert f"{60**4:,}" in message
    assert f"{LARGEST_SPACE:,}" in message
    assert "lower max_length to 2" in message
    assert "\n" not in message
    with pytest.raises(SearchError, match=r"about 10\^88.*use beam search"):
        exhaustive(ToyStepper(60, 0), padded([[1]]), max_length=50)


TIES = {(): [0.0, 0.5, 0.5], (1,): [0.25, 0.375, 0.375], (2,): [0.25, 0.375, 0.375]}
SHUT = {
    (): [0.0, 0.5, 0.5],
    **{(first,): [0.0, 0.25, 0.75] for first in (1, 2)},
    **{(first, second): [0.0, 0.5, 0.5] for first in (1, 2) for second in (1, 2)},
}


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_ties_have_one_order_whatever_the_number_of_answers(alpha: float) -> None:
    """Shorter first, then by token ids: the first n of a list of m are the list of n."""
    stepper = TableStepper(3, TIES)
    [every] = exhaustive(stepper, padded([[1]]), max_length=2, alpha=alpha, nbest=10)
    pairs = [(1, 1), (1, 2), (2, 1), (2, 2)]  # of probability 3/16 each
    assert [each.tokens for each in every] == [*pairs, (1,), (2,)]
    for nbest in range(1, 7):
        [best] = exhaustive(stepper, padded([[1]]), max_length=2, alpha=alpha, nbest=nbest)
        assert best == every[:nbest]


def test_many_ties_keep_their_order() -> None:
    """The first of 3,000 equally probable tokens are told, which a partial sort would not promise."""
    stepper = TableStepper(3_001, {(): [0.0] + [1 / 3_000] * 3_000})
    for nbest in (1, 2, 40):
        [best] = exhaustive(stepper, padded([[1]]), max_length=1, nbest=nbest)
        assert [each.tokens for each in best] == [(token,) for token in range(1, nbest + 1)]


def test_if_nothing_can_end_the_best_cut_ones_are_told() -> None:
    expected = [(1, 2), (2, 2), (1, 1), (2, 1)]  # 3/8, 3/8, 1/8, 1/8
    for nbest in (1, 3, 9):
        [best] = exhaustive(TableStepper(3, SHUT), padded([[1]]), max_length=2, nbest=nbest)
        assert [each.tokens for each in best] == expected[:nbest]
        assert not any(each.finished for each in best)


def test_cut_ones_follow_those_that_ended() -> None:
    """(1,) ends with probability 1/4; (2,) cannot end, and is cut."""
    table = {(): [0.0, 0.25, 0.75], (1,): [1.0, 0.0, 0.0], (2,): [0.0, 0.5, 0.5]}
    [best] = exhaustive(TableStepper(3, table), padded([[1]]), max_length=1, nbest=5)
    assert [(each.tokens, each.finished) for each in best] == [((1,), True), ((2,), False)]
    [one] = exhaustive(TableStepper(3, table), padded([[1]]), max_length=1, nbest=1)
    assert one == best[:1]
