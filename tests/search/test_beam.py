"""Beam search against a naive one over whole sequences, against greedy and exhaustive search, and on numbers computed by hand."""

import math
from functools import partial

import pytest
import torch

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.candidates import best_candidates
from regard.search.exhaustive import exhaustive
from regard.search.greedy import greedy
from regard.search.hypothesis import Hypothesis
from search.toy import TableStepper, ToyStepper, naive_beam, padded, random_sources

NO_SOURCE = torch.zeros((1, 1), dtype=torch.long)


def assert_same(found: list[Hypothesis], expected: list[tuple[tuple[int, ...], float, float, bool]]) -> None:
    assert [(one.tokens, one.finished) for one in found] == [(one[0], one[3]) for one in expected]
    assert [one.logprob for one in found] == pytest.approx([one[1] for one in expected], abs=1e-9)
    assert [one.score for one in found] == pytest.approx([one[2] for one in expected], abs=1e-9)


@pytest.mark.parametrize("vocabulary", [3, 8])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_it_finds_what_the_naive_search_finds(width: int, alpha: float, vocabulary: int) -> None:
    for seed in range(8):
        stepper = ToyStepper(vocabulary, seed, end_bias=seed % 4 - 1.0, sharpness=(0.5, 1.5, 3.0)[seed % 3])
        sources = random_sources(5, seed)
        rows = beam(stepper, padded(sources), width=width, alpha=alpha, max_length=5, nbest=width)
        for source, found in zip(sources, rows, strict=True):
            expected = naive_beam(
                partial(stepper.next_logprobs, source),
                width=width,
                alpha=alpha,
                max_length=5,
                nbest=width,
            )
            assert_same(found, expected)


@pytest.mark.parametrize(("stop_after", "nbest"), [(1, 1), (2, 1), (3, 3), (9, 2), (40, 1)])
def test_the_search_ends_after_n_finished_hypotheses(stop_after: int, nbest: int) -> None:
    for seed in range(10):
        stepper = ToyStepper(6, seed, end_bias=1.0)
        sources = random_sources(4, seed)
        options = {"width": 3, "alpha": 1.0, "max_length": 6, "stop_after": stop_after, "nbest": nbest}
        for source, found in zip(sources, beam(stepper, padded(sources), **options), strict=True):
            expected = naive_beam(partial(stepper.next_logprobs, source), **options)
            assert_same(found, expected)


def test_each_sentence_has_its_own_limit() -> None:
    stepper = ToyStepper(6, 2, end_bias=-1.0)
    sources = random_sources(6, 2)
    limits = [1, 5, 2, 7, 3, 4]
    rows = beam(stepper, padded(sources), width=3, alpha=1.0, max_length=torch.tensor(limits), nbest=3)
    for source, limit, found in zip(sources, limits, rows, strict=True):
        expected = naive_beam(
            partial(stepper.next_logprobs, source),
            width=3,
            alpha=1.0,
            max_length=limit,
            nbest=3,
        )
        assert_same(found, expected)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_beam_of_one_is_greedy_search(alpha: float) -> None:
    for seed in range(20):
        stepper = ToyStepper(7, seed, end_bias=seed % 3)
        source = padded(random_sources(6, seed))
        narrow = beam(stepper, source, width=1, alpha=alpha, max_length=5)
        for found, expected in zip(narrow, greedy(stepper, source, max_length=5, alpha=alpha), strict=True):
            assert_same(found, [(one.tokens, one.logprob, one.score, one.finished) for one in expected])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize(("vocabulary", "max_length"), [(2, 5), (3, 3), (4, 3)])
def test_a_beam_as_wide_as_the_space_is_exhaustive_search(vocabulary: int, max_length: int, alpha: float) -> None:
    steps = max_length + 1  # the end mark is a step too
    for seed in range(6):
        stepper = ToyStepper(vocabulary, seed)
        source = padded(random_sources(3, seed))
        wide = beam(stepper, source, width=vocabulary**steps, alpha=alpha, max_length=max_length, nbest=7)
        whole = exhaustive(stepper, source, alpha=alpha, max_length=max_length, nbest=7)
        for found, expected in zip(wide, whole, strict=True):
            assert_same(found, [(one.tokens, one.logprob, one.score, one.finished) for one in expected])


def test_greedy_search_misses_what_a_beam_of_two_finds() -> None:
    # p(1) = 0.5 is the best first token, but what follows it is spread; p(2, 1) = 0.4 * 0.9 = 0.36 beats p(1, 1) = 0.5 * 0.4 = 0.2
    table = {(): [0.1, 0.5, 0.4], (1,): [0.3, 0.4, 0.3], (2,): [0.05, 0.9, 0.05]}
    stepper = TableStepper(3, table)
    [[greedily]] = greedy(stepper, NO_SOURCE, max_length=4)
    [[found]] = beam(stepper, NO_SOURCE, width=2, alpha=0.0, max_length=4)
    [[best]] = exhaustive(stepper, NO_SOURCE, max_length=4)
    assert greedily.tokens == (1, 1)
    assert math.exp(greedily.logprob) == pytest.approx(0.2)
    assert found.tokens == best.tokens == (2, 1)
    assert math.exp(found.logprob) == pytest.approx(0.36)


def test_length_normalisation_changes_the_winner() -> None:
    # (1): 0.6 * 0.5 = 0.3.  (1, 2, 2): 0.6 * 0.5 * 0.9 * 0.9 = 0.243; ln 0.3 / 1 = -1.204, ln 0.243 / 3 = -0.4716
    table = {(): [0.2, 0.6, 0.2], (1,): [0.5, 0.0, 0.5], (1, 2): [0.1, 0.0, 0.9], (1, 2, 2): [0.9, 0.1, 0.0]}
    stepper = TableStepper(3, table)
    [[short]] = beam(stepper, NO_SOURCE, width=3, alpha=0.0, max_length=5, stop_after=9)
    [[long]] = beam(stepper, NO_SOURCE, width=3, alpha=1.0, max_length=5, stop_after=9)
    assert short.tokens == (1,)
    assert short.score == pytest.approx(math.log(0.3))
    assert long.tokens == (1, 2, 2)
    assert long.logprob == pytest.approx(math.log(0.243))
    assert long.score == pytest.approx(math.log(0.243) / 3)


def test_hypotheses_cut_at_the_limit_come_last_and_only_to_fill() -> None:
    table = {(): [0.1, 0.5, 0.4], (1,): [0.1, 0.8, 0.1], (2,): [0.6, 0.2, 0.2]}
    stepper = TableStepper(3, table)
    [found] = beam(stepper, NO_SOURCE, width=2, alpha=0.0, max_length=1, nbest=2)
    # at the last step (1, 1) = 0.4 and (2, end) = 0.24 are the two best: (2) finishes and (1) is cut
    assert [(one.tokens, one.finished) for one in found] == [((2,), True), ((1,), False)]
    assert [math.exp(one.logprob) for one in found] == pytest.approx([0.24, 0.5])
    [[only]] = beam(stepper, NO_SOURCE, width=2, alpha=0.0, max_length=1)
    assert (only.tokens, only.finished) == ((2,), True)


def test_a_sentence_does_not_depend_on_its_batch() -> None:
    stepper = ToyStepper(9, 3, end_bias=1.0)
    sources = random_sources(8, 3)
    together = beam(stepper, padded(sources), width=4, max_length=6, nbest=4)
    alone = [beam(stepper, padded([source]), width=4, max_length=6, nbest=4)[0] for source in sources]
    assert [[one.tokens for one in row] for row in together] == [[one.tokens for one in row] for row in alone]


def test_finished_sentences_leave_the_batch_at_once() -> None:
    stepper = ToyStepper(7, 4, end_bias=2.0)
    sources = random_sources(10, 4)
    beam(stepper, padded(sources), width=3, max_length=9)
    together = [size for size, _ in stepper.fed]
    steps = []
    for source in sources:
        stepper.fed.clear()
        beam(stepper, padded([source]), width=3, max_length=9)
        steps.append(len(stepper.fed))
    assert len(set(steps)) > 2
    assert together == [sum(count > step for count in steps) for step in range(max(steps))]


def test_without_normalisation_it_stops_when_nothing_can_win_any_more() -> None:
    # the end is certain to win at once: one step, though the width asks for five finished hypotheses
    stepper = ToyStepper(7, 0, end_bias=50.0)
    beam(stepper, padded([[1]]), width=5, alpha=0.0, max_length=9)
    assert stepper.fed == [(1, 1)]


def test_the_record_follows_the_parents() -> None:
    rows = set()
    for seed in range(5):
        stepper = ToyStepper(7, seed, end_bias=0.5)
        sources = random_sources(6, seed)
        found = beam(stepper, padded(sources), width=3, max_length=4, nbest=3, record=True)
        for source, hypotheses in zip(sources, found, strict=True):
            for one in hypotheses:
                expected = stepper.attention_rows(source, one.tokens)[: len(one.tokens) + one.finished]
                assert one.attention is not None
                assert one.attention.shape == (len(expected), padded(sources).shape[1])
                torch.testing.assert_close(one.attention[:, : len(source)], torch.from_numpy(expected))
                rows.add((len(expected), one.finished))
    assert len(rows) > 4


def test_tokens_of_probability_zero_are_never_said() -> None:
    table = {(): [0.0, 1.0, 0.0, 0.0], (1,): [0.5, 0.0, 0.5, 0.0]}
    [found] = beam(TableStepper(4, table), NO_SOURCE, width=4, alpha=0.0, max_length=3, nbest=4)
    assert {(one.tokens, one.finished, round(math.exp(one.logprob), 9)) for one in found} == {
        ((1,), True, 0.5),
        ((1, 2), True, 0.5),
    }


def test_a_model_that_can_only_end_says_nothing() -> None:
    [found] = beam(TableStepper(1, {}), NO_SOURCE, width=3, max_length=4)
    assert [(one.tokens, one.logprob, one.finished) for one in found] == [((), 0.0, True)]


def test_a_dead_end_is_returned_unfinished() -> None:
    table = {(): [0.0, 1.0], (1,): [0.0, 0.0]}
    [found] = beam(TableStepper(2, table), NO_SOURCE, width=2, max_length=4)
    assert [(one.tokens, one.finished) for one in found] == [((1,), False)]


def test_logits_that_are_not_numbers_are_named() -> None:
    stepper = TableStepper(2, {(): [math.nan, math.nan]})
    for search in (beam, greedy):
        with pytest.raises(SearchError, match="NaN"):
            search(stepper, NO_SOURCE, max_length=4)


@pytest.mark.parametrize("outputs", [11, 128, 500, 1000])  # too few for blocks, whole blocks, and some beside them
def test_candidates_are_the_best_of_all_continuations(outputs: int) -> None:
    torch.manual_seed(0)
    logits, logprobs = torch.randn(4, 3, outputs, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    gains = logits.log_softmax(-1)
    gains[0, :, 9:] = -torch.inf
    gains[1, 2] = torch.nan  # of a hypothesis that nothing can follow
    found = best_candidates(gains, logprobs, 6)
    everything = (gains + logprobs[..., None]).nan_to_num(nan=-torch.inf, neginf=-torch.inf).flatten(1)
    expected, flat = everything.sort(dim=1, descending=True)
    torch.testing.assert_close(found.logprobs, expected[:, :6])
    assert torch.equal(found.parents * outputs + found.tokens, flat[:, :6])


def test_no_sentences_give_no_results() -> None:
    assert beam(ToyStepper(5, 0), torch.empty((0, 3), dtype=torch.long), max_length=4) == []


def test_a_sure_model_is_heard_to_the_end() -> None:
    """A long sentence of probability 0.9 a step beside short ones that end early: n finished must not end the search (by hand).

    Every step says 1 with 0.9 and ends with 0.08, until six are said. The short outputs 1^k have 0.9^k 0.08, the long one 0.9^6.
    """

    class Sure:
        start_token, end_token = 3, 0

        def start(self, source: torch.Tensor, prefix: torch.Tensor | None = None) -> "Said":
            return Said(0)

        def step(self, tokens: torch.Tensor, state: "Said", record: bool = False) -> tuple[torch.Tensor, "Said", None]:
            odds = [0.08, 0.9, 0.02] if state.count < 6 else [0.98, 0.01, 0.01]
            return torch.tensor(odds).log().expand(*tokens.shape, 3), Said(state.count + 1), None

    class Said:
        def __init__(self, count: int) -> None:
            self.count = count

        def reorder(self, sentences: torch.Tensor, parents: torch.Tensor) -> "Said":
            return self

    source = torch.zeros(1, 1, dtype=torch.long)
    [[found]] = beam(Sure(), source, width=2, alpha=0.0, max_length=20)
    assert found.tokens == (1,) * 6
    assert abs(found.logprob - (6 * math.log(0.9) + math.log(0.98))) < 1e-5
    [[early]] = beam(Sure(), source, width=2, alpha=0.0, max_length=20, stop_after=2)
    assert len(early.tokens) < 6  # the lectures' rule to the letter
    assert early.logprob < found.logprob
