"""Corpus metrics as sums over sentences, so that any resampled test set can be scored without counting again.

The paired bootstrap needs this. sacrebleu and numpy are imported where they are used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from regard.metrics.translation import sacrebleu_bleu

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SentenceCounts: TypeAlias = "NDArray[np.float64]"
"""[sentences, counts]: the summands of each sentence, or [counts]: their sums."""

SentenceScores = Callable[..., Sequence[float]]
"""Hypotheses and references, and the sources where a metric reads them -> one score a sentence."""


@dataclass(frozen=True)
class MatchOptions:
    """How hypotheses are compared with references."""

    tokenize: str = "13a"
    """BLEU's tokenizer, one of `TOKENIZERS`."""
    lowercase: bool = False
    references: int = 1
    """The number of references of each sentence; `VARYING`: not the same for all."""


VARYING = -1  # sacrebleu's number, which its signature shows as nrefs:var


@dataclass(frozen=True)
class CountedMetric:
    """A corpus metric that depends only on sums over the sentences."""

    name: str
    count: Callable[..., SentenceCounts]
    """Hypotheses and references -> the summands of each sentence. Several lists of references are several arguments, with None where a
    sentence has no such reference; metrics of labels take one list."""
    score: Callable[[SentenceCounts], float]
    """Sums [counts] -> the score, in the scale of `evaluate_translations`."""
    signature: str | None = None

    def of_corpus(self, hypotheses: Sequence[str], references: Sequence[str]) -> float:
        """The score of all sentences."""
        return self.score(self.count(hypotheses, references).sum(axis=0))


def mean_of_sentences(
    name: str,
    sentence_scores: SentenceScores,
    sources: Sequence[str] | None = None,
    *,
    lower_is_better: bool = False,
) -> CountedMetric:
    """A metric that is the mean of the sentence scores. Of several references, the best one of each sentence counts.

    `sources`: of the sentences that it will count, if it reads them.
    """

    def count(hypotheses: Sequence[str], *references: Sequence[str | None]) -> SentenceCounts:
        import numpy as np

        scores = np.full((len(references), len(hypotheses)), np.inf if lower_is_better else -np.inf)
        for row, lines in zip(scores, references, strict=True):
            present = [number for number, line in enumerate(lines) if line is not None]
            columns = [hypotheses, lines, *([] if sources is None else [sources])]
            row[present] = sentence_scores(*([column[number] for number in present] for column in columns))
        best = scores.min(axis=0) if lower_is_better else scores.max(axis=0)
        return np.stack([best, np.ones(len(hypotheses))], axis=1)

    return CountedMetric(name, count, _ratio)


def counted_bleu(options: MatchOptions) -> CountedMetric:
    """BLEU."""
    return _counted_by_sacrebleu("bleu", sacrebleu_bleu(options.tokenize, options.lowercase), options)


def counted_chrf(options: MatchOptions) -> CountedMetric:
    """chrF2."""
    from sacrebleu.metrics.chrf import CHRF

    return _counted_by_sacrebleu("chrf", CHRF(lowercase=options.lowercase), options)


def counted_ter(options: MatchOptions) -> CountedMetric:
    """Translation edit rate, case-insensitive as usual."""
    from sacrebleu.metrics.ter import TER

    return _counted_by_sacrebleu("ter", TER(), options)


def counted_cider(_options: MatchOptions) -> CountedMetric:
    """CIDEr-D, the mean over the pictures. The weights of words are those of all references, in every resampled test set."""
    from regard.metrics.cider import cider

    def count(hypotheses: Sequence[str], *references: Sequence[str | None]) -> SentenceCounts:
        import numpy as np

        return np.stack([cider(hypotheses, references), np.ones(len(hypotheses))], axis=1)

    return CountedMetric("cider", count, _ratio)


def counted_accuracy(_options: MatchOptions) -> CountedMetric:
    """The share of correct labels. A text has one label, or several separated by tabs."""
    return CountedMetric("accuracy", _count_correct_labels, _ratio)


def counted_f1(_options: MatchOptions) -> CountedMetric:
    """The mean of the labels' F1. A text has one label, or several separated by tabs."""
    return CountedMetric("f1", _count_labels, _mean_f1)


def equal_sentences(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """1 for each hypothesis that equals its reference, else 0."""
    return [float(hypothesis == reference) for hypothesis, reference in zip(hypotheses, references, strict=True)]


def _counted_by_sacrebleu(name: str, metric: Any, options: MatchOptions) -> CountedMetric:
    metric.num_refs = options.references  # part of sacrebleu's signature, which it otherwise sets when scoring

    def count(hypotheses: Sequence[str], *references: Sequence[str | None]) -> SentenceCounts:
        import numpy as np

        return np.array(metric._extract_corpus_statistics(hypotheses, references), dtype=np.float64)

    def score(sums: SentenceCounts) -> float:
        return float(metric._compute_score_from_stats(sums.tolist()).score)

    return CountedMetric(name, count, score, str(metric.get_signature()))


def _ratio(sums: SentenceCounts) -> float:
    return float(sums[0] / sums[1])


def _count_correct_labels(predicted: Sequence[str], expected: Sequence[str]) -> SentenceCounts:
    """[texts, 2]: the number of correct labels, and of all labels."""
    import numpy as np

    rows = []
    for predicted_text, expected_text in zip(predicted, expected, strict=True):
        labels = list(zip(predicted_text.split("\t"), expected_text.split("\t"), strict=True))
        rows.append((float(sum(label == right for label, right in labels)), float(len(labels))))
    return np.array(rows)


def _count_labels(predicted: Sequence[str], expected: Sequence[str]) -> SentenceCounts:
    """[texts, 3 x labels]: how often each expected label is correctly predicted, expected, and predicted.

    The columns are those of the expected labels, so all runs have the same.
    """
    import numpy as np

    names = sorted({label for text in expected for label in text.split("\t")})
    columns = {label: column for column, label in enumerate(names)}
    counts = np.zeros((len(expected), 3, len(columns)))
    for row, predicted_text, expected_text in zip(counts, predicted, expected, strict=True):
        for label, right in zip(predicted_text.split("\t"), expected_text.split("\t"), strict=True):
            row[0, columns[right]] += label == right
            row[1, columns[right]] += 1
            if label in columns:
                row[2, columns[label]] += 1
    return counts.reshape(len(expected), -1)


def _mean_f1(sums: SentenceCounts) -> float:
    """The mean of the labels' F1, 2 correct / (expected + predicted), over labels that are expected or predicted."""
    import numpy as np

    correct, expected, predicted = sums.reshape(3, -1)
    occurring = expected + predicted > 0
    return float(np.mean(2 * correct[occurring] / (expected + predicted)[occurring]))
