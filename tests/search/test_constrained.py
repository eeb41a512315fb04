"""Phrases that outputs must contain: the automata against plain search, the banks by hand, beams against all outputs that contain them."""

import itertools
import random
from functools import partial

import pytest
import torch

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.constrained import Option, allocated, allotments, first_that_end
from regard.search.filters import Filters
from regard.search.phrases import Phrases, contains
from search.comparing import assert_same, plain
from search.oracles import every_output, power
from search.toy import ToyStepper, padded, random_sources


def test_a_phrase_is_met_exactly_where_the_output_contains_it() -> None:
    draw = random.Random(1)
    met = 0
    for _ in range(600):
        phrases = [[draw.randint(1, 2) for _ in range(draw.randint(1, 4))] for _ in range(draw.randint(1, 3))]
        said = [draw.randint(1, 2) for _ in range(draw.randint(0, 9))]
        wanted = Phrases(phrases)
        progress = wanted.nothing
        for token in said:
            progress = wanted.advance(progress, token)
        assert (wanted.met(progress) == wanted.total) == all(contains(said, phrase) for phrase in phrases)
        met += wanted.met(progress) == wanted.total
        # what is certain to be enough is enough: the wanted token of the phrase that is furthest, again and again
        for _ in range(wanted.need(progress)):
            unmet = [n for n, phrase in enumerate(wanted.phrases) if progress[n] < len(phrase)]
            if unmet:  # where phrases overlap, fewer tokens may do
                furthest = max(unmet, key=lambda n: progress[n])
                progress = wanted.advance(progress, wanted.phrases[furthest][progress[furthest]])
        assert wanted.met(progress) == wanted.total
    assert 100 < met < 500


def test_a_false_start_and_an_overlap_by_hand() -> None:
    wanted = Phrases([(1, 1, 2), (2, 3)])
    states = list(itertools.accumulate([1, 1, 1, 2, 3], wanted.advance, initial=wanted.nothing))
    assert states == [(0, 0), (1, 0), (2, 0), (2, 0), (3, 1), (3, 2)]  # a third 1 does not lose two; 2 serves both
    assert wanted.need((2, 0)) == 3
    assert wanted.wanted((2, 0)) == [2]
    assert wanted.wanted((0, 1)) == [1, 3]


def test_what_is_contained_in_another_phrase_asks_for_nothing() -> None:
    assert Phrases([(1, 2, 3), (2, 3), (1, 2, 3), ()]).phrases == [(1, 2, 3)]


def test_a_phrase_with_alternatives_is_met_by_any_of_them() -> None:
    draw = random.Random(3)
    met = 0
    for _ in range(600):
        phrases = [
            [[draw.randint(1, 3) for _ in range(draw.randint(1, 3))] for _ in range(draw.randint(1, 3))]
            for _ in range(draw.randint(1, 3))
        ]
        output = [draw.randint(1, 3) for _ in range(draw.randint(0, 9))]
        wanted = Phrases(phrases)
        progress = wanted.nothing
        for token in output:
            before, progress = wanted.met(progress), wanted.advance(progress, token)
            assert wanted.need(progress) <= wanted.total
            assert wanted.met(progress) <= wanted.total
            assert (before == wanted.total) <= (wanted.met(progress) == wanted.total)
        expected = all(any(contains(output, choice) for choice in phrase) for phrase in phrases)
        assert (wanted.met(progress) == wanted.total) == expected
        met += expected
    assert 100 < met < 500


def test_alternatives_by_hand() -> None:
    wanted = Phrases([[(1, 2), (3,)], (4, 5)])
    assert (wanted.total, wanted.phrases) == (3, [(1, 2), (3,), (4, 5)])
    assert wanted.wanted(wanted.nothing) == [1, 3, 4]
    assert wanted.advance(wanted.nothing, 3) == (2, 1, 0)  # the other alternative is asked for no more
    assert wanted.met((2, 1, 0)) == 1
    assert wanted.need((1, 0, 1)) == 2
    assert Phrases([[(1,), (2,)], [(1, 3), (2, 3)]]).phrases == [(1, 3), (2, 3)]  # what another phrase always brings
    assert Phrases([[(1,), ()]]).phrases == []


def test_a_beam_is_divided_into_banks() -> None:
    assert allotments(6, 2) == [2, 2, 2]
    assert allotments(8, 2) == [2, 2, 4]  # the last has the rest
    assert allotments(2, 4) == [0, 0, 0, 0, 2]
    assert allotments(5, 0) == [5]


def test_what_a_bank_cannot_fill_goes_round() -> None:
    def options(*banks: int) -> list[Option]:
        return [Option(-float(place), 0, place + 1, bank, False) for place, bank in enumerate(banks)]

    # two each; the last bank is empty and the middle one has one: the three left over go to bank 0 alone
    assert allocated(options(0, 0, 1, 0, 0, 0, 0), 6, 2) == [0, 1, 2, 3, 4, 5]
    # two each and all are full: the third of bank 0 is cut although it is more probable
    assert allocated(options(0, 0, 0, 1, 1, 1, 2, 2, 2), 6, 2) == [0, 1, 3, 4, 6, 7]
    # no share for the first banks; what the last cannot take goes round, the fullest bank first
    assert allocated(options(0, 0, 0, 1, 1), 3, 4) == [0, 3, 4]
    ends = [Option(-1.0, 0, 0, 1, True), Option(-2.0, 0, 3, 1, False), Option(-3.0, 1, 0, 1, True)]
    assert first_that_end(ends, 4, 1) == [0]  # the last bank of 4 over 2 has two places, and the second goes on
    assert first_that_end(ends, 5, 1) == [0, 2]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_beam_as_wide_as_the_space_finds_the_best_that_contains_them(alpha: float) -> None:
    phrases = [[(1, 2)], [[(1, 3), (2,)]], [(3,), (2,)], [(1, 1), [(3, 2), (2, 3)]]]
    for seed in range(5):
        stepper = ToyStepper(4, seed, end_bias=0.5)
        sources = random_sources(4, seed)
        # (C + 1) banks of a beam this wide hold all of the 4^5 partial outputs
        rows = beam(stepper, padded(sources), width=6 * 4**4, alpha=alpha, max_length=4, nbest=4, phrases=phrases)
        for source, wanted, found in zip(sources, phrases, rows, strict=True):
            outputs = every_output(partial(stepper.next_logprobs, source), 4)
            ranked = sorted(
                (
                    (said, total, power(alpha)(said, total, True), True)
                    for said, total in outputs
                    if all(contains(said, phrase) for phrase in wanted)
                ),
                key=lambda output: -output[2],
            )
            assert_same(found, ranked[:4])


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("stop", ["likely", "first", "safe"])
def test_every_output_contains_its_phrases(width: int, stop: str) -> None:
    draw = random.Random(width)
    for seed in range(8):
        stepper = ToyStepper(9, seed, end_bias=seed % 4)
        sources = random_sources(6, seed)
        phrases = [
            [[draw.randint(1, 8) for _ in range(draw.randint(1, 3))] for _ in range(draw.randint(0, 3))]
            for _ in sources
        ]
        # some have just enough room
        limits = [max(1, Phrases(wanted).total) + draw.randint(0, 4) for wanted in phrases]
        rows = beam(
            stepper,
            padded(sources),
            width=width,
            max_length=torch.tensor(limits),
            stop=stop,
            nbest=width,
            phrases=phrases,
        )
        for wanted, limit, found in zip(phrases, limits, rows, strict=True):
            assert all(len(one.tokens) <= limit for one in found)
            finished = [one for one in found if one.finished]
            assert all(contains(one.tokens, phrase) for one in finished for phrase in wanted)
            assert finished or not wanted


def test_log_probabilities_are_the_models_own() -> None:
    stepper = ToyStepper(9, 2, end_bias=1.0)
    [[found]] = beam(stepper, padded([[3, 4]]), width=4, max_length=8, alpha=0.0, phrases=[[(7, 5)]])
    said = (*found.tokens, 0)
    expected = sum(stepper.next_logprobs([3, 4], said[:at])[token] for at, token in enumerate(said))
    assert found.logprob == pytest.approx(expected, abs=1e-9)


def test_without_phrases_it_is_an_ordinary_beam() -> None:
    for seed in range(10):
        stepper = ToyStepper(7, seed, end_bias=seed % 3)
        source = padded(random_sources(5, seed))
        usual = beam(stepper, source, width=3, max_length=5, nbest=3)
        for found, expected in zip(
            beam(stepper, source, width=3, max_length=5, nbest=3, phrases=[[]] * 5), usual, strict=True
        ):
            assert_same(found, plain(expected))


def test_a_sentence_does_not_depend_on_its_batch() -> None:
    stepper = ToyStepper(9, 3, end_bias=1.0)
    sources = random_sources(5, 3)
    phrases = [[(1, 2)], [], [(5,), (7, 7)], [(8, 1, 2)], []]
    together = beam(stepper, padded(sources), width=4, max_length=8, nbest=4, phrases=phrases)
    for number, source in enumerate(sources):
        [alone] = beam(stepper, padded([source]), width=4, max_length=8, nbest=4, phrases=[phrases[number]])
        assert_same(together[number], plain(alone))


def test_finished_sentences_leave_the_batch() -> None:
    stepper = ToyStepper(9, 3, end_bias=2.0)
    sources = random_sources(5, 3)
    phrases = [[(1, 2)], [], [(5,), (7, 7)], [(8, 1, 2)], []]
    beam(stepper, padded(sources), width=4, max_length=9, phrases=phrases)
    together, steps = [size for size, _ in stepper.fed], []
    for number, source in enumerate(sources):
        stepper.fed.clear()
        beam(stepper, padded([source]), width=4, max_length=9, phrases=[phrases[number]])
        steps.append(len(stepper.fed))
    assert len(set(steps)) > 2
    assert together == [sum(count > step for count in steps) for step in range(max(steps))]


def test_phrases_and_filters_together() -> None:
    stepper = ToyStepper(9, 4, end_bias=1.0)
    source = padded(random_sources(3, 4))
    filters = Filters(prefixes=[(2, 2), (), (7,)], suppressed=[3], min_length=4)
    rows = beam(stepper, source, width=4, max_length=9, filters=filters, phrases=[[(5, 5)], [(6,)], [(7, 1)]])
    for [found], prefix, phrase in zip(rows, [(2, 2), (), (7,)], [(5, 5), (6,), (7, 1)], strict=True):
        assert found.finished
        assert found.tokens[: len(prefix)] == prefix
        assert contains(found.tokens, phrase)
        assert 3 not in found.tokens
        assert len(found.tokens) >= 4


def test_a_phrase_that_a_filter_forbids_ends_unfinished() -> None:
    stepper = ToyStepper(9, 4)
    [[found]] = beam(stepper, padded([[1]]), width=4, max_length=4, filters=Filters(suppressed=[3]), phrases=[[(3,)]])
    assert not found.finished


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        ([[(1,)]], "1 lists of phrases for 2 sources"),
        ([[], [(1, 2, 3), (4, 5)]], "the phrases of sentence 1 have 5 tokens, above max_length, 4"),
        ([[], [(1, 0)]], "a phrase of sentence 1 holds the end mark"),
        ([[(9,)], []], "a phrase of sentence 0 holds id 9, but the model generates 0 to 6"),
    ],
)
def test_phrases_that_cannot_be_met_are_refused(phrases: list[list[tuple[int, ...]]], message: str) -> None:
    with pytest.raises(SearchError, match=message):
        beam(ToyStepper(7, 0), padded([[1], [2]]), width=3, max_length=4, phrases=phrases)
