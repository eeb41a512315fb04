"""Translating, as a run's objective: sentence pairs, greedy translations at each validation, a beam at the end."""

from dataclasses import asdict
from pathlib import Path

import torch

from regard.bundle.config import AlignmentConfig, BundleConfig, Languages, VocabularySizes
from regard.data.examples import Pairs
from regard.data.prepare import Prepared
from regard.engine.load import load_translator
from regard.engine.model import Model
from regard.models.network import Learner, Trainable
from regard.text.build import TokenizerPair
from regard.train.config import RunConfig
from regard.train.events import Sample
from regard.train.final import final_evaluation
from regard.train.objective import Final, Measured
from regard.train.start import inherited
from regard.train.validate import corpus_loss, quality

ENOUGH_FOR_BLEU = 100  # validation sentences
LEFT_OUT = ("too_long", "empty", "held_out", "duplicates_of_validation")


class Translating:
    """An objective."""

    def __init__(self, config: RunConfig, prepared: Prepared, base: BundleConfig | None = None) -> None:
        self.config, self.prepared = config, prepared
        head = config.aligned_head
        links = None if head is None else prepared.train_links
        self.examples = Pairs(prepared.train, prepared.tokenizers, config.text.dropout, links)
        self._valid = Pairs(prepared.valid, prepared.tokenizers)
        languages = Languages(source=prepared.languages[0], target=prepared.languages[1])
        own = BundleConfig(
            model=config.model,
            languages=languages,
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            alignment=None if head is None else AlignmentConfig(heads=((head.layer, 0),), said=head.said),
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
        return {name: count for name, count in asdict(self.prepared.counts).items() if name in LEFT_OUT}

    def begin(self, network: Learner) -> None:
        """Nothing is known before the first step."""

    def loss(self, network: Learner, device: torch.device) -> float:
        return corpus_loss(network, self._valid, device)

    def measure(self, network: Learner, loss: float) -> Measured:
        assert isinstance(network, Trainable)
        pairs, select = self.prepared.valid_pairs, self.config.train.select
        model = Model(network, self.tokenizers, languages=self.bundle.languages, reach=self.bundle.reach)
        found = quality(model, pairs)
        by_bleu = select == "bleu" or (select == "auto" and len(pairs) >= ENOUGH_FOR_BLEU)
        samples = [
            Sample(source, reference, hypothesis)
            for (source, reference), hypothesis in zip(pairs, found.hypotheses, strict=True)
        ]
        return Measured(
            value=found.bleu if by_bleu else -loss,
            scores={"bleu": found.bleu, "chrf": found.chrf, "exact_match": found.exact_match},
            samples=tuple(samples[: self.config.train.samples]),
        )

    def judge(self, run: Path, device: torch.device) -> Final:
        return final_evaluation(load_translator(run, device, engine="torch"), self.prepared)


def vocabulary_sizes(tokenizers: TokenizerPair) -> VocabularySizes:
    """As a bundle states them."""
    return VocabularySizes(
        source=len(tokenizers.source.vocabulary), target=len(tokenizers.target.vocabulary), joint=tokenizers.joint
    )
