"""The one table from task and config to network; and networks that are counted instead of trained, from a corpus or from their tables."""

from collections.abc import Callable, Mapping

from torch import Tensor

from regard.models.classifiers import Bag, EncoderOnly, RecurrentClassifier
from regard.models.config import (
    BagConfig,
    LabelsOf,
    MarkovConfig,
    ModelConfig,
    RecurrentConfig,
    Task,
    TransformerConfig,
)
from regard.models.counting import Ids, Places
from regard.models.decoder_only import DecoderOnly
from regard.models.markov import Markov
from regard.models.network import Classifier, EncoderDecoder, LanguageModel, Learner
from regard.models.recurrent import Recurrent
from regard.models.recurrent_language import RecurrentLanguageModel
from regard.models.skips import SkipMarkov
from regard.models.transformer import Transformer

TRANSLATORS: dict[type[TransformerConfig | RecurrentConfig], Callable[..., EncoderDecoder]] = {
    TransformerConfig: Transformer,
    RecurrentConfig: Recurrent,
}
Counted = Markov | SkipMarkov


def build_model(
    config: ModelConfig,
    source_vocabulary: int,
    target_vocabulary: int,
    joint: bool,
    *,
    task: Task = "translate",
    context: int | None = None,
    labels: int = 0,
    labels_of: LabelsOf = "text",
) -> Learner:
    """A freshly initialised network; `joint` says that both sides share one vocabulary.

    `context`: how many tokens a language model reads at once; `labels`: how many a classifier tells apart, and of what.
    """
    assert not isinstance(config, MarkovConfig), "a Markov model is counted"
    if task == "generate":
        assert context is not None
        return _language_model(config, target_vocabulary, context)
    if task == "classify":
        return _classifier(config, source_vocabulary, labels, tagging=labels_of == "token")
    assert not isinstance(config, BagConfig), "a bag classifies"
    return TRANSLATORS[type(config)](config, source_vocabulary, target_vocabulary, joint)


def _classifier(
    config: TransformerConfig | RecurrentConfig | BagConfig, vocabulary: int, labels: int, *, tagging: bool
) -> Classifier:
    if isinstance(config, TransformerConfig):
        return EncoderOnly(config, vocabulary, labels, tagging=tagging)
    if isinstance(config, RecurrentConfig):
        return RecurrentClassifier(config, vocabulary, labels, tagging=tagging)
    assert not tagging, "a bag has no order"
    return Bag(config, vocabulary, labels)


def _language_model(
    config: TransformerConfig | RecurrentConfig | BagConfig, vocabulary: int, context: int
) -> LanguageModel:
    if isinstance(config, TransformerConfig):
        return DecoderOnly(config, vocabulary, context)
    assert isinstance(config, RecurrentConfig), "a bag classifies"
    return RecurrentLanguageModel(config, vocabulary)


def count_model(config: MarkovConfig, ids: Ids, begins: Places, vocabulary: int) -> Counted:
    """The model of a corpus: ids [N] without start tokens, and where each document begins."""
    if config.skips:
        return SkipMarkov.fit(ids, begins, vocabulary, config.skips, config.mask, config.smoothing)
    return Markov.fit(ids, begins, vocabulary, config.order, config.smoothing)


def counted_model(config: MarkovConfig, vocabulary: int, tables: Mapping[str, Tensor]) -> Counted:
    """The model that such tables were taken from; a `ValueError` says what does not fit."""
    if config.skips:
        return SkipMarkov(vocabulary, config.skips, tables)
    model = Markov(vocabulary, tables)
    if model.order != config.order:
        raise ValueError(f"tables of order {model.order}, not {config.order}")
    return model
