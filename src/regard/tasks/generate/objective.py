"""The training objectives of `generate`: next-token prediction by gradients, or counting for a Markov model."""

import math
from typing import Any, cast

from torch import nn

from regard.bundle.config import Languages, TextsConfig, vocabulary_sizes
from regard.data.batches import Batch
from regard.data.examples import ContextExamples
from regard.data.prepare_texts import TINY, PreparedTexts
from regard.metrics.perplexity import text_perplexities
from regard.models.config import MarkovConfig
from regard.tasks.generate.evaluate import FINAL_SAMPLES, GenerateTest, continuations, corpus_perplexities
from regard.tasks.generate.settings import GenerateBundle, GenerateSettings
from regard.tasks.generate.writer import Writer
from regard.tasks.select import best_value, selecting
from regard.tasks.text_objective import TextObjective
from regard.training.loss import TeacherForced, batch_loss, corpus_loss
from regard.training.objective import CountedNetwork, Loss, Measured, StepInfo

COUNTED = 1024  # window in tokens for scoring with a counted model, whose context is shorter than half of it


class _Texts(TextObjective):
    """The prepared text of a run: the common part of both objectives."""

    def __init__(
        self, settings: GenerateSettings, prepared: PreparedTexts, context: int, base: GenerateBundle | None
    ) -> None:
        super().__init__(prepared)
        self.settings, self.prepared = settings, prepared
        own = GenerateBundle(
            model=settings.model,
            languages=Languages(target=prepared.language),
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            texts=TextsConfig(documents=settings.data.documents, context=context),
        )
        self.bundle = own if base is None else own.inherited(base)
        if prepared.tiny:
            self.notes = (
                f"a text of less than {TINY} characters: nothing is held out, and validation is on the text that was learned; "
                "a fair perplexity needs another text, --valid-text FILE",
            )

    @property
    def vocabulary(self) -> tuple[int, ...]:
        """The size of the vocabulary: there is one language."""
        return (self.bundle.vocabulary.target,)

    @property
    def left_out(self) -> dict[str, int]:
        held_out = self.prepared.valid.counts.lines if self.prepared.held_out else 0
        return {"empty": self.prepared.train.counts.empty, "held_out": held_out}

    @property
    def test(self) -> GenerateTest:
        """The test text, or the validation text where there is none, which of a tiny text is the training text."""
        test = self.prepared.test
        if test is None:
            name = "training" if self.prepared.tiny else "validation"
            return GenerateTest(self.prepared.valid, name, FINAL_SAMPLES)
        return GenerateTest(test, "test", FINAL_SAMPLES)

    def writer(self, network: nn.Module | CountedNetwork) -> Writer:
        """A `Writer` around the network."""
        return Writer(cast(Any, network), self.codecs.target, self.bundle.texts)

    def measured(self, network: nn.Module, loss: float) -> Measured:
        """The validation results of a network with this loss, in nats per token."""
        counts, train = self.prepared.valid.counts, self.settings.train
        every = text_perplexities(loss * counts.tokens, tokens=counts.tokens, words=counts.words, size=counts.bytes)
        scores = {name: every[name] for name in ("perplexity_word", "bits_per_byte")}
        samples = continuations(self.writer(network), self.prepared.valid, train.samples)
        value = best_value(train.select, "loss", loss, scores)
        return Measured(loss, value, scores, samples, selecting(train.select, "loss"))


class GenerateObjective(_Texts):
    """Contexts of a text, and the cross-entropy of their next tokens."""

    def __init__(self, settings: GenerateSettings, prepared: PreparedTexts, base: GenerateBundle | None = None) -> None:
        longest = settings.data.max_length
        super().__init__(settings, prepared, longest, base)
        pad = prepared.tokenizers.target.vocabulary.pad
        self.examples = self.contexts(prepared)
        self._valid = ContextExamples(prepared.valid, pad, longest, moving=False)

    def contexts(self, prepared: PreparedTexts) -> ContextExamples:
        """The training examples of a text."""
        pad = prepared.tokenizers.target.vocabulary.pad
        return ContextExamples(prepared.train, pad, self.settings.data.max_length, moving=True)

    def begin(self, network: nn.Module) -> None:
        """Nothing to initialise from the data."""

    def loss(self, network: nn.Module, batch: Batch, step: StepInfo) -> Loss:
        train, device = self.settings.train, batch.target_in.device
        forced = cast(TeacherForced, network)
        total, nll = batch_loss(forced, batch, train.label_smoothing, device, train.consistency)
        return Loss(total, {"nll": nll.item()}, batch.tokens)

    def validate(self, network: nn.Module) -> Measured:
        loss = corpus_loss(cast(TeacherForced, network), self._valid, next(network.parameters()).device)
        return self.measured(network, loss) if math.isfinite(loss) else Measured(loss, -math.inf, {}, ())


class CountObjective(_Texts):
    """A text to count: a Markov model needs no gradients."""

    def __init__(self, settings: GenerateSettings, prepared: PreparedTexts) -> None:
        super().__init__(settings, prepared, COUNTED, None)

    @property
    def counted_tokens(self) -> int:
        return self.prepared.train.counts.tokens

    @property
    def counted_examples(self) -> int:
        pad, longest = self.codecs.target.vocabulary.pad, self.settings.data.max_length
        return len(ContextExamples(self.prepared.train, pad, longest, moving=True))

    def fit(self) -> CountedNetwork:
        from regard.models.build import count_model

        assert isinstance(self.settings.model, MarkovConfig)
        corpus = self.prepared.train
        return count_model(self.settings.model, corpus.ids, corpus.begins, self.bundle.vocabulary.target)

    def validate(self, network: nn.Module) -> Measured:
        loss = float(corpus_perplexities(self.writer(network), self.prepared.valid)["nats_per_token"])
        return self.measured(network, loss)
