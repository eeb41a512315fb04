"""The training objective of `translate`: sentence pairs, teacher forcing, and optionally a supervised alignment head."""

import math
from dataclasses import asdict
from typing import Any, cast

from torch import nn

from regard.bundle.config import AlignmentConfig, Languages, vocabulary_sizes
from regard.data.batches import Batch
from regard.data.examples import PairExamples
from regard.data.prepare import Prepared
from regard.data.replay import replay_note
from regard.metrics.scores import added_scores
from regard.metrics.translation import bleu, chrf, exact_match
from regard.tasks.alignment_loss import AlignmentLoss
from regard.tasks.select import auto_for_translations, best_value, selecting
from regard.tasks.text_objective import TextObjective
from regard.tasks.translate.evaluate import TranslateTest
from regard.tasks.translate.language_check import characters_per_piece
from regard.tasks.translate.settings import TranslateBundle, TranslateSettings
from regard.tasks.translate.translator import Translator
from regard.training.events import Sample
from regard.training.loss import TeacherForced, batch_loss, corpus_loss
from regard.training.objective import Loss, Measured, StepInfo

JUDGED_LINES = 1000  # of the validation text, for the mean length of a piece
FEW_HELD_OUT = 50  # held-out pairs below which scores are noise
LEFT_OUT = ("too_long", "empty", "held_out", "duplicates_of_validation")


class TranslateObjective(TextObjective):
    """Sentence pairs and their loss."""

    def __init__(self, settings: TranslateSettings, prepared: Prepared, base: TranslateBundle | None = None) -> None:
        super().__init__(prepared)
        self.settings, self.prepared = settings, prepared
        head = settings.aligned_head
        links = None if head is None else prepared.train_links
        self.examples = PairExamples(prepared.train, prepared.tokenizers, settings.text.dropout, links, prepared.parts)
        self._valid = PairExamples(prepared.valid, prepared.tokenizers)
        self._head = None if head is None else AlignmentLoss(head)
        own = TranslateBundle(
            model=settings.model,
            languages=Languages(source=prepared.languages[0], target=prepared.languages[1]),
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            alignment=None if head is None else AlignmentConfig(heads=((head.layer, 0),), shift=head.shift),
            characters_per_piece=characters_per_piece(
                prepared.tokenizers.source, [source for source, _ in prepared.valid_pairs[:JUDGED_LINES]]
            ),
        )
        self.bundle = own if base is None else own.inherited(base)
        self.notes: tuple[str, ...] = ()
        held_out = len(prepared.valid)
        if prepared.held_out and held_out < FEW_HELD_OUT:
            self.notes = (
                f"validation on {held_out} {'pair' if held_out == 1 else 'pairs'}: its scores are noise; "
                "give --valid-src and --valid-tgt",
            )
        replay = settings.data.replay
        if replay is not None and replay.trains:
            self.notes = (*self.notes, replay_note(prepared.parts, replay.share))

    @property
    def left_out(self) -> dict[str, int]:
        return {name: count for name, count in asdict(self.prepared.counts).items() if name in LEFT_OUT}

    @property
    def test(self) -> TranslateTest:
        """The test pairs, or the validation pairs where there are none."""
        prepared = self.prepared
        given = prepared.test_pairs is not None
        pairs = prepared.test_pairs if prepared.test_pairs is not None else prepared.valid_pairs
        gold = prepared.test_alignments if given else prepared.valid_alignments
        return TranslateTest(
            [source for source, _ in pairs],
            [target for _, target in pairs],
            gold=None if gold is None else [(links, links) for links in gold],
            name="test" if given else "validation",
        )

    def begin(self, network: nn.Module) -> None:
        """Nothing to initialise from the data."""

    def loss(self, network: nn.Module, batch: Batch, step: StepInfo) -> Loss:
        train = self.settings.train
        probe = None if self._head is None else self._head.probe()
        device = batch.target_in.device
        forced = cast(TeacherForced, network)
        total, nll = batch_loss(forced, batch, train.label_smoothing, device, train.consistency, probe)
        parts = {"nll": nll.item()}
        if self._head is not None and probe is not None:
            alignment = self._head.of(probe, batch)
            total = total + train.alignment_weight * alignment
            parts["alignment"] = alignment.item()
        return Loss(total, parts, batch.tokens)

    def validate(self, network: nn.Module) -> Measured:
        loss = corpus_loss(cast(TeacherForced, network), self._valid, next(network.parameters()).device)
        if not math.isfinite(loss):
            return Measured(loss, -math.inf, {}, ())
        pairs, train = self.prepared.valid_pairs, self.settings.train
        translator = Translator(
            cast(Any, network), self.codecs, languages=self.bundle.languages, reach=self.bundle.reach
        )
        sources, references = [source for source, _ in pairs], [target for _, target in pairs]
        hypotheses = [translation.text for translation in translator.translate(sources, beam=1)]
        scores = {
            "bleu": bleu(hypotheses, references).value,
            "chrf": chrf(hypotheses, references).value,
            "exact_match": exact_match(hypotheses, references),
            **added_scores("translations", hypotheses, references, sources),
        }
        samples = list(map(Sample, sources, references, hypotheses))
        auto = auto_for_translations(len(pairs))
        value = best_value(train.select, auto, loss, scores)
        return Measured(loss, value, scores, tuple(samples[: train.samples]), selecting(train.select, auto))
