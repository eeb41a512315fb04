"""Classifying texts, as a run's objective: one label a text, accuracy and F1."""

import time
from pathlib import Path

import numpy as np
import torch

from regard.bundle.config import BundleConfig, Languages
from regard.data.examples import Texts
from regard.data.labelled import LabelledCorpus, PreparedLabelled
from regard.engine.labeller import Labeller
from regard.engine.load import load_labeller
from regard.metrics.classification import evaluate_labels
from regard.models.classifiers import Bag
from regard.models.network import Classifier, Learner
from regard.text.build import TokenizerPair
from regard.train.config import RunConfig
from regard.train.events import Sample
from regard.train.objective import Final, Measured
from regard.train.translating import vocabulary_sizes
from regard.train.validate import corpus_loss


class Classifying:
    """An objective."""

    def __init__(self, config: RunConfig, prepared: PreparedLabelled) -> None:
        self.config, self.prepared = config, prepared
        vocabulary, labels = prepared.tokenizers.source.vocabulary, len(prepared.labels)
        self.examples = Texts(prepared.train, vocabulary.pad, vocabulary.EOS, labels)
        self._valid = Texts(prepared.valid, vocabulary.pad, vocabulary.EOS, labels)
        self.bundle = BundleConfig(
            task="classify",
            model=config.model,
            languages=Languages(source=prepared.language),
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            labels=prepared.labels,
        )

    @property
    def key(self) -> str:
        return self.prepared.key

    @property
    def tokenizers(self) -> TokenizerPair:
        return self.prepared.tokenizers

    @property
    def left_out(self) -> dict[str, int]:
        train = self.prepared.train
        held_out = len(self.prepared.valid) if self.prepared.held_out else 0
        return {"too_long": train.too_long, "empty": train.empty, "held_out": held_out}

    def begin(self, network: Learner) -> None:
        """A bag learns which words are rare before it learns what they tell."""
        if isinstance(network, Bag):
            every = np.arange(len(self.prepared.train))
            network.learn_rarity(
                [torch.from_numpy(ids.astype(np.int64)) for ids in self.prepared.train.texts(every).rows()]
            )

    def loss(self, network: Learner, device: torch.device) -> float:
        return corpus_loss(network, self._valid, device)

    def measure(self, network: Learner, loss: float) -> Measured:
        assert isinstance(network, Classifier)
        labeller = Labeller(network, self.tokenizers.source, self.prepared.labels, reach=self.bundle.reach)
        texts, expected, found, _ = _told(labeller, self.prepared.valid)
        scores = evaluate_labels(found, expected, self.prepared.labels)
        rows = zip(texts, expected, found, strict=True)
        return Measured(
            value=-loss if self.config.train.select == "loss" else scores["accuracy"],
            scores={"accuracy": scores["accuracy"], "f1": scores["f1"]},
            samples=tuple(Sample(*row) for row in rows)[: self.config.train.samples],
        )

    def judge(self, run: Path, device: torch.device) -> Final:
        labeller, test = load_labeller(run, device), self.prepared.test
        corpus = self.prepared.valid if test is None else test
        began = time.perf_counter()
        texts, expected, found, probabilities = _told(labeller, corpus)
        seconds = time.perf_counter() - began
        metrics = evaluate_labels(found, expected, self.prepared.labels)
        metrics |= {"labels": list(self.prepared.labels), "decoding_seconds": seconds, "texts": len(corpus)}
        metrics["set"] = "validation" if test is None else "test"
        rows = [
            {"text": text, "expected": right, "found": said, "probability": probability}
            for text, right, said, probability in zip(texts, expected, found, probabilities, strict=True)
        ]
        return Final(metrics, rows, "predictions.jsonl")


def _told(labeller: Labeller, corpus: LabelledCorpus) -> tuple[list[str], list[str], list[str], list[float]]:
    """Of every text: how it reads, its label, the label that was found, and how probable that is."""
    rows = [ids.tolist() for ids in corpus.texts(np.arange(len(corpus))).rows()]
    probabilities = labeller.probabilities(rows)
    best = [max(range(len(values)), key=values.__getitem__) for values in probabilities]
    return (
        [labeller.tokenizer.decode(ids) for ids in rows],
        [labeller.labels[label] for label in corpus.labels.tolist()],
        [labeller.labels[place] for place in best],
        [values[place] for values, place in zip(probabilities, best, strict=True)],
    )
