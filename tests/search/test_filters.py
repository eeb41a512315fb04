"""Filters: every search against an oracle that cannot say what is forbidden, against Hugging Face's, and by hand."""

import math
from collections import Counter
from functools import partial
from typing import Any

import pytest
import torch

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.diverse import diverse
from regard.search.exact import exact
from regard.search.filters import Filters, without_repeats
from regard.search.greedy import greedy
from regard.search.hypothesis import Hypothesis
from regard.search.sampling import sample
from search.comparing import assert_same, plain
from search.oracles import Next, allowed, every_output, power, slow_beam
from search.toy import TableStepper, ToyStepper, padded, random_sources

NO_SOURCE = torch.zeros((1, 1), dtype=torch.long)
FILTERS: list[dict[str, Any]] = [
    {"min_length": 3},
    {"no_repeat": 1},
    {"no_repeat": 2},
    {"no_repeat": 3},
    {"suppressed": (2, 4)},
    {"min_length": 2, "no_repeat": 2, "suppressed": (1,)},
    {"prefixes": True},
    {"prefixes": True, "no_repeat": 1, "suppressed": (1, 3), "min_length": 4},
]
PREFIXES = [(3, 3, 1), (), (2,), (1, 1, 1, 1, 1), (4, 2)]


def for_batch(options: dict[str, Any]) -> Filters:
    return Filters(**{**options, "prefixes": PREFIXES} if "prefixes" in options else options)


def for_one(options: dict[str, Any], number: int) -> dict[str, Any]:
    kept = {name: value for name, value in options.items() if name != "prefixes"}
    return {**kept, "prefix": PREFIXES[number]} if "prefixes" in options else kept


@pytest.mark.parametrize("options", FILTERS)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_beam_says_what_is_allowed_and_only_that(width: int, options: dict[str, Any]) -> None:
    for seed in range(6):
        stepper = ToyStepper(6, seed, end_bias=seed % 3, sharpness=(1.0, 2.5)[seed % 2])
        sources = random_sources(5, seed)
        rows = beam(
            stepper, padded(sources), width=width, alpha=0.7, max_length=6, nbest=width, filters=for_batch(options)
        )
        for number, (source, found) in enumerate(zip(sources, rows, strict=True)):
            model = allowed(partial(stepper.next_logprobs, source), **for_one(options, number))
            assert_same(found, slow_beam(model, width=width, score=power(0.7), max_length=6, nbest=width))


@pytest.mark.parametrize("options", FILTERS)
def test_greedy_search_is_a_beam_of_one_under_any_filter(options: dict[str, Any]) -> None:
    for seed in range(10):
        stepper = ToyStepper(6, seed, end_bias=seed % 3)
        source = padded(random_sources(5, seed))
        narrow = beam(stepper, source, width=1, alpha=1.0, max_length=6, filters=for_batch(options))
        for found, expected in zip(
            greedy(stepper, source, alpha=1.0, max_length=6, filters=for_batch(options)), narrow, strict=True
        ):
            assert_same(found, plain(expected))


@pytest.mark.parametrize("options", FILTERS)
def test_a_sample_never_says_what_is_forbidden(options: dict[str, Any]) -> None:
    stepper = ToyStepper(5, 1, sharpness=2.5)
    sources = random_sources(5, 1)
    settings = {"samples": 60, "seed": 3, "max_length": 10}
    filtered = sample(stepper, padded(sources), filters=for_batch(options), **settings)
    free = sample(stepper, padded(sources), **settings)
    forbidden = 0
    for number, source in enumerate(sources):
        model = allowed(partial(stepper.next_logprobs, source), **for_one(options, number))

        def total(one: Hypothesis, model: Next = model) -> float:
            said = (*one.tokens, 0) if one.finished else one.tokens
            return sum(model(said[:at])[token] for at, token in enumerate(said))

        for one in filtered[number]:
            assert one.logprob == pytest.approx(total(one), abs=1e-9)
            assert one.finished or len(one.tokens) == 10 or max(model(one.tokens)) == -math.inf
        forbidden += sum(total(one) == -math.inf for one in free[number])
    assert forbidden > 10, "a filter that forbids nothing would prove nothing"


def test_what_is_left_is_drawn_as_often_as_it_is_probable() -> None:
    table = {(): [0.4, 0.3, 0.2, 0.1]}
    filters = Filters(min_length=1, suppressed=[3])
    [found] = sample(TableStepper(4, table), NO_SOURCE, samples=5000, seed=1, max_length=3, filters=filters)
    counts = Counter(one.tokens for one in found)
    assert set(counts) == {(1,), (2,)}
    assert abs(counts[(1,)] / 5000 - 0.6) < 0.03  # 0.3 of 0.5; four standard deviations
    assert {round(math.exp(one.logprob), 9) for one in found} == {0.3, 0.2}


@pytest.mark.parametrize("options", FILTERS)
def test_exact_search_finds_the_best_that_is_allowed(options: dict[str, Any]) -> None:
    for seed in range(4):
        stepper = ToyStepper(5, seed, end_bias=0.5 * seed)
        sources = random_sources(5, seed)
        rows = exact(stepper, padded(sources), max_length=5, width=2, filters=for_batch(options))
        for number, (source, [found]) in enumerate(zip(sources, rows, strict=True)):
            model = allowed(partial(stepper.next_logprobs, source), **for_one(options, number))
            outputs = list(every_output(model, 5))
            if not outputs:
                assert not found.finished
                continue
            best = max(outputs, key=lambda output: output[1])
            assert found.tokens == best[0]
            assert found.logprob == pytest.approx(best[1], abs=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_repeats_are_those_that_hugging_face_finds(size: int) -> None:
    processors = pytest.importorskip("transformers.generation.logits_process")
    torch.manual_seed(size)
    for length in range(9):
        said = torch.randint(0, 3, (6, 4, length))
        scores = torch.randn(6, 4, 5)
        expected = processors.NoRepeatNGramLogitsProcessor(size)(said.flatten(0, 1), scores.flatten(0, 1).clone())
        found = Filters(no_repeat=size).ready(torch.full((6,), 20), 4)(scores, said, torch.arange(6))
        torch.testing.assert_close(found, expected.view_as(scores))


def test_what_repeats_by_hand() -> None:
    said = torch.tensor([[[1, 2, 3, 1, 2]]])
    scores = torch.zeros(1, 1, 5)
    assert without_repeats(scores, said, 3).eq(-math.inf).nonzero()[:, 2].tolist() == [3]  # 1 2 was followed by 3
    assert without_repeats(scores, said, 2).eq(-math.inf).nonzero()[:, 2].tolist() == [3]
    assert without_repeats(scores, said, 1).eq(-math.inf).nonzero()[:, 2].tolist() == [1, 2, 3]


@pytest.mark.parametrize("options", FILTERS)
def test_a_sentence_does_not_depend_on_its_batch(options: dict[str, Any]) -> None:
    stepper = ToyStepper(6, 3, end_bias=1.0)
    sources = random_sources(5, 3)
    filters = for_batch(options)
    searches = [
        partial(beam, width=3, nbest=3),
        greedy,
        partial(diverse, width=4, groups=2, nbest=4),
        partial(exact, width=2),
    ]
    for search in searches:
        together = search(stepper, padded(sources), max_length=6, filters=filters)
        for number, source in enumerate(sources):
            one = Filters(**{**options, "prefixes": [PREFIXES[number]]} if "prefixes" in options else options)
            [alone] = search(stepper, padded([source]), max_length=6, filters=one)
            assert_same(together[number], plain(alone))


def test_one_hypothesis_is_enough_while_every_next_token_is_given() -> None:
    stepper = ToyStepper(6, 3, end_bias=-9.0)
    beam(stepper, padded([[1], [2]]), width=4, max_length=5, filters=Filters(prefixes=[(1, 2, 3), (1, 1)]))
    assert [k for _, k in stepper.fed] == [1, 1, 1, 4, 4, 4]


def test_nothing_allowed_is_a_dead_end_and_no_error() -> None:
    stepper = ToyStepper(3, 0)
    filters = Filters(suppressed=[1, 2], min_length=2)
    source = padded([[1, 2], [3]])
    for search in (greedy, beam, partial(sample, seed=1), exact):
        for [found] in search(stepper, source, max_length=4, filters=filters):
            assert (found.tokens, found.finished, found.logprob) == ((), False, 0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_length": -1}, "min_length = -1: must be a whole number of at least 0"),
        ({"no_repeat": 1.5}, "no_repeat = 1.5"),
        ({"min_length": 6}, "min_length = 6: above max_length, 5"),
        ({"suppressed": [0]}, "suppressed holds the end mark, id 0"),
        ({"suppressed": [-2]}, "suppressed holds id -2"),
        ({"suppressed": [7]}, "suppressed holds id 7, but the model generates 0 to 6"),
        ({"prefixes": [(1,)]}, "1 prefixes for 2 sources"),
        ({"prefixes": [(), (1,) * 6]}, "prefix 1 has 6 tokens, above max_length, 5"),
        ({"prefixes": [(), (3, 0)]}, "prefix 1 holds the end mark"),
        ({"prefixes": [(), (7,)]}, "a prefix holds id 7"),
    ],
)
def test_filters_that_cannot_be_met_are_refused(options: dict[str, Any], message: str) -> None:
    for search in (greedy, beam, partial(sample, seed=1), exact, partial(diverse, width=2, groups=2)):
        with pytest.raises(SearchError, match=message):
            search(ToyStepper(7, 0), padded([[1], [2]]), max_length=5, filters=Filters(**options))
