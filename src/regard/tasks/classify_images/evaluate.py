"""Evaluates classifiers of pictures, for validation, the end of training, `regard evaluate` and the report."""

import base64
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.images import ImageCorpus, named_labels
from regard.data.picture_sources import PictureSource, open_pictures
from regard.data.pictures import Picture, encoded_png
from regard.errors import DataError
from regard.metrics.classification import evaluate_labels
from regard.metrics.systems import bootstrap_record, score_systems
from regard.tasks.classify_images.classifier import PictureClassifier
from regard.training.objective import Evaluation

WORST = 24
"""Wrong pictures that the results keep with their pixels, for the report."""
MOST_CELLS = 400
"""Cells of the confusion matrix that the results keep a picture of."""


@dataclass(frozen=True)
class ImageTest:
    """A test set: pictures that are read one by one, and the expected labels."""

    source: ImageCorpus | PictureSource
    expected: Sequence[str]
    name: str | None = None
    """The set of the run that it is: test or validation."""
    resamples: int = 0
    """The number of resampled test sets for confidence intervals."""

    @staticmethod
    def of(corpus: ImageCorpus, labels: Sequence[str], name: str | None = None) -> "ImageTest":
        """All pictures of a corpus."""
        return ImageTest(corpus, [labels[number] for number in corpus.labels.tolist()], name)

    def picture(self, number: int, served: PictureClassifier) -> Picture:
        """Picture n, in the form that the network reads."""
        if isinstance(self.source, ImageCorpus):
            picture: Picture = self.source.pictures(np.array([number]))[0]
            return picture
        return served.fit(self.source.read(number))

    def pictures(self, served: PictureClassifier) -> Iterator[Picture]:
        """All pictures, in the form that the network reads."""
        return (self.picture(number, served) for number in range(len(self.expected)))

    def called(self, number: int) -> str:
        """The name of picture n."""
        source = self.source
        return source.names[number] if isinstance(source, ImageCorpus) else source.called(number)


def predicted_labels(probabilities: NDArray[np.float64], labels: Sequence[str]) -> list[str]:
    """The most probable label of each row."""
    return [labels[place] for place in probabilities.argmax(axis=1).tolist()]


def evaluate_pictures(served: PictureClassifier, test: ImageTest) -> Evaluation:
    """Predict and score the labels of the test set."""
    began = time.perf_counter()
    probabilities = served.probabilities(test.pictures(served), len(test.expected))
    seconds = time.perf_counter() - began
    predicted = predicted_labels(probabilities, served.labels)
    metrics = evaluate_labels(predicted, test.expected, served.labels)
    metrics |= {
        "labels": list(served.labels),
        "decoding_seconds": seconds,
        "pictures": len(predicted),
        "set": test.name,
    }
    if test.resamples:
        [scores] = score_systems([predicted], [test.expected], ("accuracy", "f1"), resamples=test.resamples)
        metrics |= {
            "scores": {name: score.record() for name, score in scores.items()},
            "bootstrap": bootstrap_record(test.resamples),
        }
    return Evaluation(metrics, _rows(served, test, probabilities, predicted))


def _rows(
    served: PictureClassifier, test: ImageTest, probabilities: NDArray[np.float64], predicted: Sequence[str]
) -> list[dict[str, Any]]:
    """The lines of predictions.jsonl. Those that the report shows have their picture as PNG."""
    place = {label: number for number, label in enumerate(served.labels)}
    truth = probabilities[np.arange(len(predicted)), [place[label] for label in test.expected]]
    wrong = [n for n in np.argsort(truth, kind="stable").tolist() if predicted[n] != test.expected[n]]
    cells: dict[tuple[str, str], int] = {}
    for number in np.argsort(-probabilities.max(axis=1), kind="stable").tolist():  # the most certain of each cell
        cells.setdefault((test.expected[number], predicted[number]), number)
    kept = {*wrong[:WORST], *list(cells.values())[:MOST_CELLS]}
    rows = []
    for number, (expected, found) in enumerate(zip(test.expected, predicted, strict=True)):
        row: dict[str, Any] = {
            "picture": test.called(number),
            "expected": expected,
            "found": found,
            "probability": float(probabilities[number].max()),
            "probability_of_expected": float(truth[number]),
        }
        if number in kept:
            row["png"] = base64.b64encode(encoded_png(test.picture(number, served))).decode("ascii")
        rows.append(row)
    return rows


def test_from_flags(served: PictureClassifier, flags: Mapping[str, Any]) -> ImageTest:
    """The test set of `regard evaluate --images F`."""
    source = open_pictures(flags["images"], "test")
    expected, known = source.labels, set(served.labels)
    if expected and all(label.isdecimal() for label in expected):
        names = () if served.bundle is None else served.bundle.config.label_names
        if not names and not any(label.isdecimal() for label in known):
            raise DataError(
                f"{source.name}: label {expected[0]!r} is a number, and the model does not know which of {', '.join(served.labels)} "
                "it means; give names for labels (label_names in an .npz file), or train with data.label_names"
            )
        expected = named_labels(expected, names, source.name)
    strange = next((number for number, label in enumerate(expected) if label not in known), None)
    if strange is not None:
        raise DataError(
            f"{source.called(strange)}: no such label as {expected[strange]!r}; the labels are {', '.join(served.labels)}"
        )
    return ImageTest(source, expected, resamples=flags["resamples"])
