"""The paired bootstrap (Koehn 2004): is the difference of two systems significant?

It resamples the test set with replacement and looks at how the difference varies. A system may be several runs with different seeds. It
reads no files and knows no model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.activity import activity
from regard.errors import DataError
from regard.metrics.counting import CountedMetric, SentenceCounts
from regard.metrics.scores import METRICS, counted_names

RESAMPLES, SEED = 1000, 12345  # sacrebleu's defaults


@dataclass(frozen=True)
class PairedTest:
    """The result of comparing a system with its baseline."""

    difference: float
    """The system's score, the mean of its runs, minus the baseline's."""
    interval: tuple[float, float]
    """The 95 % confidence interval of the difference."""
    p_value: float

    def record(self) -> dict[str, Any]:
        """The result as the JSON of `regard compare` and `regard evaluate` has it."""
        return {"difference": self.difference, "interval": list(self.interval), "p_value": self.p_value}


def counted_metric(name: str, tokenize: str = "13a", sources: Sequence[str] | None = None) -> CountedMetric:
    """The metric of this name as sums over sentences; `tokenize` is BLEU's tokenizer, `sources` for a metric that reads them."""
    if name not in counted_names():
        raise DataError(f"metric = {name!r}: cannot be tested; choose one of {', '.join(counted_names())}")
    return METRICS[name].count_by(tokenize, sources=sources)


def resampled_scores(
    metric: CountedMetric,
    runs: Sequence[SentenceCounts],
    resamples: int = RESAMPLES,
    seed: int = SEED,
    groups: Sequence[str] = (),
) -> NDArray[np.float64]:
    """[runs, resamples]: the score of every run on every resampled test set. All runs share the resampled test sets.

    groups: the group of each sentence, such as its direction. Every resampled test set has as many sentences of each group as the
    test set, so that no group is missing from a mean over groups.
    """
    sentences = len(runs[0])
    together = np.concatenate(runs, axis=1)  # [sentences, runs x counts]
    generator = np.random.default_rng(seed)
    scores = np.empty((len(runs), resamples))
    places = [np.flatnonzero(np.array(groups) == group) for group in dict.fromkeys(groups)]
    with activity("paired bootstrap", resamples, "test sets") as progress:
        for resample in range(resamples):
            drawn = (
                np.concatenate([generator.choice(own, len(own)) for own in places])
                if places
                else generator.choice(sentences, sentences)
            )
            times = np.bincount(drawn, minlength=sentences).astype(np.float64)
            sums = (times @ together).reshape(len(runs), -1)
            scores[:, resample] = [metric.score(run_sums) for run_sums in sums]
            progress.advance()
    return scores


def confidence_interval(resampled: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % confidence interval of a score, given its values on resampled test sets: sacrebleu's bounds."""
    ordered = np.sort(resampled)
    cut = len(ordered) // 40
    return float(ordered[cut]), float(ordered[len(ordered) - cut - 1])


def paired_test(
    baseline: Sequence[float],
    system: Sequence[float],
    resampled_baseline: NDArray[np.float64],
    resampled_system: NDArray[np.float64],
    seed: int = SEED,
) -> PairedTest:
    """Compare the scores of two systems' runs, given also their scores on resampled test sets [runs, resamples].

    A system's score is the mean of its runs. If it has several, each resample also draws the runs with replacement, so that the variance
    of the seeds counts. With only two or three runs this variance is underestimated.

    p is sacrebleu's (and Moses's): with d the difference and d* the resampled ones, the share of |d*| - mean |d*| >= |d|. sacrebleu has >
    in place of >=; with >= equal systems have p = 1. p is one-sided where d is clear; the interval is two-sided.
    """
    difference = float(np.mean(system) - np.mean(baseline))
    generator = np.random.default_rng([seed, 1])
    sampled = _mean_of_drawn(resampled_system, generator) - _mean_of_drawn(resampled_baseline, generator)
    deviations = np.abs(sampled) - np.abs(sampled).mean()
    as_large = int(np.sum(deviations >= abs(difference)))
    low, high = np.quantile(sampled, [0.025, 0.975])
    return PairedTest(difference, (float(low), float(high)), (as_large + 1) / (len(sampled) + 1))


def _mean_of_drawn(scores: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """[resamples]: the mean score of runs drawn with replacement, for each resample."""
    runs, resamples = scores.shape
    drawn = generator.integers(runs, size=(runs, resamples))
    means: NDArray[np.float64] = np.take_along_axis(scores, drawn, axis=0).mean(axis=0)
    return means
