"""The mean of a metric over groups is that of each group by itself, also of a resampled test set."""

import numpy as np
import pytest

from regard.metrics.counting import MatchOptions, counted_bleu
from regard.metrics.groups import mean_of_groups
from regard.metrics.significance import counted_metric, resampled_scores

HYPOTHESES = ["the cat sat on the mat", "a dog runs in the park", "the cat sat on a mat", "two men walk down a street"]
REFERENCES = [
    "the cat sat on the mat",
    "the dog runs in a park",
    "the cat lay on the mat",
    "two men walk down the street",
]
GROUPS = ["en-de", "de-en", "en-de", "de-en"]


def test_the_mean_of_groups_is_that_of_each_by_itself() -> None:
    bleu = counted_bleu(MatchOptions())
    metric = mean_of_groups(bleu, GROUPS)
    parts = [[place for place, own in enumerate(GROUPS) if own == group] for group in ("en-de", "de-en")]
    each = [bleu.of_corpus([HYPOTHESES[n] for n in part], [REFERENCES[n] for n in part]) for part in parts]
    assert each[0] != pytest.approx(each[1])
    assert metric.of_corpus(HYPOTHESES, REFERENCES) == pytest.approx(sum(each) / 2)
    assert metric.of_corpus(HYPOTHESES, REFERENCES) != pytest.approx(bleu.of_corpus(HYPOTHESES, REFERENCES))
    times = np.array([2.0, 0.0, 1.0, 0.0])  # a resample that has no sentence of the second group
    drawn = [HYPOTHESES[0], HYPOTHESES[0], HYPOTHESES[2]], [REFERENCES[0], REFERENCES[0], REFERENCES[2]]
    assert metric.score(times @ metric.count(HYPOTHESES, REFERENCES)) == pytest.approx(bleu.of_corpus(*drawn))


def test_a_resample_has_sentences_of_every_group() -> None:
    """Of one right sentence of the first group and five wrong ones of the second, every resample has the mean 1/2."""
    metric = mean_of_groups(counted_metric("exact_match"), ["a", *"bbbbb"])
    counts = metric.count(["x"] * 6, ["x", *"yyyyy"])
    within = resampled_scores(metric, [counts], 50, groups=["a", *"bbbbb"])
    assert within.tolist() == [[0.5] * 50]
    assert {*resampled_scores(metric, [counts], 50)[0].tolist()} == {0.0, 0.5}


def test_groups_are_drawn_from_themselves_with_replacement() -> None:
    groups = [*"aabb"]
    metric = mean_of_groups(counted_metric("exact_match"), groups)
    counts = metric.count([*"xxxx"], [*"xyxy"])
    found = resampled_scores(metric, [counts], 200, groups=groups)[0]
    assert {*found.tolist()} == {0.0, 0.25, 0.5, 0.75, 1.0}
    assert found.mean() == pytest.approx(0.5, abs=0.1)
