"""Diverse beams against a slow one, and against the ordinary beam where they must be one."""

import math
from collections.abc import Sequence
from functools import partial

import pytest

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.diverse import diverse
from regard.search.filters import Filters
from search.comparing import assert_same, plain
from search.oracles import Found, Next, Said, Score, power
from search.toy import ToyStepper, padded, random_sources


def slow_diverse(
    next_logprobs: Next,
    *,
    width: int,
    groups: int,
    diversity: float,
    score: Score,
    max_length: int,
    stop: str = "likely",
    nbest: int = 1,
) -> list[Found]:
    narrow = width // groups
    live: list[list[tuple[Said, float]]] = [[((), 0.0)] for _ in range(groups)]
    finished: list[list[Found]] = [[] for _ in range(groups)]
    unfinished: list[list[Found]] = [[] for _ in range(groups)]
    led, done = [False] * groups, [False] * groups
    for length in range(max_length + 1):
        used: list[int] = []  # the tokens that hypotheses of earlier groups go on with
        for group in range(groups):
            if done[group]:
                continue
            candidates = sorted(
                (
                    (total + gain - diversity * used.count(token), total + gain, said, token)
                    for said, total in live[group]
                    for token, gain in enumerate(next_logprobs(said))
                ),
                reverse=True,
            )[: 2 * narrow]
            ended = [(said, total) for _, total, said, token in candidates[:narrow] if token == 0]
            finished[group] += [(said, total, score(said, total, True), True) for said, total in ended]
            if length == max_length:
                left = [(said, total) for said, total in live[group] if said not in dict(ended)]
                unfinished[group] = [(said, total, score(said, total, False), False) for said, total in left]
            live[group] = [((*said, token), total) for _, total, said, token in candidates if token][:narrow]
            used += [said[-1] for said, _ in live[group]]
            led[group] |= candidates[0][3] == 0
            done[group] = len(finished[group]) >= narrow and (led[group] or stop == "first")
    ranked: list[tuple[int, Found]] = []
    for some, others in zip(finished, unfinished, strict=True):
        kept = sorted(some, key=lambda found: -found[1])[:narrow] if stop == "likely" else some
        best = sorted(kept, key=lambda found: -found[2]) + sorted(others, key=lambda found: -found[2])
        ranked += enumerate(best[: min(nbest, narrow)])
    ranked.sort(key=lambda pair: (pair[0], not pair[1][3], -pair[1][2]))
    distinct: list[Found] = []
    for _, one in ranked:
        if one[0] not in [other[0] for other in distinct if other[3] == one[3]]:
            distinct.append(one)
    return sorted(distinct[:nbest], key=lambda found: (not found[3], -found[2]))


@pytest.mark.parametrize(("width", "groups"), [(2, 2), (4, 2), (6, 3), (5, 1)])
@pytest.mark.parametrize("diversity", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("stop", ["likely", "first"])
def test_it_finds_what_the_slow_one_finds(width: int, groups: int, diversity: float, stop: str) -> None:
    for seed in range(6):
        stepper = ToyStepper(7, seed, end_bias=seed % 3, sharpness=(0.7, 2.0)[seed % 2])
        sources = random_sources(4, seed)
        options = {"width": width, "groups": groups, "diversity": diversity, "max_length": 5, "stop": stop}
        nbest = (width, 1, 2)[seed % 3]
        rows = diverse(stepper, padded(sources), alpha=0.7, nbest=nbest, **options)
        for source, found in zip(sources, rows, strict=True):
            model = partial(stepper.next_logprobs, source)
            assert_same(found, slow_diverse(model, score=power(0.7), nbest=nbest, **options))


def test_one_group_is_an_ordinary_beam() -> None:
    for seed in range(8):
        stepper = ToyStepper(7, seed, end_bias=seed % 3)
        source = padded(random_sources(5, seed))
        for stop in ("likely", "first", "safe"):
            one = diverse(stepper, source, width=3, groups=1, diversity=2.0, max_length=5, nbest=3, stop=stop)
            for found, expected in zip(
                one, beam(stepper, source, width=3, max_length=5, nbest=3, stop=stop), strict=True
            ):
                assert_same(found, plain(expected))


def test_groups_that_do_not_mind_each_other_say_the_same() -> None:
    stepper = ToyStepper(7, 1, end_bias=1.0)
    source = padded(random_sources(5, 1))
    alike = diverse(stepper, source, width=6, groups=3, diversity=0.0, max_length=5, nbest=6)
    for found, expected in zip(alike, beam(stepper, source, width=2, max_length=5, nbest=2), strict=True):
        assert_same(found, plain(expected))


def test_groups_of_one_that_mind_each_other_never_say_the_same_at_a_step() -> None:
    stepper = ToyStepper(9, 2)
    options = {"width": 4, "groups": 4, "diversity": 99.0, "max_length": 4, "nbest": 4}
    for found in diverse(stepper, padded(random_sources(4, 2)), filters=Filters(min_length=4), **options):
        assert len(found) == 4
        for step in range(4):
            assert len({one.tokens[step] for one in found}) == 4


def test_log_probabilities_are_the_models_own() -> None:
    stepper = ToyStepper(9, 2)
    [found] = diverse(stepper, padded([[3, 4]]), width=4, groups=2, diversity=1.5, alpha=0.0, max_length=4, nbest=4)
    for one in found:
        said = (*one.tokens, 0) if one.finished else one.tokens
        expected = sum(stepper.next_logprobs([3, 4], said[:at])[token] for at, token in enumerate(said))
        assert one.logprob == one.score == pytest.approx(expected, abs=1e-9)


def test_a_sentence_does_not_depend_on_its_batch_and_leaves_it() -> None:
    stepper = ToyStepper(9, 3, end_bias=2.0)
    sources = random_sources(8, 3)

    def search(some: Sequence[Sequence[int]]) -> list[list[Found]]:
        return [plain(row) for row in diverse(stepper, padded(some), width=4, groups=2, max_length=9, nbest=4)]

    together = search(sources)
    fed, steps = [size for size, _ in stepper.fed], []
    for number, source in enumerate(sources):
        stepper.fed.clear()
        [alone] = search([source])
        assert [one[0] for one in alone] == [one[0] for one in together[number]]
        steps.append(len(stepper.fed))
    assert len(set(steps)) > 2
    assert fed == [sum(count > step for count in steps) for step in range(max(steps))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 5, "groups": 2}, "groups = 2: a beam of 5 is no multiple of it; make it 6"),
        ({"width": 4, "groups": 0}, "groups = 0"),
        ({"width": 4, "groups": 2, "diversity": -1.0}, r"diversity = -1\.0"),
        ({"width": 4, "groups": 2, "diversity": math.inf}, "diversity = inf"),
        ({"width": 4, "groups": 2, "nbest": 5}, "nbest = 5: a beam of 4"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(SearchError, match=message):
        diverse(ToyStepper(5, 0), padded([[1]]), max_length=3, **options)  # type: ignore[arg-type]
