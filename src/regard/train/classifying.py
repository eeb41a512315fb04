"""Classifying texts or their words, as a run's objective: accuracy and F1."""

import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.bundle.config import BundleConfig, Languages
from regard.data.examples import Texts
from regard.data.labelled import LabelledCorpus, PreparedLabelled
from regard.engine.labeller import Labeller
from regard.engine.load import load_labeller
from regard.engine.tagger import Tagger
from regard.metrics.classification import evaluate_labels
from regard.models.classifiers import Bag
from regard.models.network import Classifier, Learner
from regard.text.build import TokenizerPair
from regard.train.config import RunConfig
from regard.train.events import Sample
from regard.train.objective import Final, Measured
from regard.train.start import inherited
from regard.train.translating import vocabulary_sizes
from regard.train.validate import corpus_loss


class Classifying:
    """An objective."""

    def __init__(self, config: RunConfig, prepared: PreparedLabelled, base: BundleConfig | None = None) -> None:
        self.config, self.prepared = config, prepared
        vocabulary, labels = prepared.tokenizers.source.vocabulary, len(prepared.labels)
        self.examples = Texts(prepared.train, vocabulary.pad, vocabulary.EOS, labels)
        self._valid = Texts(prepared.valid, vocabulary.pad, vocabulary.EOS, labels)
        own = BundleConfig(
            task="classify",
            model=config.model,
            languages=Languages(source=prepared.language),
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            labels=prepared.labels,
            labels_of=config.data.labels_of,
        )
        self.bundle = inherited(own, base)

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
        """A bag learns which features there are, and how rare, before it learns what they tell."""
        if isinstance(network, Bag):
            every = np.arange(len(self.prepared.train))
            texts = [torch.from_numpy(ids.astype(np.int64)) for ids in self.prepared.train.texts(every).rows()]
            network.learn_features(texts, self.prepared.train.labels.tolist())

    def loss(self, network: Learner, device: torch.device) -> float:
        return corpus_loss(network, self._valid, device)

    def measure(self, network: Learner, loss: float) -> Measured:
        assert isinstance(network, Classifier)
        made = Tagger if network.tagging else Labeller
        labeller = made(network, self.tokenizers.source, self.prepared.labels, reach=self.bundle.reach)
        told = _told(labeller, self.prepared.valid)
        scores = self._scores(told)
        return Measured(
            value=-loss if self.config.train.select == "loss" else scores["accuracy"],
            scores={"accuracy": scores["accuracy"], "f1": scores["f1"]},
            samples=tuple(
                Sample(one.text, " ".join(one.expected), " ".join(one.found))
                for one in told[: self.config.train.samples]
            ),
        )

    def judge(self, run: Path, device: torch.device) -> Final:
        labeller, test = load_labeller(run, device), self.prepared.test
        corpus = self.prepared.valid if test is None else test
        began = time.perf_counter()
        told = _told(labeller, corpus)
        seconds = time.perf_counter() - began
        metrics = self._scores(told)
        metrics |= {"labels": list(self.prepared.labels), "decoding_seconds": seconds, "texts": len(corpus)}
        metrics["set"] = "validation" if test is None else "test"
        return Final(metrics, [one.row() for one in told], "predictions.jsonl")

    def _scores(self, told: "list[Told]") -> dict[str, Any]:
        found, expected = (
            list(chain(*some)) for some in zip(*((one.found, one.expected) for one in told), strict=True)
        )
        return evaluate_labels(found, expected, self.prepared.labels)


@dataclass(frozen=True)
class Told:
    """A text: its label, the one that was found, and how probable that is; or those of its words."""

    text: str
    expected: list[str]
    found: list[str]
    probabilities: list[float]
    tagged: bool

    def row(self) -> dict[str, Any]:
        """A line of predictions.jsonl."""
        if self.tagged:
            return {
                "text": self.text,
                "expected": self.expected,
                "found": self.found,
                "probabilities": self.probabilities,
            }
        [expected], [found], [probability] = self.expected, self.found, self.probabilities
        return {"text": self.text, "expected": expected, "found": found, "probability": probability}


def _told(labeller: Labeller | Tagger, corpus: LabelledCorpus) -> list[Told]:
    every = np.arange(len(corpus))
    rows = [ids.tolist() for ids in corpus.texts(every).rows()]
    if isinstance(labeller, Tagger):
        distributions = labeller.probabilities(rows)
        none = len(labeller.labels)
        expected = [[label for label in tags.tolist() if label != none] for tags in corpus.tags(every).rows()]
    else:
        distributions = [[values] for values in labeller.probabilities(rows)]
        expected = [[label] for label in corpus.labels.tolist()]
    told = []
    for ids, right, found in zip(rows, expected, distributions, strict=True):
        best = [max(range(len(values)), key=values.__getitem__) for values in found]
        told.append(
            Told(
                labeller.tokenizer.decode(ids),
                [labeller.labels[label] for label in right],
                [labeller.labels[place] for place in best],
                [values[place] for values, place in zip(found, best, strict=True)],
                tagged=isinstance(labeller, Tagger),
            )
        )
    return told
