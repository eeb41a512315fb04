"""An ensemble against the mean of its members' probabilities, computed apart."""

import math

import pytest
import torch

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.ensemble import Ensemble, mean_log_probabilities
from regard.search.exact import exact
from regard.search.exhaustive import exhaustive
from regard.search.greedy import greedy
from search.comparing import assert_same, plain
from search.oracles import Said, power, slow_beam
from search.toy import TableStepper, ToyStepper, padded, random_sources


def test_a_beam_over_the_mean_of_probabilities() -> None:
    members = [ToyStepper(7, seed, end_bias=1.0) for seed in (1, 2, 3)]
    sources = random_sources(5, 1)
    changed = 0
    rows = beam(Ensemble(members), padded(sources), width=3, alpha=0.7, max_length=5, nbest=3)
    for source, found in zip(sources, rows, strict=True):

        def mean(said: Said, source: list[int] = source) -> list[float]:
            each = [member.next_logprobs(source, said) for member in members]
            return [math.log(sum(math.exp(one[token]) for one in each) / 3) for token in range(7)]

        assert_same(found, slow_beam(mean, width=3, score=power(0.7), max_length=5, nbest=3))
        [alone] = beam(members[0], padded([source]), width=3, alpha=0.7, max_length=5)
        changed += alone[0].tokens != found[0].tokens
    assert changed, "members that decide alike would prove nothing"


def test_the_mean_by_hand() -> None:
    # arithmetic: (0.9 + 0.1) / 2 = 0.5; the geometric mean would prefer neither or the sure refusal
    one, other = torch.tensor([0.9, 0.1, 1e-9]).log(), torch.tensor([0.1, 0.2, 0.7]).log()
    torch.testing.assert_close(mean_log_probabilities([one + 5.0, other]).exp(), torch.tensor([0.5, 0.15, 0.35]))


def test_a_model_beside_itself_is_itself() -> None:
    stepper = ToyStepper(5, 1, end_bias=0.5)
    source = padded(random_sources(4, 1))
    for members in ([stepper], [stepper, stepper]):
        for search in (greedy, beam, exhaustive, exact):
            for found, expected in zip(
                search(Ensemble(members), source, max_length=4), search(stepper, source, max_length=4), strict=True
            ):
                assert_same(found, plain(expected))


def test_it_looks_where_its_members_look_on_average() -> None:
    members = [ToyStepper(7, seed, end_bias=1.0) for seed in (1, 2)]
    [[found]] = greedy(Ensemble(members), padded([[3, 4, 5]]), max_length=4, record=True)
    rows = [member.attention_rows([3, 4, 5], found.tokens) for member in members]
    expected = torch.from_numpy(sum(rows) / 2)[: len(found.tokens) + found.finished]
    assert found.attention is not None
    torch.testing.assert_close(found.attention, expected)


def test_models_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SearchError, match="the same start and end tokens"):
        Ensemble([ToyStepper(7, 1), ToyStepper(6, 1)])
    with pytest.raises(SearchError, match="at least one model"):
        Ensemble([])
    with pytest.raises(SearchError, match=r"generate \[2, 3\] tokens: they need the same vocabulary"):
        mean_log_probabilities([torch.zeros(2), torch.zeros(3)])


def test_a_member_without_attention_is_no_obstacle() -> None:
    table = TableStepper(7, {(): [0.1, 0.9, 0, 0, 0, 0, 0]})
    [[found]] = greedy(Ensemble([table, ToyStepper(7, 1)]), padded([[3]]), max_length=1, record=True)
    assert found.attention is not None
    [[blind]] = greedy(Ensemble([table, table]), padded([[3]]), max_length=1, record=True)
    assert blind.attention is None
