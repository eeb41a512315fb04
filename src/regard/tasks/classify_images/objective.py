"""The training objective of `classify_images`: labelled pictures, cross-entropy, accuracy and F1."""

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from torch import nn

from regard.bundle.opened import OpenBundle
from regard.bundle.pictures import PictureFormat
from regard.data.batches import Batch
from regard.data.image_examples import ImageExamples
from regard.data.images import PreparedImages
from regard.errors import ConfigError
from regard.metrics.classification import evaluate_labels
from regard.metrics.scores import METRICS
from regard.models.config import VisionConfig
from regard.models.network import ClassifierNetwork
from regard.ops.loss import soft_cross_entropy
from regard.tasks.classify_images.classifier import PictureClassifier
from regard.tasks.classify_images.evaluate import ImageTest, predicted_labels
from regard.tasks.classify_images.settings import ClassifyImagesBundle, ClassifyImagesSettings
from regard.tasks.select import best_value, selecting
from regard.training.events import Sample
from regard.training.loss import TeacherForced, batch_loss
from regard.training.objective import Loss, Measured, StepInfo


class ClassifyImagesObjective:
    """Labelled pictures and their loss."""

    def __init__(
        self, settings: ClassifyImagesSettings, prepared: PreparedImages, base: ClassifyImagesBundle | None = None
    ) -> None:
        """base: the config of the model that is trained further. Its pictures keep their mean and deviation."""
        self.settings, self.prepared = settings, prepared
        height, width, channels = prepared.train.shape
        if isinstance(settings.model, VisionConfig):
            try:
                settings.model.check_size(height, width)
            except ValueError as error:
                raise ConfigError(f"{settings.data.images}: {error}") from None
        form = PictureFormat(
            height=height,
            width=width,
            channels=3 if channels == 3 else 1,
            fit=prepared.fit,
            mean=prepared.mean,
            deviation=prepared.deviation,
        )
        self.bundle = ClassifyImagesBundle(
            model=settings.model,
            labels=prepared.labels,
            label_names=settings.data.label_names or (() if base is None else base.label_names),
            pictures=form if base is None else base.pictures,
        )
        form = self.bundle.pictures
        self.examples = ImageExamples(
            prepared.train, len(prepared.labels), self.bundle.tokens, form.mean, form.deviation, settings.augment
        )

    @property
    def key(self) -> str:
        """The hash of the prepared pictures."""
        return self.prepared.key

    @property
    def codecs(self) -> None:
        """Nothing: the form of the pictures is in the config of the bundle."""
        return

    @property
    def vocabulary(self) -> tuple[int, ...]:
        """Pictures have no vocabulary."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user: on pictures that were resized, and on labels that occur once."""
        height, width, channels = self.prepared.train.shape
        colour = "in colour" if channels == 3 else "grey"
        lines = [f"pictures of {width} x {height}, {colour}: {self.bundle.tokens} tokens each"]
        resized = self.prepared.train.resized
        if count := sum(resized.values()):
            sizes = ", ".join(list(resized)[:3]) + (f" and {len(resized) - 3} other sizes" if len(resized) > 3 else "")
            lines.append(
                f"{count:,} of the {len(self.prepared.train):,} training pictures had another size ({sizes}) and were resized "
                f"(data.height, data.width; data.fit = {self.prepared.fit!r})"
            )
        counts = self.prepared.train.labels
        single = [label for number, label in enumerate(self.prepared.labels) if int((counts == number).sum()) == 1]
        if single:
            shown = ", ".join(map(repr, single[:5])) + (", .." if len(single) > 5 else "")
            lines.append(
                f"only one training picture has the label {shown}: it can hardly be learned, and is not validated"
            )
        return tuple(lines)

    @property
    def left_out(self) -> dict[str, int]:
        return {"held_out": len(self.prepared.valid) if self.prepared.held_out else 0}

    @property
    def test(self) -> ImageTest:
        """The test pictures, or the validation pictures where there are none."""
        test, labels = self.prepared.test, self.prepared.labels
        if test is None:
            return ImageTest.of(self.prepared.valid, labels, "validation")
        return ImageTest.of(test, labels, "test")

    def begin(self, network: nn.Module) -> None:
        """Nothing is initialised from the pictures."""

    def loss(self, network: nn.Module, batch: Batch, step: StepInfo) -> Loss:
        train, device = self.settings.train, batch.target_in.device
        if batch.mixture is None:
            forced = cast(TeacherForced, network)
            total, nll = batch_loss(forced, batch, train.label_smoothing, device, train.consistency)
        else:
            assert isinstance(network, ClassifierNetwork)
            total, nll = soft_cross_entropy(network(batch.source), batch.mixture, train.label_smoothing)
        return Loss(total, {"nll": nll.item()}, batch.tokens)

    def validate(self, network: nn.Module) -> Measured:
        assert isinstance(network, ClassifierNetwork)
        train, labels = self.settings.train, self.prepared.labels
        served = PictureClassifier(network, self.bundle.pictures, labels, tokens=self.bundle.tokens)
        test = ImageTest.of(self.prepared.valid, labels)
        probabilities = served.probabilities(test.pictures(served), len(test.expected))
        with np.errstate(divide="ignore"):
            loss = -float(np.log(probabilities[np.arange(len(probabilities)), self.prepared.valid.labels]).mean())
        if not math.isfinite(loss):
            return Measured(loss, -math.inf, {}, ())
        predicted = predicted_labels(probabilities, labels)
        every = evaluate_labels(predicted, test.expected, labels)
        scores = {name: value for name, value in every.items() if name in METRICS}
        samples = tuple(
            Sample(test.called(number), test.expected[number], predicted[number])
            for number in range(min(train.samples, len(predicted)))
        )
        value = best_value(train.select, "accuracy", loss, scores)
        return Measured(loss, value, scores, samples, selecting(train.select, "accuracy"))


def refuse_other_labels(labels: Sequence[str], base: OpenBundle) -> None:
    """Refuse labels that differ from those of the model that is trained further: it has one output for each label."""
    if tuple(labels) != base.config.labels:
        raise ConfigError(
            f"{base.directory}: tells {', '.join(base.config.labels)} apart, and the pictures have the labels "
            f"{', '.join(labels)}; give pictures of the same labels, all of them"
        )
