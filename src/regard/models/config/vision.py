"""The settings of networks that read pictures: the Vision Transformer, plain and compact."""

from typing import Literal

from pydantic import Field, model_validator

from regard.models.config.patches import MOST_PATCHES, PatchSettings, PlacesOfPatches, check_places
from regard.models.config.presets import PRESETS
from regard.models.config.traits import MixerNames, ScoreName
from regard.models.config.transformer import ClassifierTransformerConfig


class VisionConfig(PatchSettings):
    """A Vision Transformer: patches for tokens (Dosovitskiy et al. 2021). The defaults are its compact form (CCT: Hassani et al. 2021)."""

    presets = PRESETS["vit"]

    kind: Literal["vit"] = "vit"
    """Which network."""
    preset: Literal["tiny", "small", "base"] = "tiny"
    """The size that fills whatever of layers, width, heads and feed_forward is not given."""
    layers: int = Field(default=3, ge=1, le=64)
    """Blocks."""
    width: int = Field(default=96, ge=4, le=8192)
    """Width of the hidden states."""
    heads: int = Field(default=3, ge=1, le=128)
    """Attention heads; must divide the width."""
    feed_forward: int = Field(default=192, ge=1, le=65536)
    """Inner width of the position-wise network."""
    convolutions: int = Field(default=2, ge=1, le=6)
    """With tokenizer convolution: how many there are, so how often height and width are halved."""
    patch: int = Field(default=4, ge=1, le=256)
    """With tokenizer patches: pixels on a side of a patch."""
    positions: PlacesOfPatches = "learned"
    """How the place of a patch is told: a learned vector for each, or sinusoids of its row and its column."""
    pooling: Literal["attention", "mean", "max", "class"] = "attention"
    """How patches become one vector: by learned attention weights (CCT's sequence pooling), their mean or maximum, or a class token."""
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    """Share of units zeroed in training."""
    norm: Literal["pre", "post"] = "pre"
    """Normalise before each sublayer, or after it."""
    norm_kind: Literal["layer", "rms"] = "layer"
    """How: by mean and variance, or by the root of the mean square alone."""
    norm_epsilon: float = Field(default=1e-5, gt=0.0, le=1e-2)
    """What is added to the variance; timm's Vision Transformers have 1e-6."""
    norm_place: Literal["tokens", "pooled"] = "tokens"
    """Where the last norm acts: on every token before pooling, or on the pooled vector (timm's fc_norm)."""
    activation: Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu"] = "gelu"
    """The non-linearity of the feed-forward network."""
    mixer: MixerNames = "attention"
    """The part of a block that moves information between patches: one name, or a list with one for each block."""
    score: ScoreName = "scaled_dot"
    """How a query is compared with a key."""

    @model_validator(mode="after")
    def _check(self) -> "VisionConfig":
        check_places("positions", self.positions, self.width)
        if self.norm == "post" and self.norm_place == "pooled":
            raise ValueError(
                "model.norm 'post' has no last norm, so model.norm_place 'pooled' has no meaning; leave it out"
            )
        self.stack(MOST_PATCHES)
        return self

    def tokens(self, height: int, width: int) -> int:
        """Tokens of a picture, the class token included."""
        rows, columns = self.grid(height, width)
        return rows * columns + (self.pooling == "class")

    def check_size(self, height: int, width: int) -> None:
        """Refuse pictures that the network cannot read."""
        self.check_grid(height, width, extra=int(self.pooling == "class"))

    def stack(self, tokens: int) -> ClassifierTransformerConfig:
        """The settings of the blocks, which are those of every Transformer. Positions are added before them."""
        return ClassifierTransformerConfig(
            layers=self.layers,
            width=self.width,
            heads=self.heads,
            feed_forward=self.feed_forward,
            dropout=self.dropout,
            norm=self.norm,
            norm_kind=self.norm_kind,
            norm_epsilon=self.norm_epsilon,
            activation=self.activation,
            mixer=self.mixer,
            score=self.score,
            positions="sinusoidal",
            max_positions=tokens,
        )
