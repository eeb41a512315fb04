"""What a model can be asked to be. A preset means a size and nothing else; any size can be overridden beside it."""

from typing import Any, Literal

from pydantic import Field, model_validator

from regard.settings import Settings

PRESETS: dict[str, dict[str, int]] = {
    "tiny": {"layers": 4, "width": 128, "heads": 4, "feed_forward": 256},
    "tiny-deep": {"layers": 2, "encoder_layers": 9, "width": 128, "heads": 4, "feed_forward": 256},
    "small": {"layers": 4, "width": 256, "heads": 4, "feed_forward": 1024},
    "base": {"layers": 6, "width": 512, "heads": 8, "feed_forward": 2048},
}
"""`base` is the lectures' size (Vaswani et al. 2017, table 3); `tiny` is that of Wu et al. 2021 for Multi30k. A decoder takes
a step for each token and an encoder one for a sentence, so `tiny-deep`, nine blocks under two, is fast (Kasai et al. 2021)."""

SIZES = frozenset(size for preset in PRESETS.values() for size in preset)
"""Every setting that a preset decides."""


class ModelConfig(Settings):
    """An encoder-decoder Transformer."""

    kind: Literal["transformer"] = "transformer"
    """Which network."""
    preset: Literal["tiny", "tiny-deep", "small", "base"] = "tiny"
    """The size that fills whatever of layers, width, heads and feed_forward is not given."""
    layers: int = Field(default=4, ge=1, le=64)
    """Blocks in the encoder and in the decoder."""
    encoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Blocks in the encoder, where it differs from `layers`."""
    decoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Blocks in the decoder, where it differs from `layers`."""
    width: int = Field(default=128, ge=2, le=8192)
    """Width of the embeddings and hidden states."""
    heads: int = Field(default=4, ge=1, le=128)
    """Attention heads; must divide the width."""
    feed_forward: int = Field(default=256, ge=1, le=65536)
    """Inner width of the position-wise network."""
    dropout: float = Field(default=0.15, ge=0.0, lt=1.0)
    """Share of units zeroed in training."""
    norm: Literal["pre", "post"] = "pre"
    """Normalise before each sublayer, or after it as in 2017."""
    positions: Literal["sinusoidal", "learned", "relative", "rotary"] = "sinusoidal"
    """How the order of tokens is told."""
    max_positions: int = Field(default=512, ge=1, le=65536)
    """The reach of learned positions; the others have no limit."""
    activation: Literal["relu", "gelu", "silu", "swiglu"] = "relu"
    """The non-linearity of the feed-forward network."""
    tie: bool = True
    """One matrix for the target embedding and the output, and for the source too where the vocabulary is joint."""

    @model_validator(mode="before")
    @classmethod
    def _fill_size(cls, values: Any) -> Any:
        if isinstance(values, dict):
            size = PRESETS.get(str(values.get("preset", "tiny")), {})
            return {**size, **{key: value for key, value in values.items() if value is not None or key not in size}}
        return values

    @model_validator(mode="after")
    def _check_heads(self) -> "ModelConfig":
        if self.width % self.heads:
            raise ValueError(
                f"model.width {self.width} does not divide by model.heads {self.heads}; change one of them"
            )
        if self.width % 2 or (self.positions == "rotary" and (self.width // self.heads) % 2):
            raise ValueError(f"model.width {self.width} with {self.heads} heads gives odd halves; use even numbers")
        return self

    @property
    def depth(self) -> tuple[int, int]:
        """Blocks in the encoder and in the decoder."""
        return self.encoder_layers or self.layers, self.decoder_layers or self.layers
