"""The settings of every network, one group for each kind and each use, and the tables of kinds. No torch."""

from regard.models.config.base import Documents, LabelsOf, ModelConfig
from regard.models.config.forecast import (
    DLinearConfig,
    ForecastRecurrentConfig,
    ForecastTransformerConfig,
    NLinearConfig,
    PatchConfig,
)
from regard.models.config.linear import BagConfig, MarkovConfig
from regard.models.config.presets import SIZES
from regard.models.config.recurrent import (
    ClassifierRecurrentConfig,
    LanguageRecurrentConfig,
    RecurrentBase,
    RecurrentConfig,
    RecurrentPairBase,
    RecurrentReaderBase,
)
from regard.models.config.traits import MIXER_TRAITS, SCORE_TRAITS, MixerTraits, ScoreTraits
from regard.models.config.transformer import (
    CaptionerConfig,
    ClassifierTransformerConfig,
    LanguageTransformerConfig,
    MaskedTransformerConfig,
    PrefixConfig,
    TransformerBase,
    TransformerConfig,
    TransformerPairBase,
)
from regard.models.config.vision import VisionConfig

__all__ = [  # the tables and what they hold
    "CAPTIONERS",
    "CLASSIFIERS",
    "FORECASTERS",
    "LANGUAGE_MODELS",
    "MIXER_TRAITS",
    "PICTURE_CLASSIFIERS",
    "PRETRAINED",
    "SCORE_TRAITS",
    "SIZES",
    "TRANSLATORS",
    "BagConfig",
    "CaptionerConfig",
    "ClassifierRecurrentConfig",
    "ClassifierTransformerConfig",
    "DLinearConfig",
    "Documents",
    "ForecastRecurrentConfig",
    "ForecastTransformerConfig",
    "LabelsOf",
    "LanguageRecurrentConfig",
    "LanguageTransformerConfig",
    "MarkovConfig",
    "MaskedTransformerConfig",
    "MixerTraits",
    "ModelConfig",
    "NLinearConfig",
    "PatchConfig",
    "PrefixConfig",
    "RecurrentBase",
    "RecurrentConfig",
    "RecurrentPairBase",
    "RecurrentReaderBase",
    "ScoreTraits",
    "TransformerBase",
    "TransformerConfig",
    "TransformerPairBase",
    "VisionConfig",
]

TRANSLATORS: dict[str, type[ModelConfig]] = {
    "transformer": TransformerConfig,
    "recurrent": RecurrentConfig,
    "prefix": PrefixConfig,
}
"""The networks that translate, by `model.kind`; the first is the default."""

LANGUAGE_MODELS: dict[str, type[ModelConfig]] = {
    "transformer": LanguageTransformerConfig,
    "recurrent": LanguageRecurrentConfig,
    "markov": MarkovConfig,
}
"""The networks that model language, by `model.kind`."""

CLASSIFIERS: dict[str, type[ModelConfig]] = {
    "transformer": ClassifierTransformerConfig,
    "recurrent": ClassifierRecurrentConfig,
    "bag": BagConfig,
}
"""The networks that classify, by `model.kind`."""

PRETRAINED: dict[str, type[ModelConfig]] = {"encoder": MaskedTransformerConfig, **TRANSLATORS}
"""The networks that are pretrained by corrupted texts, by `model.kind`."""

CAPTIONERS: dict[str, type[ModelConfig]] = {"transformer": CaptionerConfig}
"""The networks that describe pictures, by `model.kind`."""

PICTURE_CLASSIFIERS: dict[str, type[ModelConfig]] = {"vit": VisionConfig}
"""The networks that classify pictures, by `model.kind`."""

FORECASTERS: dict[str, type[ModelConfig]] = {
    "patch": PatchConfig,
    "transformer": ForecastTransformerConfig,
    "recurrent": ForecastRecurrentConfig,
    "dlinear": DLinearConfig,
    "nlinear": NLinearConfig,
}
"""The networks that forecast series, by `model.kind`."""
