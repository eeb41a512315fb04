"""The training objective of `pretrain`: corrupted texts, and the cross-entropy of what stood there."""

import math
from typing import cast

from torch import nn

from regard.bundle.config import Languages, TextsConfig, vocabulary_sizes
from regard.bundle.opened import OpenBundle
from regard.data.batches import Batch
from regard.data.corrupted import CorruptedExamples
from regard.data.objectives import ObjectiveConfig
from regard.data.prepare_texts import TINY, PreparedTexts
from regard.data.texts import Documents, TextCorpus
from regard.errors import ConfigError
from regard.models.network import Learner
from regard.tasks.pretrain.evaluate import FINAL_SAMPLES, PretrainTest, judged, samples
from regard.tasks.pretrain.settings import PretrainBundle, PretrainSettings
from regard.tasks.select import best_value, selecting
from regard.tasks.text_objective import TextObjective
from regard.text.vocabulary import Vocabulary
from regard.training.loss import TeacherForced, batch_loss
from regard.training.objective import Loss, Measured, StepInfo


def check_pieces(settings: PretrainSettings, base: OpenBundle | None) -> None:
    """Refuse a vocabulary without the pieces that the objective needs: that of the base, or one that was set so."""
    from regard.text.reserved import found_in

    if base is None:
        names = settings.reserving_text.reserved.names
        reserved = found_in(names, names)
    else:
        vocabulary = base.tokenizers.source.vocabulary
        added = () if settings.text.grow is None else settings.reserving_text.reserved.names
        names = tuple(dict.fromkeys([*vocabulary.reserved.names, *added]))
        reserved = found_in(names, names)
    complaint = settings.objective.complaint(reserved, settings.data.max_length)
    if complaint is not None:
        raise ConfigError(complaint if base is None else f"train.start = {settings.train.start!r}: {complaint}")


def corrupted_examples(
    corpus: TextCorpus,
    vocabulary: Vocabulary,
    objective: ObjectiveConfig,
    longest: int,
    documents: Documents,
    *,
    moving: bool = False,
) -> CorruptedExamples:
    """The contexts of a text, corrupted as the objective says."""
    return CorruptedExamples(
        corpus,
        vocabulary,
        objective.corrupter(vocabulary),
        longest,
        in_place=objective.in_place,
        lines=documents == "line",
        moving=moving,
    )


class PretrainObjective(TextObjective):
    """Corrupted contexts of a text, and their loss. Validation corrupts the held-out text always in the same way."""

    def __init__(self, settings: PretrainSettings, prepared: PreparedTexts, base: PretrainBundle | None = None) -> None:
        super().__init__(prepared)
        self.settings, self.prepared = settings, prepared
        data = settings.data
        own = PretrainBundle(
            model=settings.model,
            objective=settings.objective,
            languages=Languages(target=prepared.language),
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            texts=TextsConfig(documents=data.documents, context=data.max_length),
        )
        self.bundle = own if base is None else own.inherited(base)
        self.examples = self.corrupted(prepared)
        self._valid = self._examples(prepared.valid)
        if not len(self.examples) or not len(self._valid):
            raise ConfigError(f"{' and '.join(data.texts)}: no text that can be corrupted; give a text that has some")
        if prepared.tiny:
            self.notes = (
                f"a text of less than {TINY} characters: nothing is held out, and validation is on the text that was learned; "
                "a fair loss needs another text, --valid-text FILE",
            )

    def corrupted(self, prepared: PreparedTexts) -> CorruptedExamples:
        """The training examples of a text."""
        return self._examples(prepared.train, moving=True)

    def _examples(self, corpus: TextCorpus, *, moving: bool = False) -> CorruptedExamples:
        data, vocabulary = self.settings.data, self.codecs.source.vocabulary
        return corrupted_examples(
            corpus, vocabulary, self.settings.objective, data.max_length, data.documents, moving=moving
        )

    @property
    def vocabulary(self) -> tuple[int, ...]:
        """The size of the vocabulary: there is one."""
        return (self.bundle.vocabulary.source,)

    @property
    def left_out(self) -> dict[str, int]:
        held_out = self.prepared.valid.counts.lines if self.prepared.held_out else 0
        return {"empty": self.prepared.train.counts.empty, "held_out": held_out}

    @property
    def test(self) -> PretrainTest:
        """The test text, or the validation text where there is none, which of a tiny text is the training text."""
        if self.prepared.test is None:
            name = "training" if self.prepared.tiny else "validation"
            return PretrainTest(self._valid, name, FINAL_SAMPLES)
        return PretrainTest(self._examples(self.prepared.test), "test", FINAL_SAMPLES)

    def begin(self, network: nn.Module) -> None:
        """Nothing to initialise from the data."""

    def loss(self, network: nn.Module, batch: Batch, step: StepInfo) -> Loss:
        train, device = self.settings.train, batch.target_in.device
        forced = cast(TeacherForced, network)
        total, nll = batch_loss(forced, batch, train.label_smoothing, device, train.consistency)
        return Loss(total, {"nll": nll.item()}, batch.tokens)

    def validate(self, network: nn.Module) -> Measured:
        assert isinstance(network, Learner)
        judgement, train = judged(network, self._valid, self.codecs.source.vocabulary), self.settings.train
        if not math.isfinite(judgement.loss):
            return Measured(judgement.loss, -math.inf, {}, ())
        scores = {"accuracy": judgement.accuracy}
        value = best_value(train.select, "loss", judgement.loss, scores)
        shown = samples(network, self._valid, self.codecs.source, train.samples)
        return Measured(judgement.loss, value, scores, shown, selecting(train.select, "loss"))
