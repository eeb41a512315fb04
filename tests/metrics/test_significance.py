"""The paired bootstrap against sacrebleu's own, and on cases whose answer is known without it."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest as SacrebleuTest

from regard.errors import DataError
from regard.metrics.classification import evaluate_labels
from regard.metrics.evaluation import evaluate_translations
from regard.metrics.scores import METRICS, counted_names
from regard.metrics.significance import PairedTest, counted_metric, paired_test, resampled_scores

WORDS = [
    "a",
    "man",
    "in",
    "the",
    "red",
    "hat",
    "sees",
    "two",
    "dogs",
    "near",
    "an",
    "old",
    "house",
    "sleeps",
    "on",
    "it",
]
SAMPLES = 200
TRANSLATED = [
    name
    for name in counted_names()
    if METRICS[name].judges == "translations" and (name in ("per", "wer") or not METRICS[name].on_request)
]


def references(count: int = 40) -> list[str]:
    draw = random.Random(1)
    return [" ".join(draw.choice(WORDS) for _ in range(draw.randint(3, 12))) for _ in range(count)]


def damaged(lines: Sequence[str], share: float, seed: int) -> list[str]:
    """The lines with so many of their words replaced."""
    draw = random.Random(seed)
    return [" ".join(draw.choice(WORDS) if draw.random() < share else word for word in line.split()) for line in lines]


def outcome(
    name: str, baseline: Sequence[Sequence[str]], system: Sequence[Sequence[str]], truth: Sequence[str]
) -> PairedTest:
    metric = counted_metric(name)
    counts = [metric.count(run, truth) for run in [*baseline, *system]]
    actual = [metric.score(one.sum(axis=0)) for one in counts]
    sampled = resampled_scores(metric, counts, SAMPLES)
    split = len(baseline)
    return paired_test(actual[:split], actual[split:], sampled[:split], sampled[split:])


@pytest.mark.parametrize(("name", "theirs"), [("bleu", BLEU), ("chrf", CHRF), ("ter", TER)])
@pytest.mark.parametrize(("share", "seed"), [(0.30, 5), (0.36, 6), (0.5, 7)])
def test_p_is_that_of_sacrebleu(
    name: str, theirs: type, share: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    truth = references()
    baseline, system = damaged(truth, 0.3, 4), damaged(truth, share, seed)
    _, scores = SacrebleuTest([("b", baseline), ("s", system)], {"m": theirs()}, [truth], "bs", SAMPLES)()
    expected = next(values for key, values in scores.items() if key != "System")
    ours = outcome(name, [baseline], [system], truth)
    assert ours.difference == pytest.approx(expected[1].score - expected[0].score)
    # The draws are the same; sacrebleu sums in 32 bits, which may decide one tie otherwise.
    assert ours.p_value == pytest.approx(expected[1].p_value, abs=1.5 / SAMPLES)


@pytest.mark.parametrize("name", TRANSLATED)
def test_equal_systems_differ_by_nothing(name: str) -> None:
    truth = references()
    same = damaged(truth, 0.3, 4)
    assert outcome(name, [same], [same], truth) == PairedTest(0.0, (0.0, 0.0), 1.0)


@pytest.mark.parametrize("name", TRANSLATED)
def test_a_system_that_is_better_everywhere_is_not_so_by_chance(name: str) -> None:
    truth = references()
    result = outcome(name, [damaged(truth, 0.9, 4)], [truth], truth)
    assert result.p_value == 1 / (SAMPLES + 1)
    low, high = result.interval
    assert low <= result.difference <= high
    assert high < 0 if METRICS[name].better == "lower" else low > 0


def test_sums_over_sentences_give_the_scores_of_the_corpus() -> None:
    truth = references()
    hypotheses = damaged(truth, 0.3, 4)
    hypotheses[0] = truth[0]
    whole = evaluate_translations(hypotheses, truth, total_nll=1.0, tokens=1, names=TRANSLATED)
    for name in TRANSLATED:
        metric = counted_metric(name)
        assert metric.score(metric.count(hypotheses, truth).sum(axis=0)) == pytest.approx(whole[name])
        assert metric.signature == whole["signatures"].get(name)


def test_exact_matches_by_hand() -> None:
    metric = counted_metric("exact_match")
    assert metric.count(["a", "b"], ["a", "c"]).tolist() == [[1.0, 1.0], [0.0, 1.0]]
    scores = resampled_scores(metric, [metric.count(["a", "b"], ["a", "c"])], 400)
    values, times = np.unique(scores, return_counts=True)  # of two sentences drawn twice: none, one or both are right
    assert values.tolist() == [0.0, 0.5, 1.0]
    assert times / 400 == pytest.approx([0.25, 0.5, 0.25], abs=0.1)


def test_luck_with_the_seeds_is_luck_too() -> None:
    """Two seeds of which one is good and one is bad: beside a baseline between them nothing is shown, whatever the sentences say."""
    still = np.full((1, SAMPLES), 30.0)
    apart = np.stack([np.full(SAMPLES, 29.0), np.full(SAMPLES, 32.0)])
    close = np.stack([np.full(SAMPLES, 30.4), np.full(SAMPLES, 30.6)])
    unsure = paired_test([30.0], [29.0, 32.0], still, apart)
    sure = paired_test([30.0], [30.4, 30.6], still, close)
    assert unsure.difference == sure.difference == pytest.approx(0.5)
    assert unsure.p_value > 0.1
    assert unsure.interval == (-1.0, 2.0)
    assert sure.p_value == 1 / (SAMPLES + 1)


def test_a_seed_of_its_own_gives_the_same_answer_twice() -> None:
    truth = references()
    runs = [damaged(truth, 0.3, seed) for seed in range(4)]
    assert outcome("bleu", runs[:2], runs[2:], truth) == outcome("bleu", runs[:2], runs[2:], truth)


def test_what_cannot_be_tested() -> None:
    with pytest.raises(DataError, match=r"metric = 'comet': .*bleu, chrf, ter, exact_match"):
        counted_metric("comet")
    with pytest.raises(DataError, match="tokenize = 'moses'"):
        counted_metric("bleu", "moses")


def test_labels_are_counted_as_they_are_evaluated() -> None:
    draw = random.Random(1)
    expected = ["\t".join(draw.choices("abc", k=draw.randint(1, 4))) for _ in range(30)]
    found = ["\t".join(draw.choice((label, "b")) for label in text.split("\t")) for text in expected]
    flat = [[label for text in texts for label in text.split("\t")] for texts in (found, expected)]
    whole = evaluate_labels(*flat, labels="abc")
    for name in ("accuracy", "f1"):
        metric = counted_metric(name)
        assert metric.score(metric.count(found, expected).sum(axis=0)) == pytest.approx(whole[name])
