"""What hypotheses are ranked by: numbers by hand, beams against a slow one, and beams as wide as the space against all outputs."""

import math
from functools import partial

import pytest
import torch

from regard.errors import SearchError
from regard.search.beam import beam
from regard.search.greedy import greedy
from regard.search.ranking import Ranking, coverage_penalty
from regard.search.sampling import sample
from search.comparing import assert_same
from search.oracles import Score, covering, every_output, power, slow_beam, wu
from search.toy import TableStepper, ToyStepper, padded, random_sources

FORMS: dict[str, Score] = {"power": power(0.8), "wu": wu(0.8)}


def test_the_forms_by_hand() -> None:
    assert Ranking(0.5).score(-6.0, 4) == pytest.approx(-3.0)
    assert Ranking(1.0, "wu").score(-6.0, 7) == pytest.approx(-3.0)  # (5 + 7) / 6 = 2
    assert Ranking(2.0, "wu").score(-8.0, 7) == pytest.approx(-2.0)
    assert Ranking(1.0, "wu").score(-6.0, 0) == Ranking(1.0, "power").score(-6.0, 0) == -6.0
    assert Ranking(0.0, "wu").score(-6.0, 30) == -6.0


def test_the_coverage_penalty_by_hand() -> None:
    # the first token received 1.5, counted as 1; the second 0.5; the third nothing, counted as a millionth
    attention = torch.tensor([[0.9, 0.1, 0.0], [0.6, 0.4, 0.0]])
    assert coverage_penalty(attention[:, :1]) == 0.0
    assert coverage_penalty(attention[:, :2]) == pytest.approx(math.log(0.5))
    assert coverage_penalty(attention) == pytest.approx(math.log(0.5) + math.log(1e-6))
    assert Ranking(0.0, coverage=0.2).score(-3.0, 2, attention[:, :2]) == pytest.approx(-3.0 + 0.2 * math.log(0.5))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("coverage", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("stop", ["likely", "first", "safe"])
def test_a_beam_ranks_as_the_slow_one_does(form: str, coverage: float, stop: str) -> None:
    changed = 0
    for seed in range(6):
        stepper = ToyStepper(6, seed, end_bias=seed % 3 - 0.5, sharpness=(0.7, 2.0)[seed % 2])
        sources = random_sources(5, seed)
        counted = [max(1, len(source) - 1) for source in sources]  # the last token stands for an end mark
        rows = beam(
            stepper,
            padded(sources),
            width=3,
            alpha=0.8,
            form=form,
            coverage=coverage,
            source_lengths=counted,
            max_length=5,
            stop=stop,
            nbest=3,
        )
        for source, tokens, found in zip(sources, counted, rows, strict=True):
            score = covering(FORMS[form], stepper, source, coverage, tokens)
            model = partial(stepper.next_logprobs, source)
            assert_same(found, slow_beam(model, width=3, score=score, max_length=5, stop=stop, nbest=3))
            without = slow_beam(model, width=3, score=FORMS[form], max_length=5, stop=stop)
            changed += without[0][0] != found[0].tokens
    assert (changed > 0) == (coverage > 0.0), "a penalty that changes nothing would prove nothing"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("coverage", [0.0, 0.5])
def test_a_beam_as_wide_as_the_space_finds_the_best_of_all(form: str, coverage: float) -> None:
    for seed in range(4):
        stepper = ToyStepper(4, seed)
        sources = random_sources(3, seed)
        rows = beam(
            stepper,
            padded(sources),
            width=4**4,
            alpha=0.8,
            form=form,
            coverage=coverage,
            source_lengths=[len(source) for source in sources],
            max_length=3,
            nbest=5,
        )
        for source, found in zip(sources, rows, strict=True):
            score = covering(FORMS[form], stepper, source, coverage, len(source))
            outputs = every_output(partial(stepper.next_logprobs, source), 3)
            ranked = sorted(
                ((said, total, score(said, total, True), True) for said, total in outputs), key=lambda o: -o[2]
            )
            assert_same(found, ranked[:5])


def test_the_safe_rule_ends_early_and_changes_nothing() -> None:
    """The oracle goes on to the longest length; the rule must stop sooner somewhere, with the same answer everywhere."""
    saved = 0
    for seed in range(12):
        stepper = ToyStepper(6, seed, end_bias=1.5, sharpness=2.5)
        sources = random_sources(4, seed)
        for alpha in (0.0, 0.6):
            stepper.fed.clear()
            rows = beam(stepper, padded(sources), width=3, alpha=alpha, max_length=8, stop="safe", nbest=2)
            saved += sum(4 - rows_fed for rows_fed, _ in stepper.fed) + 4 * (9 - len(stepper.fed))
            for source, found in zip(sources, rows, strict=True):
                model = partial(stepper.next_logprobs, source)
                assert_same(found, slow_beam(model, width=3, score=power(alpha), max_length=8, stop="safe", nbest=2))
    assert saved > 100


def test_the_rules_differ_where_a_short_output_ends_early() -> None:
    # By hand, width 1: ending at once has 0.45, 1 has 0.55 and then ends with 0.5 (0.275), or goes on with 0.5 to 1 1 (0.275).
    # Width 2 finishes () and (1) in two steps, and by `first` stops there; normalised, 1 1 1 (ln 0.275 / 3) beats both.
    table = {(): [0.45, 0.55], (1,): [0.5, 0.5], (1, 1): [0.02, 0.98], (1, 1, 1): [1.0, 0.0]}
    stepper = TableStepper(2, table)
    source = torch.zeros((1, 1), dtype=torch.long)
    [[first]] = beam(stepper, source, width=2, alpha=1.0, max_length=6, stop="first")
    [[safe]] = beam(stepper, source, width=2, alpha=1.0, max_length=6, stop="safe")
    assert first.tokens == ()
    assert first.score == pytest.approx(math.log(0.45))
    assert safe.tokens == (1, 1, 1)
    assert safe.score == pytest.approx(math.log(0.55 * 0.5 * 0.98) / 3)


def test_a_model_without_attention_cannot_be_asked_for_coverage() -> None:
    stepper = TableStepper(3, {(): [0.2, 0.5, 0.3]})
    with pytest.raises(SearchError, match=r"coverage = 0\.2: this model does not say where it looks"):
        beam(stepper, torch.zeros((1, 1), dtype=torch.long), coverage=0.2, max_length=3)


def test_greedy_search_and_samples_are_scored_by_the_same_form() -> None:
    stepper = ToyStepper(7, 1, end_bias=-9.0)
    [[found]] = greedy(stepper, padded([[3]]), max_length=7, alpha=1.0, form="wu")
    assert found.score == pytest.approx(found.logprob / 2.0)
    [[drawn]] = sample(stepper, padded([[3]]), max_length=7, alpha=1.0, form="wu", seed=1)
    assert drawn.score == pytest.approx(drawn.logprob / 2.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "length"}, "length_form = 'length': must be power or wu"),
        ({"coverage": -0.1}, r"coverage = -0\.1: must be 0"),
        ({"coverage": math.nan}, "coverage = nan"),
        ({"stop": "late"}, "stop = 'late': must be one of likely, first, safe"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(SearchError, match=message):
        beam(ToyStepper(5, 0), padded([[1]]), max_length=3, **options)  # type: ignore[arg-type]
