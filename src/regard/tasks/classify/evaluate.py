"""Evaluates classifiers and taggers, for the end of training, `regard evaluate` and the report."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from regard.data.labelled import LabelledCorpus, read_labelled, read_tagged, unknown_label
from regard.errors import DataError
from regard.metrics.classification import evaluate_labels
from regard.metrics.systems import bootstrap_record, score_systems
from regard.tasks.classify.classifier import Classifier
from regard.tasks.classify.tagger import Tagger
from regard.training.objective import Evaluation


@dataclass(frozen=True)
class ClassifyTest:
    """A test set: texts as ids without end marks, and the expected labels, one for a text or one for each word."""

    rows: Sequence[list[int]]
    expected: Sequence[list[str]]
    name: str | None = None
    """The set of the run that it is: test or validation."""
    resamples: int = 0
    """The number of resampled test sets for confidence intervals."""

    @staticmethod
    def of(corpus: LabelledCorpus, labels: Sequence[str], name: str | None = None) -> "ClassifyTest":
        """All texts of a corpus."""
        every = np.arange(len(corpus))
        rows = [ids.tolist() for ids in corpus.texts(every).rows()]
        if corpus.tagged:
            none = len(labels)
            numbers = [[label for label in tags.tolist() if label != none] for tags in corpus.tags(every).rows()]
        else:
            numbers = [[label] for label in corpus.labels.tolist()]
        return ClassifyTest(rows, [[labels[label] for label in text] for text in numbers], name)


@dataclass(frozen=True)
class Prediction:
    """A text with its expected and predicted labels, and the probabilities of the latter."""

    text: str
    expected: list[str]
    predicted: list[str]
    probabilities: list[float]
    tagged: bool

    def row(self) -> dict[str, Any]:
        """A line of predictions.jsonl."""
        if self.tagged:
            return {
                "text": self.text,
                "expected": self.expected,
                "found": self.predicted,
                "probabilities": self.probabilities,
            }
        [expected], [predicted], [probability] = self.expected, self.predicted, self.probabilities
        return {"text": self.text, "expected": expected, "found": predicted, "probability": probability}


def predictions(served: Classifier | Tagger, test: ClassifyTest) -> list[Prediction]:
    """The most probable labels of every text."""
    if isinstance(served, Tagger):
        distributions = served.probabilities(test.rows)
    else:
        rows = [ids[: served.max_tokens] for ids in test.rows]
        distributions = [[values] for values in served.probabilities(rows)]
    results = []
    for ids, expected, probabilities in zip(test.rows, test.expected, distributions, strict=True):
        best = [max(range(len(values)), key=values.__getitem__) for values in probabilities]
        results.append(
            Prediction(
                served.tokenizer.decode(ids),
                expected,
                [served.labels[place] for place in best],
                [values[place] for values, place in zip(probabilities, best, strict=True)],
                tagged=isinstance(served, Tagger),
            )
        )
    return results


def label_scores(test_predictions: Sequence[Prediction], labels: Sequence[str]) -> dict[str, Any]:
    """Accuracy, F1 and the confusion matrix of predictions."""
    predicted = list(chain.from_iterable(prediction.predicted for prediction in test_predictions))
    expected = list(chain.from_iterable(prediction.expected for prediction in test_predictions))
    return evaluate_labels(predicted, expected, labels)


def evaluate_classifier(served: Classifier | Tagger, test: ClassifyTest) -> Evaluation:
    """Predict and score the labels of the test set."""
    began = time.perf_counter()
    test_predictions = predictions(served, test)
    seconds = time.perf_counter() - began
    metrics = label_scores(test_predictions, served.labels)
    metrics |= {"labels": list(served.labels), "decoding_seconds": seconds, "texts": len(test.rows), "set": test.name}
    if test.resamples:
        found, expected = (
            ["\t".join(labels) for labels in texts]
            for texts in ([prediction.predicted for prediction in test_predictions], test.expected)
        )
        [scores] = score_systems([found], [expected], ("accuracy", "f1"), resamples=test.resamples)
        metrics |= {
            "scores": {name: score.record() for name, score in scores.items()},
            "bootstrap": bootstrap_record(test.resamples),
        }
    return Evaluation(metrics, [prediction.row() for prediction in test_predictions])


def test_from_flags(served: Classifier | Tagger, flags: Mapping[str, Any]) -> ClassifyTest:
    """The test set of `regard evaluate --data F`."""
    data = flags["data"]
    tagged = isinstance(served, Tagger)
    rows = list(read_tagged(data, served.tokenizer.normalise) if tagged else read_labelled(data))
    strange = unknown_label(rows, served.labels)
    if not rows or strange is not None:
        what = ": no labelled texts in it" if strange is None else f":{strange[0]}: no such label as {strange[1]!r}"
        raise DataError(f"{data}{what}; the labels are {', '.join(served.labels)}")
    texts, labels = [row.text for row in rows], [list(row.labels) for row in rows]
    return ClassifyTest(served.tokenizer.encode_batch(texts), labels, resamples=flags["resamples"])
