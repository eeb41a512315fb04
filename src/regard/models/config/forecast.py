"""The settings of forecasters: patched encoder, encoder-decoder Transformer, recurrent encoder-decoder, and linear maps.

All of them forecast one series at a time with the same weights for every series (channel independence, Nie et al. 2023).
"""

from typing import Literal

from pydantic import Field, model_validator

from regard.models.config.base import ModelConfig
from regard.models.config.presets import PRESETS
from regard.models.config.recurrent import RecurrentPairBase
from regard.models.config.transformer import TransformerBase, TransformerPairBase

InstanceNorm = Literal["standard", "last", "none"]
"""How a window is normalised before the network and its forecast is turned back."""


class PatchConfig(TransformerBase):
    """The encoder of a Transformer over patches of the past, with one linear map to all steps of the horizon (PatchTST)."""

    presets = PRESETS["forecaster"]

    kind: Literal["patch"] = "patch"  # type: ignore[assignment]
    """Which network."""
    layers: int = Field(default=3, ge=1, le=64)
    """Blocks of the encoder."""
    width: int = Field(default=16, ge=2, le=8192)
    """Width of the hidden states."""
    feed_forward: int = Field(default=128, ge=1, le=65536)
    """Inner width of the position-wise network."""
    dropout: float = Field(default=0.3, ge=0.0, lt=1.0)
    """Share of units zeroed in training."""
    head_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of units zeroed before the map to the horizon."""
    patch: int = Field(default=16, ge=1, le=4096)
    """Steps of a patch."""
    stride: int = Field(default=8, ge=1, le=4096)
    """Steps between the beginnings of two patches."""
    instance_norm: InstanceNorm = "standard"
    """What is taken from each window and given back: standard (mean and deviation, RevIN), last (the last value) or none."""

    @model_validator(mode="after")
    def _check_front(self) -> "PatchConfig":
        check_stride(self.patch, self.stride)
        check_front(self)
        return self

    @property
    def depth(self) -> tuple[int, int]:
        """Blocks of the encoder, and of the decoder, which there is not."""
        return self.layers, 0


class ForecastTransformerConfig(TransformerPairBase):
    """An encoder-decoder Transformer that writes the future patch by patch, each from the patches before (the lectures)."""

    presets = PRESETS["forecaster"]

    layers: int = Field(default=3, ge=1, le=64)
    """Blocks in the encoder and in the decoder."""
    width: int = Field(default=16, ge=2, le=8192)
    """Width of the hidden states."""
    feed_forward: int = Field(default=128, ge=1, le=65536)
    """Inner width of the position-wise network."""
    patch: int = Field(default=12, ge=1, le=4096)
    """Steps of a patch, of the past and of the future."""
    stride: int = Field(default=12, ge=1, le=4096)
    """Steps between the beginnings of two patches of the past."""
    instance_norm: InstanceNorm = "standard"
    """What is taken from each window and given back: standard (mean and deviation, RevIN), last (the last value) or none."""

    @model_validator(mode="after")
    def _check_front(self) -> "ForecastTransformerConfig":
        check_stride(self.patch, self.stride)
        check_front(self)
        return self


class ForecastRecurrentConfig(RecurrentPairBase):
    """A recurrent encoder-decoder that writes the future patch by patch, with attention to the past or without."""

    presets = PRESETS["recurrent_forecaster"]

    width: int = Field(default=64, ge=2, le=8192)
    """Width of the decoder's states."""
    patch: int = Field(default=12, ge=1, le=4096)
    """Steps of a patch, of the past and of the future; 1 reads and writes single values."""
    stride: int = Field(default=12, ge=1, le=4096)
    """Steps between the beginnings of two patches of the past."""
    instance_norm: InstanceNorm = "standard"
    """What is taken from each window and given back: standard (mean and deviation, RevIN), last (the last value) or none."""

    @model_validator(mode="after")
    def _check_stride(self) -> "ForecastRecurrentConfig":
        check_stride(self.patch, self.stride)
        return self


class DLinearConfig(ModelConfig):
    """Two linear maps from the past to the future: of the moving average, and of what remains (Zeng et al. 2023)."""

    kind: Literal["dlinear"] = "dlinear"
    """Which network."""
    kernel: int = Field(default=25, ge=1, le=4095)
    """Steps of the moving average, an odd number."""
    instance_norm: InstanceNorm = "none"
    """What is taken from each window and given back: none, last (the last value) or standard (mean and deviation, RevIN)."""

    @model_validator(mode="after")
    def _check_kernel(self) -> "DLinearConfig":
        if self.kernel % 2 == 0:
            raise ValueError(
                f"model.kernel {self.kernel} is even, but a moving average has one step in its middle; use {self.kernel + 1}"
            )
        return self


class NLinearConfig(ModelConfig):
    """One linear map from the past, less its last value, to the future less the same value (Zeng et al. 2023)."""

    kind: Literal["nlinear"] = "nlinear"
    """Which network."""
    instance_norm: InstanceNorm = "last"
    """What is taken from each window and given back: last (the last value), standard (mean and deviation, RevIN) or none."""


def check_front(config: TransformerBase) -> None:
    """Refuse settings of token embeddings: a patch is mapped, and its map is not normed or scaled."""
    if config.embedding_norm or not config.scale_embedding:
        name = "embedding_norm" if config.embedding_norm else "scale_embedding"
        raise ValueError(
            f"model.{name} is for embeddings of tokens, and a forecaster reads patches of numbers; leave it out, or set task to "
            "'translate', 'generate' or 'classify'"
        )


def check_stride(patch: int, stride: int) -> None:
    """Refuse patches that leave steps out."""
    if stride > patch:
        raise ValueError(
            f"model.stride {stride} is above model.patch {patch}: steps between two patches would not be read; lower it"
        )
