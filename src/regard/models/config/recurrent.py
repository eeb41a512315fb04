"""The settings of recurrent networks: to translate, to model language, and to classify."""

from typing import Literal

from pydantic import Field, model_validator

from regard.models.config.base import CopySettings, SizedConfig
from regard.models.config.presets import PRESETS
from regard.models.config.traits import SCORE_TRAITS, ScoreName


class RecurrentBase(SizedConfig):
    """The settings that every recurrent network has."""

    presets = PRESETS["recurrent"]

    kind: Literal["recurrent"] = "recurrent"
    """Which network."""
    preset: Literal["tiny", "small", "base"] = "tiny"
    """The size that fills whatever of layers and width is not given."""
    layers: int = Field(default=1, ge=1, le=64)
    """Layers of the encoder and of the decoder."""
    width: int = Field(default=256, ge=2, le=8192)
    """Width of the decoder's states."""
    embedding: int | None = Field(default=None, ge=2, le=8192)
    """Width of the embeddings, where it differs from `width`."""
    cell: Literal["rnn", "gru", "lstm"] = "lstm"
    """The recurrent cell."""
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Share of units zeroed in training: of embeddings, between layers, before the output."""

    @property
    def embedding_width(self) -> int:
        """Width of the embeddings."""
        return self.embedding or self.width


class RecurrentReaderBase(RecurrentBase):
    """The settings of a recurrent network that reads a source with an encoder."""

    encoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Layers of the encoder, where they differ from `layers`."""
    encoder_width: int | None = Field(default=None, ge=2, le=8192)
    """Width of the encoder's states, both directions together, where it differs from `width`."""
    encoder: Literal["recurrent", "convolutional"] = "recurrent"
    """The network that reads the source."""
    bidirectional: bool = True
    """Whether a recurrent encoder reads from both ends, each giving half of a state."""
    kernel: int = Field(default=3, ge=1, le=63)
    """Tokens that one layer of a convolutional encoder sees at once, an odd number."""

    @model_validator(mode="after")
    def _check_encoder(self) -> "RecurrentReaderBase":
        if self.encoder == "recurrent" and self.bidirectional and self.source_width % 2:
            raise ValueError(
                f"a bidirectional encoder of width {self.source_width} has no equal halves; use an even model.encoder_width"
            )
        if self.encoder == "convolutional" and (self.kernel % 2 == 0 or self.embedding_width % 2):
            raise ValueError(
                f"a convolutional encoder needs an odd model.kernel, not {self.kernel}, and an even model.embedding, "
                f"not {self.embedding_width}"
            )
        return self

    @property
    def depth(self) -> tuple[int, int]:
        """Layers of the encoder, and of the decoder, if there is one."""
        return self.encoder_layers or self.layers, 0

    @property
    def source_width(self) -> int:
        """Width of the encoder's states."""
        return self.encoder_width or self.width


class RecurrentPairBase(RecurrentReaderBase):
    """The settings of a recurrent encoder with a recurrent decoder, with attention or through a single vector."""

    decoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Layers of the decoder, where they differ from `layers`."""
    attention: bool = True
    """Whether the decoder looks at the source; without, one vector tells it all."""
    input_feeding: bool = False
    """Attend with the new state and feed the result to the next step (Luong), instead of attending with the last one (Bahdanau)."""
    score: ScoreName = "additive"
    """How the decoder's state is compared with the encoder's."""
    score_width: int | None = Field(default=None, ge=1, le=8192)
    """Inner width of the score, or of the space that it compares in; `width` if not given, of latent a quarter."""
    max_positions: int = Field(default=512, ge=1, le=65536)
    """The longest source of the score location; the others have no limit."""

    @model_validator(mode="after")
    def _check_attention(self) -> "RecurrentPairBase":
        if self.input_feeding and not self.attention:
            raise ValueError("model.input_feeding feeds what attention found; it needs model.attention = true")
        if self.attention and SCORE_TRAITS[self.score].equally_wide and self.source_width != self.width:
            raise ValueError(
                f"model.score {self.score!r} compares states of equal width, but model.encoder_width is {self.source_width} and "
                f"model.width {self.width}; make them equal or choose another score"
            )
        return self

    @property
    def depth(self) -> tuple[int, int]:
        """Layers of the encoder and of the decoder."""
        return self.encoder_layers or self.layers, self.decoder_layers or self.layers

    @property
    def cross_attention_layers(self) -> int:
        """Layers of the decoder that attend to the source."""
        return int(self.attention)

    @property
    def reach(self) -> int | None:
        """The longest source of the score `location`, end mark included; None: any."""
        return self.max_positions if self.attention and self.score == "location" else None


class RecurrentConfig(CopySettings, RecurrentPairBase):
    """A recurrent encoder-decoder for text."""

    tie: bool = True
    """One matrix for the target embedding and the output, and for the source too where the vocabulary is joint."""

    @model_validator(mode="after")
    def _check_copy(self) -> "RecurrentConfig":
        if self.copy and not self.attention:
            raise ValueError("model.copy = true points to the source; it needs model.attention = true")
        return self


class LanguageRecurrentConfig(RecurrentBase):
    """A recurrent language model."""

    decoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Layers of the decoder, where they differ from `layers`."""
    tie: bool = True
    """One matrix for the embedding and the output."""

    @property
    def depth(self) -> tuple[int, int]:
        """Layers of the encoder, which there is not, and of the decoder."""
        return 0, self.decoder_layers or self.layers


class ClassifierRecurrentConfig(RecurrentReaderBase):
    """A recurrent encoder with a head for labels."""

    pooling: Literal["final", "mean", "max", "attention"] = "final"
    """The vector of a text: its final states (of convolutions the mean), the mean or maximum of all, or a mean by learned attention."""
