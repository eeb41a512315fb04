"""Whether one system is better than another or only luckier with the test set: metrics as sums over sentences, and the paired bootstrap.

Koehn (2004): draw test sets from the test set, with replacement, and see how the difference of two systems varies. A system may be several
runs that differ in their seed. It reads no files and knows no model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.metrics.translation import sacrebleu_bleu

COUNTED = ("bleu", "chrf", "ter", "exact_match", "accuracy", "f1")
RESAMPLES, SEED = 1000, 12345  # what sacrebleu takes where nothing is said

Counts = NDArray[np.float64]
"""[sentences, counts]: what each sentence adds to the sums that a metric is computed from."""


@dataclass(frozen=True)
class CountedMetric:
    """A metric of a corpus that depends on sums over its sentences alone, so that any part of the corpus can be scored at once."""

    name: str
    count: Callable[[Sequence[str], Sequence[str]], Counts]
    """Of hypotheses and their references."""
    score: Callable[[Counts], float]
    """Of the sums [counts]; in the scale of `evaluate_translations`."""
    signature: str | None


@dataclass(frozen=True)
class PairedTest:
    """A system beside its baseline."""

    difference: float
    """The system's score, the mean of its runs, minus the baseline's."""
    interval: tuple[float, float]
    """Where 95 % of the resampled differences lie."""
    p_value: float


def counted_metric(name: str, tokenize: str = "13a") -> CountedMetric:
    """One of `COUNTED`; `tokenize` is how BLEU splits words. Accuracy and F1 are of labels, of a text one or several with tabs between."""
    if name not in COUNTED:
        raise DataError(f"metric = {name!r}: cannot be tested; choose one of {', '.join(COUNTED)}")
    if name == "exact_match":
        return CountedMetric(name, _count_equal, lambda sums: float(sums[0] / sums[1]), None)
    if name == "accuracy":
        return CountedMetric(name, _count_right, lambda sums: float(sums[0] / sums[1]), None)
    if name == "f1":
        return CountedMetric(name, _count_labels, _mean_f1, None)
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    made: dict[str, Callable[[], Any]] = {"bleu": lambda: sacrebleu_bleu(tokenize), "chrf": CHRF, "ter": TER}
    metric = made[name]()
    metric.num_refs = 1  # which sacrebleu learns from the references, and tells in the signature

    def count(hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
        return np.array(metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.float64)

    def score(sums: Counts) -> float:
        return float(metric._compute_score_from_stats(sums.tolist()).score)

    return CountedMetric(name, count, score, str(metric.get_signature()))


def resampled_scores(
    metric: CountedMetric, runs: Sequence[Counts], resamples: int = RESAMPLES, seed: int = SEED
) -> NDArray[np.float64]:
    """[runs, resamples]: the score of every run on every resampled test set, which is the same one for all runs."""
    sentences = len(runs[0])
    together = np.concatenate(runs, axis=1)  # [sentences, runs x counts]
    generator = np.random.default_rng(seed)
    scores = np.empty((len(runs), resamples))
    for resample in range(resamples):
        times = np.bincount(generator.choice(sentences, sentences), minlength=sentences).astype(np.float64)
        sums = (times @ together).reshape(len(runs), -1)
        scores[:, resample] = [metric.score(one) for one in sums]
    return scores


def paired_test(
    baseline: Sequence[float],
    system: Sequence[float],
    resampled_baseline: NDArray[np.float64],
    resampled_system: NDArray[np.float64],
    seed: int = SEED,
) -> PairedTest:
    """The scores of the runs of two systems, and the same on resampled test sets [runs, resamples].

    A system's score is the mean of its runs. Where it has several, each resample draws as many of them, with replacement, so that luck with
    the seeds counts as luck too. With n runs that spread is estimated from n numbers: with two or three it is taken for too small.

    p is sacrebleu's, and that of Moses before it: with d the difference and d* the resampled ones, how often |d*| - mean |d*| reaches |d|,
    so how often a difference as large would come about by chance. Unlike there, reaching it exactly counts, so that equal systems have
    p = 1. Where d is clear this is one-sided; the interval is two-sided.
    """
    difference = float(np.mean(system) - np.mean(baseline))
    generator = np.random.default_rng([seed, 1])
    sampled = _mean_of_drawn(resampled_system, generator) - _mean_of_drawn(resampled_baseline, generator)
    deviations = np.abs(sampled) - np.abs(sampled).mean()
    as_large = int(np.sum(deviations >= abs(difference)))
    low, high = np.quantile(sampled, [0.025, 0.975])
    return PairedTest(difference, (float(low), float(high)), (as_large + 1) / (len(sampled) + 1))


def _mean_of_drawn(scores: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """[resamples]: the mean of as many runs as there are, drawn anew for each resample."""
    runs, resamples = scores.shape
    drawn = generator.integers(runs, size=(runs, resamples))
    means: NDArray[np.float64] = np.take_along_axis(scores, drawn, axis=0).mean(axis=0)
    return means


def _count_equal(hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    equal = [hypothesis == reference for hypothesis, reference in zip(hypotheses, references, strict=True)]
    return np.array([(float(one), 1.0) for one in equal])


def _count_right(found: Sequence[str], expected: Sequence[str]) -> Counts:
    """[texts, 2]: how many labels are right, and how many there are."""
    pairs = [
        list(zip(said.split("\t"), right.split("\t"), strict=True)) for said, right in zip(found, expected, strict=True)
    ]
    return np.array([(float(sum(said == right for said, right in text)), float(len(text))) for text in pairs])


def _count_labels(found: Sequence[str], expected: Sequence[str]) -> Counts:
    """[texts, 3 x labels]: of each expected label how often it was rightly found, expected, and found; the same for all runs."""
    labels = {
        label: place for place, label in enumerate(sorted({one for text in expected for one in text.split("\t")}))
    }
    counts = np.zeros((len(expected), 3, len(labels)))
    for row, said_of_text, right_of_text in zip(counts, found, expected, strict=True):
        for said, right in zip(said_of_text.split("\t"), right_of_text.split("\t"), strict=True):
            row[0, labels[right]] += said == right
            row[1, labels[right]] += 1
            if said in labels:
                row[2, labels[said]] += 1
    return counts.reshape(len(expected), -1)


def _mean_f1(sums: Counts) -> float:
    """The mean of the labels' F1, 2 right / (expected + found), of those that occur or were found."""
    right, expected, found = sums.reshape(3, -1)
    there = expected + found > 0
    return float(np.mean(2 * right[there] / (expected + found)[there]))
