"""Greedy search and sampling, one step at a time: the same steps and answers, and nothing that leaks between two steps."""

from functools import partial

import pytest
import torch

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.constraints import Constraints
from regard.search.exhaustive import exhaustive
from regard.search.expansion import Expansion, drive
from regard.search.filters import Filters
from regard.search.greedy import greedy, greedy_steps
from regard.search.options import SearchOptions
from regard.search.run import run_search, search_steps
from regard.search.sampling import sample, sample_steps
from search.toy import ToyStepper, padded, random_sources

BOTH = {
    "greedy": (greedy, greedy_steps),
    "sample": (partial(sample, samples=3, seed=2), partial(sample_steps, samples=3, seed=2)),
}


@pytest.mark.parametrize("name", BOTH)
def test_steps_are_the_search(name: str) -> None:
    search, steps_of = BOTH[name]
    stepper, source = ToyStepper(6, 1), padded(random_sources(3, 1))
    watched: list[Expansion] = []
    expected = search(stepper, source, max_length=5, watch=watched.append)
    stepped: list[Expansion] = []
    assert drive(steps_of(stepper, source, max_length=5), stepped.append) == expected
    assert len(stepped) == len(watched) > 1
    for one, other in zip(stepped, watched, strict=True):
        assert torch.equal(one.tokens, other.tokens)
        assert torch.equal(one.logprobs, other.logprobs)
    assert set(steps_of(stepper, source, max_length=5, expansions=False)) == {None}


@pytest.mark.parametrize("name", BOTH)
def test_gradients_are_as_they_were_between_steps(name: str) -> None:
    _, steps_of = BOTH[name]
    steps = steps_of(ToyStepper(6, 1), padded(random_sources(2, 1)), max_length=5)
    assert torch.is_grad_enabled()
    next(steps)
    assert torch.is_grad_enabled()
    with torch.no_grad():
        next(steps)
        assert not torch.is_grad_enabled()
    steps.close()
    assert torch.is_grad_enabled()


def test_a_closed_search_asks_the_model_nothing() -> None:
    stepper = ToyStepper(6, 1)
    calls = 0

    class Counting:
        start_token, end_token, start = stepper.start_token, stepper.end_token, stepper.start

        def step(self, *arguments: object) -> object:
            nonlocal calls
            calls += 1
            return stepper.step(*arguments)  # type: ignore[arg-type]

    steps = greedy_steps(Counting(), padded(random_sources(2, 1)), max_length=5)  # type: ignore[arg-type, var-annotated]
    assert calls == 0
    next(steps)
    assert calls == 1
    steps.close()
    assert list(steps) == []
    assert calls == 1


def test_only_searches_that_go_token_by_token_have_steps() -> None:
    stepper, source = ToyStepper(6, 1), padded(random_sources(2, 1))
    for options in (SearchOptions(), SearchOptions(beam=1, stop_after=2), SearchOptions(exact=True)):
        with pytest.raises(SearchError, match="only greedy search and sampling"):
            search_steps(stepper, source, options, limits=[4, 4], numbers=[0, 1])


@pytest.mark.parametrize("nbest", [1, 9])
def test_the_dispatcher_hands_every_option_on(nbest: int) -> None:
    stepper, source = ToyStepper(5, 3), padded(random_sources(2, 3))
    run = partial(run_search, stepper, source, limits=[3, 3], numbers=[0, 1], source_lengths=[2, 2])
    found = run(SearchOptions(exhaustive=True, max_length=3, alpha=0.7, length_form="wu", nbest=nbest))
    assert found == exhaustive(stepper, source, max_length=3, alpha=0.7, form="wu", nbest=nbest)
    found = run(SearchOptions(beam=2, stop_after=9, nbest=nbest, alpha=0.0))
    assert found == beam(stepper, source, width=2, stop_after=9, nbest=nbest, alpha=0.0, max_length=3)
    assert run(SearchOptions(beam=1, stop_after=1)) == beam(stepper, source, width=1, stop_after=1, max_length=3)
    suppressed = run(
        SearchOptions(exhaustive=True, max_length=3, nbest=nbest), constraints=Constraints(suppressed=(2,))
    )
    assert suppressed == exhaustive(
        stepper, source, max_length=3, alpha=1.0, nbest=nbest, filters=Filters(suppressed=(2,))
    )


def test_an_exhaustive_search_with_filters_is_the_best_of_what_they_allow() -> None:
    stepper, source = ToyStepper(4, 2), padded(random_sources(2, 2))
    everything = exhaustive(stepper, source, max_length=3, nbest=1000)
    filters = Filters(suppressed=(2,), min_length=2, no_repeat=1)
    allowed = exhaustive(stepper, source, max_length=3, nbest=1000, filters=filters)
    for found, all_of_them in zip(allowed, everything, strict=True):
        expected = [
            one
            for one in all_of_them
            if 2 not in one.tokens and len(one.tokens) >= 2 and len(set(one.tokens)) == len(one.tokens)
        ]
        assert [one.tokens for one in found] == [one.tokens for one in expected]
        assert [one.logprob for one in found] == pytest.approx([one.logprob for one in expected])
    [[cut], _] = exhaustive(stepper, source, max_length=3, filters=Filters(suppressed=(1, 2, 3), min_length=1))
    assert (cut.tokens, cut.finished, cut.logprob) == ((), False, 0.0)
