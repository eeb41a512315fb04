"""The training objective of `caption`: captioned pictures and teacher forcing."""

import math
from typing import Any, cast

from torch import nn

from regard.bundle.config import AlignmentConfig, Languages, vocabulary_sizes
from regard.bundle.pictures import PictureFormat
from regard.data.batches import Batch
from regard.data.caption_examples import CaptionExamples
from regard.data.captioned import CaptionCorpus, PreparedCaptions, note_on_pictures
from regard.metrics.systems import score_systems
from regard.search.options import SearchOptions
from regard.tasks.alignment_loss import AlignmentLoss
from regard.tasks.caption.captioner import Captioner
from regard.tasks.caption.evaluate import SCORES, CaptionTest, reference_lists
from regard.tasks.caption.settings import CaptionBundle, CaptionSettings
from regard.tasks.select import ENOUGH_FOR_BLEU, best_value, selecting
from regard.tasks.text_objective import TextObjective
from regard.training.events import Sample
from regard.training.loss import TeacherForced, batch_loss, corpus_loss
from regard.training.objective import Loss, Measured, StepInfo


class CaptionObjective(TextObjective):
    """Captioned pictures and their loss."""

    def __init__(
        self, settings: CaptionSettings, prepared: PreparedCaptions, base: CaptionBundle | None = None
    ) -> None:
        super().__init__(prepared)
        self.settings, self.prepared = settings, prepared
        height, width, channels = prepared.train.images.shape
        head = settings.aligned_head
        self._head = None if head is None else AlignmentLoss(head)
        own = CaptionBundle(
            model=settings.model,
            languages=Languages(target=prepared.language),
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            pictures=PictureFormat(
                height=height,
                width=width,
                channels=3 if channels == 3 else 1,
                fit=settings.data.fit,
                mean=prepared.mean,
                deviation=prepared.deviation,
            ),
            longest=prepared.train.longest,
            attention=None if head is None else AlignmentConfig(heads=((head.layer, 0),), shift=head.shift),
        )
        self.bundle = own if base is None else own.inherited(base)
        self.examples = self._examples(prepared.train)
        self._valid, self._valid_test = self._examples(prepared.valid), CaptionTest.of(prepared.valid, "validation")
        note = note_on_pictures(prepared)
        self.notes = () if note is None else (note,)

    def _examples(self, corpus: CaptionCorpus) -> CaptionExamples:
        form = self.bundle.pictures
        tokenizer = self.prepared.tokenizers.target
        return CaptionExamples(corpus, self.bundle.grid, tokenizer, form.mean, form.deviation)

    @property
    def left_out(self) -> dict[str, int]:
        held_out = len(self.prepared.valid) if self.prepared.held_out else 0
        return {"too_long": self.prepared.train.too_long, "held_out": held_out}

    @property
    def test(self) -> CaptionTest:
        """The test pictures, or the validation pictures where there are none."""
        test = self.prepared.test
        return self._valid_test if test is None else CaptionTest.of(test, "test")

    def begin(self, network: nn.Module) -> None:
        """Nothing to initialise from the data."""

    def loss(self, network: nn.Module, batch: Batch, step: StepInfo) -> Loss:
        train, device = self.settings.train, batch.target_in.device
        forced = cast(TeacherForced, network)
        probe = None if self._head is None else self._head.probe()
        total, nll = batch_loss(forced, batch, train.label_smoothing, device, train.consistency, probe)
        parts = {"nll": nll.item()}
        if self._head is not None and probe is not None:
            attention = self._head.of(probe, batch)
            total = total + train.alignment_weight * attention
            parts["alignment"] = attention.item()
        return Loss(total, parts, batch.tokens)

    def validate(self, network: nn.Module) -> Measured:
        loss = corpus_loss(cast(TeacherForced, network), self._valid, next(network.parameters()).device)
        if not math.isfinite(loss):
            return Measured(loss, -math.inf, {}, ())
        train, test = self.settings.train, self._valid_test
        captioner = Captioner(
            cast(Any, network),
            self.codecs.target,
            self.bundle.pictures,
            self.bundle.grid,
            longest=self.bundle.longest,
            reach=self.bundle.reach,
        )
        captions = [caption.text for caption in captioner.search(test.pictures, SearchOptions(beam=1))]
        [found] = score_systems([captions], reference_lists(test.references), SCORES, resamples=0)
        scores = {name: score.value for name, score in found.items()}
        names, firsts = [picture.name for picture in test.pictures], [own[0] for own in test.references]
        samples = list(map(Sample, names, firsts, captions))
        auto = "cider" if len(captions) >= ENOUGH_FOR_BLEU else "loss"
        value = best_value(train.select, auto, loss, scores)
        return Measured(loss, value, scores, tuple(samples[: train.samples]), selecting(train.select, auto))
