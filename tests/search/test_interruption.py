"""A time limit cuts every search between two steps, and a stop signal ends it; both are looked at, and neither changes a step."""

import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.errors import SearchError
from regard.search import interruption as module
from regard.search.expansion import Steps
from regard.search.hypothesis import Hypothesis
from regard.search.interruption import Interruption, SearchStopped, StopSignal
from regard.search.options import FIELDS, LONGEST_OUTPUT, MOST_POSITIONS, SearchOptions
from regard.search.run import run_search, search_steps
from search.toy import ToyStepper, padded

SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "beam": {"beam": 3, "nbest": 2},
    "safe": {"beam": 2, "stop": "safe"},
    "groups": {"beam": 4, "groups": 2, "nbest": 2},
    "sample": {"sample": True, "nbest": 3, "seed": 5},
    "mbr": {"mbr": 4},
    "exact": {"exact": True, "beam": 2, "node_limit": 50},
    "exhaustive": {"exhaustive": True, "max_length": 5},
}
SOURCES = [[4, 2], [1, 3, 3], [2]]
LIMIT = 5


class Clock:
    """A clock that moves by one second each time a search reads it. Other threads of the tests keep the real one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ticks = itertools.count()
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))


def search(options: dict[str, Any], stopped: StopSignal | None = None) -> list[list[Hypothesis]]:
    stepper = ToyStepper(5, 1, end_bias=-2.0)
    limits, places = [LIMIT] * len(SOURCES), range(len(SOURCES))
    lengths = [len(source) for source in SOURCES]
    chosen = SearchOptions(**options)
    interruption = Interruption.of(chosen.time_limit, stopped)
    return run_search(
        stepper,
        padded(SOURCES),
        chosen,
        limits=limits,
        numbers=places,
        source_lengths=lengths,
        interruption=interruption,
    )


@pytest.mark.parametrize("name", SEARCHES)
def test_a_limit_that_is_not_reached_changes_nothing(name: str) -> None:
    expected = search(SEARCHES[name])
    assert search({**SEARCHES[name], "time_limit": 1000}) == expected
    assert search(SEARCHES[name], stopped=lambda: False) == expected
    assert not any(hypothesis.timed_out for own in expected for hypothesis in own)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_time_limit_cuts_between_steps(monkeypatch: pytest.MonkeyPatch, name: str, steps: int) -> None:
    Clock(monkeypatch)
    # The clock is read once when the search begins and once before each step: the limit is over before step `steps`, counted from 0.
    cut = search({**SEARCHES[name], "time_limit": float(steps + 1)})
    assert len(cut) == len(SOURCES)
    assert all(own for own in cut)  # an answer for every sentence
    whole = search(SEARCHES[name])
    marked = [own[0].timed_out for own in cut]
    assert any(marked)
    for own, expected, timed_out in zip(cut, whole, marked, strict=True):
        assert {hypothesis.timed_out for hypothesis in own} == {timed_out}
        if not timed_out:
            assert own == expected
        for hypothesis in own:
            assert hypothesis.finished or len(hypothesis.tokens) <= steps
            assert hypothesis.proof is None or not hypothesis.proof.proved


def test_what_was_cut_is_what_a_shorter_search_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy search to a maximum of t tokens and greedy search that is cut before step t say the same."""
    short = search({"beam": 1})
    Clock(monkeypatch)
    for steps in (1, 2, 3):
        cut = search({"beam": 1, "time_limit": float(steps + 1)})
        assert [own[0].tokens for own in cut] == [own[0].tokens[:steps] for own in short]


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_stop_signal_ends_every_search(name: str, after: int) -> None:
    looks = itertools.count()
    with pytest.raises(SearchStopped, match="stopped before its end"):
        search(SEARCHES[name], stopped=lambda: next(looks) >= after)
    assert next(looks) == after + 1  # it was looked at no more


def test_a_stream_is_cut_and_marked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    options = SearchOptions(sample=True, seed=3, time_limit=3.0)
    stepper = ToyStepper(5, 1, end_bias=-20.0)
    interruption = Interruption(options.time_limit)
    steps: Steps = search_steps(stepper, padded([[1, 2]]), options, limits=[9], numbers=[0], interruption=interruption)
    expansions = []
    while True:
        try:
            expansions.append(next(steps))
        except StopIteration as end:
            [[hypothesis]] = end.value
            break
    assert len(expansions) == len(hypothesis.tokens) == 2  # what was streamed is what there is
    assert hypothesis.timed_out
    assert not hypothesis.finished


def test_all_batches_share_one_clock_that_starts_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    interruption = Interruption(4.0)
    assert not any(interruption.due() for _ in range(9))  # waiting takes none of the time
    first = interruption.of_batch()  # it is 0 o'clock
    assert not first.due()
    second = interruption.of_batch()
    assert [second.due() for _ in range(3)] == [False, False, True]
    assert first.due()
    assert interruption.due()
    second.cut([0])
    assert not first.was_cut(0)  # each batch has its own numbers


def test_an_interruption_of_nothing_is_none() -> None:
    assert Interruption.of(None, None) is None
    assert Interruption.of(None, lambda: True) is not None


BOUNDS = {
    "beam": 1_000_000,
    "alpha": 11.0,
    "coverage": 1e308,
    "stop_after": 10**9,
    "nbest": 1_000_000,
    "groups": 100_000,
    "diversity": 1e308,
    "temperature": 1e9,
    "top_k": 10**9,
    "top_p": 1.5,
    "seed": 2**64,
    "mbr": 1_000_000,
    "node_limit": 10**9,
    "min_length": 50_000,
    "max_length": 10**9,
    "no_repeat": 10**9,
    "suppress": ["a"] * 1001,
    "time_limit": 1e9,
}


def test_every_option_that_is_a_number_has_an_upper_bound_in_its_help() -> None:
    unbounded = {"length_form", "stop", "sample", "exact", "exhaustive", "shortlist"}  # choices
    assert set(FIELDS) - unbounded == set(BOUNDS)
    for name in BOUNDS:
        most = FIELDS[name].metadata["most"]
        assert FIELDS[name].metadata["help"].endswith(f" At most {int(most):,}."), name


@pytest.mark.parametrize("name", BOUNDS)
def test_a_value_above_its_bound_is_refused(name: str) -> None:
    with pytest.raises(SearchError, match=f"^{name} = ") as refused:
        SearchOptions(**{name: BOUNDS[name]})
    assert len(str(refused.value)) < 1600


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "5"])
def test_a_time_limit_is_a_number_of_seconds(value: Any) -> None:
    with pytest.raises(SearchError, match=r"^time_limit = "):
        SearchOptions(time_limit=value)


@pytest.mark.parametrize("temperature", [1e-300, 1e-9])
def test_a_tiny_temperature_is_not_blamed_on_the_weights(temperature: float) -> None:
    with pytest.raises(SearchError, match=r"^temperature = 1e-.*1e-06 to 1000"):
        SearchOptions(sample=True, temperature=temperature)


def test_the_bounds_hold_together() -> None:
    widest = SearchOptions(beam=26, max_length=LONGEST_OUTPUT)
    assert widest.width * (LONGEST_OUTPUT + 1) <= MOST_POSITIONS
    with pytest.raises(SearchError, match=r"^max_length = 10000: with 27 hypotheses .* lower it to 9708"):
        replace(widest, beam=27)
    with pytest.raises(SearchError, match=r"^min_length = 10000: with 50 hypotheses"):
        SearchOptions(sample=True, nbest=50, min_length=LONGEST_OUTPUT)


def test_the_page_states_the_bounds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "decoding.md").read_text(encoding="utf-8")
    for name in BOUNDS:
        assert f"| `--{name.replace('_', '-')}` | {int(FIELDS[name].metadata['most']):,} |\n" in page
