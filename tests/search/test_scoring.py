"""Forced scoring against sums by hand, and against what the searches say of their own results."""

import math

import pytest
import torch

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.sampling import sample
from regard.search.scoring import score
from search.toy import TableStepper, ToyStepper, padded, random_sources


def test_it_is_the_sum_of_the_log_probabilities() -> None:
    table = {(): [0.1, 0.5, 0.4], (2,): [0.05, 0.9, 0.05], (2, 1): [0.25, 0.25, 0.5]}
    [found] = score(TableStepper(3, table), torch.zeros((1, 1), dtype=torch.long), [[2, 1]], alpha=1.0)
    assert found.token_logprobs == pytest.approx([math.log(0.4), math.log(0.9), math.log(0.25)])
    assert found.logprob == pytest.approx(math.log(0.4 * 0.9 * 0.25))
    assert found.score == pytest.approx(math.log(0.09) / 2)
    assert (found.tokens, found.finished) == ((2, 1), True)


def test_targets_of_unequal_length_are_scored_together() -> None:
    stepper = ToyStepper(6, 0)
    sources = random_sources(5, 0)
    targets = [[3, 1], [], [1, 2, 3, 4, 5, 1], [5], [2, 2]]
    for source, target, found in zip(sources, targets, score(stepper, padded(sources), targets), strict=True):
        expected = [stepper.next_logprobs(source, target[:at])[token] for at, token in enumerate([*target, 0])]
        assert found.token_logprobs == pytest.approx(expected, abs=1e-9)
        assert found.logprob == pytest.approx(sum(expected), abs=1e-9)
    assert [size for size, _ in stepper.fed] == [5, 4, 3, 1, 1, 1, 1], "scored sentences leave the batch"


def test_it_agrees_with_the_searches() -> None:
    stepper = ToyStepper(6, 1, end_bias=1.0)
    source = padded(random_sources(8, 1))
    for rows in (
        beam(stepper, source, width=3, alpha=0.8, max_length=12),
        sample(stepper, source, seed=1, alpha=0.8, temperature=0.5, max_length=12),
    ):
        found = [one for [one] in rows]
        assert all(one.finished for one in found)
        scored = score(stepper, source, [one.tokens for one in found], alpha=0.8)
        assert [one.logprob for one in scored] == pytest.approx([one.logprob for one in found], abs=1e-9)
        assert [one.score for one in scored] == pytest.approx([one.score for one in found], abs=1e-9)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([[1], [2, 9]], "target 1 holds id 9, but the model generates 0 to 5"),
        ([[1], [-2]], "target 1 holds id -2"),
        ([[1, 0], [2]], "target 0 holds the end mark, id 0"),
        ([[1]], "1 targets for 2 sources"),
    ],
)
def test_targets_that_cannot_be_are_named(targets: list[list[int]], message: str) -> None:
    with pytest.raises(SearchError, match=message):
        score(ToyStepper(6, 0), padded([[1], [2]]), targets)


def test_no_sentences_give_no_results() -> None:
    assert score(ToyStepper(5, 0), torch.empty((0, 3), dtype=torch.long), []) == []
