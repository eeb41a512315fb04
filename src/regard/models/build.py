"""Builds a network from the settings of a model. Counted models come from a corpus or from their stored tables."""

from collections.abc import Callable, Mapping

from torch import Tensor

from regard.layers.embedding import token_embedding
from regard.models.blocks import patch_front, token_front
from regard.models.classifiers import Bag, EncoderOnly, RecurrentClassifier
from regard.models.config import (
    BagConfig,
    CaptionerConfig,
    ClassifierRecurrentConfig,
    ClassifierTransformerConfig,
    DLinearConfig,
    ForecastRecurrentConfig,
    ForecastTransformerConfig,
    LanguageRecurrentConfig,
    LanguageTransformerConfig,
    MarkovConfig,
    MaskedTransformerConfig,
    ModelConfig,
    NLinearConfig,
    PatchConfig,
    PrefixConfig,
    RecurrentConfig,
    TransformerConfig,
    VisionConfig,
)
from regard.models.counting import Ids, Places
from regard.models.decoder_only import DecoderOnly
from regard.models.forecasters import ForecastNetwork, LinearForecaster
from regard.models.markov import Markov, check_values
from regard.models.masked import MaskedEncoder
from regard.models.network import ClassifierNetwork, EncoderDecoder, LanguageModel, Learner
from regard.models.patch_forecasters import PatchedEncoder, RecurrentForecaster, TransformerForecaster
from regard.models.prefix import PrefixTransformer
from regard.models.recurrent import Recurrent
from regard.models.recurrent_language import RecurrentLanguageModel
from regard.models.skips import SkipMarkov
from regard.models.transformer import Transformer
from regard.models.vision import VisionTransformer

Counted = Markov | SkipMarkov


def _recurrent_language_model(config: LanguageRecurrentConfig, vocabulary: int, context: int) -> LanguageModel:
    return RecurrentLanguageModel(config, vocabulary)  # it has no maximum context


def _bag(config: BagConfig, vocabulary: int, labels: int, *, tagging: bool) -> ClassifierNetwork:
    assert not tagging, "a bag has no order"
    return Bag(config, vocabulary, labels)


def _translator(
    config: TransformerConfig, source_vocabulary: int, target_vocabulary: int, joint: bool
) -> EncoderDecoder:
    target = token_embedding(target_vocabulary, config.width)
    source = target if joint and config.tie else token_embedding(source_vocabulary, config.width)
    unread = None if config.source_end else Transformer.end_token
    return Transformer(config, token_front(config, source, unread), token_front(config, target))


def _prefix(config: PrefixConfig, source_vocabulary: int, target_vocabulary: int, joint: bool) -> EncoderDecoder:
    assert joint, "settings refuse two vocabularies"
    target = token_front(config, token_embedding(target_vocabulary, config.width), segment=True)
    source = token_front(config, target.embedding, segment=True)
    source.positions, source.norm = target.positions, target.norm
    return PrefixTransformer(config, source, target)


def _captioner(config: CaptionerConfig, shape: tuple[int, int, int], vocabulary: int) -> EncoderDecoder:
    target = token_front(config, token_embedding(vocabulary, config.width))
    return Transformer(config, patch_front(config, *shape, positions=config.patch_positions), target)


TRANSLATOR_NETWORKS: dict[type[ModelConfig], Callable[..., EncoderDecoder]] = {
    TransformerConfig: _translator,
    RecurrentConfig: Recurrent,
    PrefixConfig: _prefix,
}
"""(config, source vocabulary, target vocabulary, joint) -> network."""

PRETRAINED_NETWORKS: dict[type[ModelConfig], Callable[..., Learner]] = {MaskedTransformerConfig: MaskedEncoder}
"""(config, vocabulary) -> network. What is not here is an encoder-decoder of `TRANSLATOR_NETWORKS`."""

LANGUAGE_NETWORKS: dict[type[ModelConfig], Callable[..., LanguageModel]] = {
    LanguageTransformerConfig: DecoderOnly,
    LanguageRecurrentConfig: _recurrent_language_model,
}
"""(config, vocabulary, context) -> network."""

CAPTIONER_NETWORKS: dict[type[ModelConfig], Callable[..., EncoderDecoder]] = {CaptionerConfig: _captioner}
"""(config, (height, width, channels) of the pictures, vocabulary) -> network."""

CLASSIFIER_NETWORKS: dict[type[ModelConfig], Callable[..., ClassifierNetwork]] = {
    ClassifierTransformerConfig: EncoderOnly,
    ClassifierRecurrentConfig: RecurrentClassifier,
    BagConfig: _bag,
}
"""(config, vocabulary, labels, tagging) -> network."""

PICTURE_NETWORKS: dict[type[ModelConfig], Callable[..., ClassifierNetwork]] = {VisionConfig: VisionTransformer}
"""(config, height, width, channels, labels) -> network."""

FORECASTER_NETWORKS: dict[type[ModelConfig], Callable[..., ForecastNetwork]] = {
    PatchConfig: PatchedEncoder,
    ForecastTransformerConfig: TransformerForecaster,
    ForecastRecurrentConfig: RecurrentForecaster,
    DLinearConfig: LinearForecaster,
    NLinearConfig: LinearForecaster,
}
"""(config, context, horizon, quantiles, known columns) -> network."""


def build_translator(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int, joint: bool
) -> EncoderDecoder:
    """A newly initialised encoder-decoder. `joint`: both sides share one vocabulary."""
    return TRANSLATOR_NETWORKS[type(config)](config, source_vocabulary, target_vocabulary, joint)


def build_pretrained(config: ModelConfig, vocabulary: int) -> Learner:
    """A newly initialised network for an objective of pretraining, which reads and writes one vocabulary."""
    own = PRETRAINED_NETWORKS.get(type(config))
    return build_translator(config, vocabulary, vocabulary, joint=True) if own is None else own(config, vocabulary)


def build_language_model(config: ModelConfig, vocabulary: int, context: int) -> LanguageModel:
    """A newly initialised language model. `context`: its context length in tokens."""
    return LANGUAGE_NETWORKS[type(config)](config, vocabulary, context)


def build_classifier(config: ModelConfig, vocabulary: int, labels: int, *, tagging: bool = False) -> ClassifierNetwork:
    """A newly initialised classifier. `tagging`: it labels each token."""
    return CLASSIFIER_NETWORKS[type(config)](config, vocabulary, labels, tagging=tagging)


def build_captioner(config: ModelConfig, shape: tuple[int, int, int], vocabulary: int) -> EncoderDecoder:
    """A newly initialised encoder-decoder that reads pictures of this height, width and number of channels."""
    return CAPTIONER_NETWORKS[type(config)](config, shape, vocabulary)


def build_picture_classifier(
    config: ModelConfig, height: int, width: int, channels: int, labels: int
) -> ClassifierNetwork:
    """A newly initialised classifier of pictures of this size."""
    return PICTURE_NETWORKS[type(config)](config, height, width, channels, labels)


def build_forecaster(config: ModelConfig, context: int, horizon: int, quantiles: int, known: int) -> ForecastNetwork:
    """A newly initialised forecaster. `quantiles`, `known`: the numbers of quantiles and of known columns."""
    return FORECASTER_NETWORKS[type(config)](config, context, horizon, quantiles, known)


def count_model(config: MarkovConfig, ids: Ids, begins: Places, vocabulary: int) -> Counted:
    """Fit a counted model to a corpus: ids [N] without start tokens, and the beginnings of its documents."""
    if config.skips:
        return SkipMarkov.fit(ids, begins, vocabulary, config.skips, config.mask, config.smoothing)
    return Markov.fit(ids, begins, vocabulary, config.order, config.smoothing)


def counted_model(config: MarkovConfig, vocabulary: int, tables: Mapping[str, Tensor]) -> Counted:
    """The counted model of stored tables. A `ValueError` names a table that does not fit."""
    model: Counted = SkipMarkov(vocabulary, config.skips, tables) if config.skips else Markov(vocabulary, tables)
    if isinstance(model, Markov) and model.order != config.order:
        raise ValueError(f"tables of order {model.order}, not {config.order}")
    check_values(tables, vocabulary - 1)
    return model
