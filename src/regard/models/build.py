"""The one table from config to network."""

from collections.abc import Callable

from regard.models.config import ModelConfig, RecurrentConfig, TransformerConfig
from regard.models.network import EncoderDecoder
from regard.models.recurrent import Recurrent
from regard.models.transformer import Transformer

MODELS: dict[type[TransformerConfig | RecurrentConfig], Callable[..., EncoderDecoder]] = {
    TransformerConfig: Transformer,
    RecurrentConfig: Recurrent,
}


def build_model(config: ModelConfig, source_vocabulary: int, target_vocabulary: int, joint: bool) -> EncoderDecoder:
    """A freshly initialised network; `joint` says that both sides share one vocabulary."""
    return MODELS[type(config)](config, source_vocabulary, target_vocabulary, joint)
