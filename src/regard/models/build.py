"""The one table from config to network."""

from regard.models.config import ModelConfig
from regard.models.transformer import Transformer

MODELS = {"transformer": Transformer}


def build_model(config: ModelConfig, source_vocabulary: int, target_vocabulary: int, joint: bool) -> Transformer:
    """A freshly initialised network; `joint` says that both sides share one vocabulary."""
    return MODELS[config.kind](config, source_vocabulary, target_vocabulary, joint)
