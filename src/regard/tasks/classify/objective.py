"""The training objective of `classify`: labelled texts or words, cross-entropy, accuracy and F1."""

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import nn

from regard.bundle.config import Languages, vocabulary_sizes
from regard.bundle.opened import OpenBundle
from regard.data.batches import Batch
from regard.data.examples import LabelledExamples
from regard.data.labelled import LabelledCorpus, PreparedLabelled
from regard.errors import ConfigError
from regard.metrics.scores import METRICS
from regard.models.classifiers import Bag
from regard.models.config import BagConfig
from regard.models.network import ClassifierNetwork
from regard.tasks.classify.classifier import Classifier
from regard.tasks.classify.evaluate import ClassifyTest, label_scores, predictions
from regard.tasks.classify.settings import ClassifyBundle, ClassifySettings
from regard.tasks.classify.tagger import Tagger
from regard.tasks.select import best_value, selecting
from regard.tasks.text_objective import TextObjective
from regard.training.events import Sample
from regard.training.loss import TeacherForced, batch_loss, corpus_loss
from regard.training.objective import Loss, Measured, StepInfo


class ClassifyObjective(TextObjective):
    """Labelled texts and their loss."""

    def __init__(
        self, settings: ClassifySettings, prepared: PreparedLabelled, base: ClassifyBundle | None = None
    ) -> None:
        super().__init__(prepared)
        self.settings, self.prepared = settings, prepared
        self.examples = self.labelled(prepared.train)
        self._valid = self.labelled(prepared.valid)
        own = ClassifyBundle(
            model=settings.model,
            languages=Languages(source=prepared.language),
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            labels=prepared.labels,
            labels_of=settings.data.labels_of,
            longest=int(prepared.train.lengths.max()),
        )
        self.bundle = own if base is None else own.inherited(base)

    def labelled(self, corpus: LabelledCorpus) -> LabelledExamples:
        """The examples of labelled texts."""
        vocabulary = self.codecs.source.vocabulary
        return LabelledExamples(corpus, vocabulary.pad, vocabulary.EOS, len(self.prepared.labels))

    @property
    def left_out(self) -> dict[str, int]:
        train = self.prepared.train
        held_out = len(self.prepared.valid) if self.prepared.held_out else 0
        return {"too_long": train.too_long, "empty": train.empty, "held_out": held_out}

    @property
    def test(self) -> ClassifyTest:
        """The test texts, or the validation texts where there are none."""
        test, labels = self.prepared.test, self.prepared.labels
        if test is None:
            return ClassifyTest.of(self.prepared.valid, labels, "validation")
        return ClassifyTest.of(test, labels, "test")

    def begin(self, network: nn.Module) -> None:
        """Initialise the features of a bag of words, and their weights, from the training texts."""
        if isinstance(network, Bag):
            every = np.arange(len(self.prepared.train))
            texts = [torch.from_numpy(ids.astype(np.int64)) for ids in self.prepared.train.texts(every).rows()]
            network.learn_features(texts, self.prepared.train.labels.tolist())

    def loss(self, network: nn.Module, batch: Batch, step: StepInfo) -> Loss:
        train, device = self.settings.train, batch.target_in.device
        forced = cast(TeacherForced, network)
        total, nll = batch_loss(forced, batch, train.label_smoothing, device, train.consistency)
        return Loss(total, {"nll": nll.item()}, batch.tokens)

    def validate(self, network: nn.Module) -> Measured:
        assert isinstance(network, ClassifierNetwork)
        loss = corpus_loss(network, self._valid, next(network.parameters()).device)
        if not math.isfinite(loss):
            return Measured(loss, -math.inf, {}, ())
        served = (Tagger if network.tagging else Classifier)(
            network, self.codecs.source, self.prepared.labels, reach=self.bundle.reach, longest=self.bundle.longest
        )
        train = self.settings.train
        valid_predictions = predictions(served, ClassifyTest.of(self.prepared.valid, self.prepared.labels))
        every = label_scores(valid_predictions, self.prepared.labels)
        scores = {name: value for name, value in every.items() if name in METRICS}
        samples = tuple(
            Sample(prediction.text, " ".join(prediction.expected), " ".join(prediction.predicted))
            for prediction in valid_predictions[: train.samples]
        )
        value = best_value(train.select, "accuracy", loss, scores)
        return Measured(loss, value, scores, samples, selecting(train.select, "accuracy"))


def refuse_other_labels(labels: Sequence[str], base: OpenBundle) -> None:
    """Refuse other labels than those of a base that is a bag of words, which has nothing but a weight for each word and label."""
    if isinstance(base.config.model, BagConfig) and tuple(labels) != base.config.labels:
        raise ConfigError(
            f"{base.directory}: tells {', '.join(base.config.labels)} apart, and the texts have the labels {', '.join(labels)}; "
            "give texts of the same labels, all of them"
        )


def refuse_other_replay(name: str, old: Sequence[str], labels: Sequence[str]) -> None:
    """Refuse texts to replay whose labels are not those of the run. name: of their file."""
    if tuple(old) != tuple(labels):
        raise ConfigError(
            f"data.replay.labelled = {name!r}: has the labels {', '.join(old)}, and the texts of the run have {', '.join(labels)}; "
            "replay texts of the same labels, all of them"
        )
