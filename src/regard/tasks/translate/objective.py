"""The training objective of `translate`: sentence pairs, teacher forcing, and optionally a supervised alignment head."""

import math
from dataclasses import asdict
from itertools import takewhile
from typing import Any, cast

from torch import nn

from regard.bundle.config import AlignmentConfig, Languages, vocabulary_sizes
from regard.data.batches import Batch
from regard.data.corpus import Corpus
from regard.data.examples import PairExamples
from regard.data.prepare import Prepared
from regard.data.replay import replay_note
from regard.metrics.scores import added_scores
from regard.metrics.translation import bleu, chrf, exact_match
from regard.tasks.alignment_loss import AlignmentLoss
from regard.tasks.select import auto_for_translations, best_value, selecting
from regard.tasks.text_objective import TextObjective
from regard.tasks.translate.directed_objective import (
    directions_of_run,
    mean_scores,
    mixture,
    note_on,
    scores_by_direction,
    spread,
    tagged,
)
from regard.tasks.translate.directions import common_languages, directions_of
from regard.tasks.translate.evaluate import TranslateTest
from regard.tasks.translate.language_check import characters_per_piece
from regard.tasks.translate.output_length import learned_length
from regard.tasks.translate.settings import TranslateBundle, TranslateSettings
from regard.tasks.translate.translator import Translator
from regard.text.build import TokenizerPair
from regard.text.placeholders import placeholder_ids
from regard.training.events import Sample
from regard.training.loss import TeacherForced, batch_loss, corpus_loss
from regard.training.objective import Loss, Measured, StepInfo

JUDGED_LINES = 1000  # of the validation text, for the mean length of a piece
LEAST_SEEN = 20  # occurrences of a placeholder below which it is not used in translation
FEW_HELD_OUT = 50  # held-out pairs below which scores are noise
LEFT_OUT = ("too_long", "empty", "held_out", "duplicates_of_validation")


class TranslateObjective(TextObjective):
    """Sentence pairs and their loss."""

    def __init__(self, settings: TranslateSettings, prepared: Prepared, base: TranslateBundle | None = None) -> None:
        super().__init__(prepared)
        self.settings, self.prepared = settings, prepared
        head = settings.aligned_head
        links = None if head is None else prepared.train_links
        replay = settings.data.replay
        share = None if replay is None or not replay.trains else replay.share
        parts = mixture(prepared.parts, settings.data.temperature, share)
        self._directions = directions_of_run(prepared, parts, () if base is None else base.directions, JUDGED_LINES)
        train, valid = (
            tagged(prepared, parts, self._directions) if self._directions else (prepared.train, prepared.valid)
        )
        self.examples = PairExamples(train, prepared.tokenizers, settings.text.dropout, links, parts)
        self._valid = PairExamples(valid, prepared.tokenizers)
        self._head = None if head is None else AlignmentLoss(head)
        longest = learned_length(prepared.train.source_lengths, prepared.train.target_lengths)
        own = TranslateBundle(
            model=settings.model,
            languages=common_languages(one.pair for one in self._directions)
            if self._directions
            else Languages(source=prepared.languages[0], target=prepared.languages[1]),
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            alignment=None if head is None else AlignmentConfig(heads=((head.layer, 0),), shift=head.shift),
            characters_per_piece=characters_per_piece(
                prepared.tokenizers.source, [source for source, _ in prepared.valid_pairs[:JUDGED_LINES]]
            ),
            output_per_source=None if longest is None else longest.per_source,
            output_most=None if longest is None else longest.most,
            directions=self._directions,
            placeholders=0
            if settings.data.placeholders is None
            else learned_placeholders(prepared.tokenizers, prepared.train),
        )
        self.bundle = own if base is None else own.inherited(base)
        self.notes: tuple[str, ...] = ()
        if prepared.valid_directions is not None:
            self.notes = (note_on(parts, prepared.parts, settings.data.temperature),)
        held_out = len(prepared.valid)
        if prepared.held_out and held_out < FEW_HELD_OUT:
            self.notes = (
                *self.notes,
                f"validation on {held_out} {'pair' if held_out == 1 else 'pairs'}: its scores are noise; "
                "give --valid-src and --valid-tgt",
            )
        if share is not None:
            self.notes = (*self.notes, replay_note(parts, share))

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
            directions=self._pair_directions(given=given),
        )

    def _pair_directions(self, *, given: bool = False) -> list[tuple[str, str]] | None:
        """The direction of each validation pair, or of each given test pair; None: the model has one."""
        if not self._directions:
            return None
        prepared = self.prepared
        several = prepared.test_directions if given else prepared.valid_directions
        if several is not None:
            return several
        pairs = prepared.test_pairs if given and prepared.test_pairs is not None else prepared.valid_pairs
        return [self._directions[0].pair] * len(pairs)

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
        directions = self._pair_directions()
        translator = Translator(
            cast(Any, network),
            self.codecs,
            languages=self.bundle.languages,
            reach=self.bundle.reach,
            directions=directions_of(self.bundle),
            longest=self.bundle.longest_output,
        )
        sources, references = [source for source, _ in pairs], [target for _, target in pairs]
        to = None if directions is None else [target for _, target in directions]
        hypotheses = [translation.text for translation in translator.translate(sources, to=to, beam=1)]
        scores = (
            _scores(sources, references, hypotheses)
            if directions is None
            else mean_scores(scores_by_direction(directions, (sources, references, hypotheses), _scores))
        )
        samples = list(map(Sample, sources, references, hypotheses))
        shown = samples[: train.samples] if directions is None else spread(samples, directions, train.samples)
        auto = auto_for_translations(len(pairs))
        value = best_value(train.select, auto, loss, scores)
        return Measured(loss, value, scores, tuple(shown), selecting(train.select, auto))


def learned_placeholders(tokenizers: TokenizerPair, corpus: Corpus) -> int:
    """How many placeholders, from the first on, occur in the sources of a training corpus often enough to be learned."""
    counts = corpus.source_counts(len(tokenizers.source.vocabulary))
    pieces = placeholder_ids(tokenizers.source)[: len(placeholder_ids(tokenizers.target))]
    return len(list(takewhile(lambda piece: counts[piece] >= LEAST_SEEN, pieces)))


def _scores(sources: list[str], references: list[str], hypotheses: list[str]) -> dict[str, float]:
    """The scores of a validation in one direction."""
    return {
        "bleu": bleu(hypotheses, references).value,
        "chrf": chrf(hypotheses, references).value,
        "exact_match": exact_match(hypotheses, references),
        **added_scores("translations", hypotheses, references, sources),
    }
