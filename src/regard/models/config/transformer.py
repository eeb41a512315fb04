"""The settings of Transformers: to translate, to model language, and to classify."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, model_validator

from regard.models.config.base import CopySettings
from regard.models.config.mixing import MixerSettings, by_layer, check_mixer, listed
from regard.models.config.patches import PatchSettings, PlacesOfPatches, check_places
from regard.models.config.presets import PRESETS
from regard.models.config.traits import (
    MIXER_TRAITS,
    SCORE_TRAITS,
    MixerNames,
    OptionalMixerNames,
    ScoreName,
    scores_reading_rotary,
)


class TransformerBase(MixerSettings):
    """The settings that every Transformer has."""

    presets = PRESETS["transformer"]

    kind: Literal["transformer", "prefix"] = "transformer"
    """Which network."""
    preset: Literal["tiny", "tiny-deep", "small", "base"] = "tiny"
    """The size that fills whatever of layers, width, heads and feed_forward is not given."""
    layers: int = Field(default=4, ge=1, le=64)
    """Blocks in the encoder and in the decoder."""
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
    norm_kind: Literal["layer", "rms"] = "layer"
    """How: by mean and variance (Ba et al. 2016), or by the root of the mean square alone (Zhang and Sennrich 2019)."""
    norm_epsilon: float = Field(default=1e-5, gt=0.0, le=0.1)
    """The number that keeps a norm from dividing by zero."""
    embedding_norm: bool = False
    """A norm after the embeddings and their positions, as BART has it."""
    scale_embedding: bool = True
    """Multiply embeddings by the square root of the width (Vaswani et al. 2017, section 3.4)."""
    mixer: MixerNames = "attention"
    """The part of a block that moves information between positions: one name, or a list with one for each block."""
    positions: Literal["sinusoidal", "learned", "relative", "rotary"] = "rotary"
    """How the order of tokens is told. Where none is given and the score does not read rotary ones, they are sinusoidal."""
    max_positions: int = Field(default=512, ge=1, le=65536)
    """The reach of learned positions, of hyena's filters and of linformer; the others have no limit."""
    activation: Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"] = "relu"
    """The non-linearity of the feed-forward network."""
    score: ScoreName = "scaled_dot"
    """How a query is compared with a key; all but the scaled dot product are slower."""
    score_width: int | None = Field(default=None, ge=1, le=8192)
    """Inner width of the scores additive, concat, mahalanobis and latent; that of a head if not given, of latent a quarter."""

    @model_validator(mode="wrap")
    @classmethod
    def _fill_positions(cls, values: Any, handler: Callable[[Any], Any]) -> Any:
        if not isinstance(values, dict) or "positions" in values:
            return handler(values)
        names = [name for side in ("mixer", "encoder_mixer", "decoder_mixer") for name in listed(values.get(side))]
        blind = any(name in MIXER_TRAITS and not MIXER_TRAITS[name].reads_rotary for name in names)
        if not blind and values.get("score", "scaled_dot") in scores_reading_rotary():
            return handler(values)
        config = handler({"positions": "sinusoidal", **values})
        config.model_fields_set.discard("positions")  # filled in, not given
        return config

    @model_validator(mode="after")
    def _check_heads(self) -> "TransformerBase":
        if self.width % self.heads:
            raise ValueError(
                f"model.width {self.width} does not divide by model.heads {self.heads}; change one of them"
            )
        if self.width % 2 or (self.positions == "rotary" and (self.width // self.heads) % 2):
            raise ValueError(f"model.width {self.width} with {self.heads} heads gives odd halves; use even numbers")
        return self

    @model_validator(mode="after")
    def _check_score(self) -> "TransformerBase":
        if not SCORE_TRAITS[self.score].reads_keys:
            raise ValueError(
                "model.score 'location' does not look at the keys, which in a Transformer are all that tells one word from another; "
                "choose another score, or model.kind = 'recurrent'"
            )
        if self.positions == "rotary" and not SCORE_TRAITS[self.score].reads_rotary:
            raise ValueError(
                f"model.score {self.score!r} does not read the distance that model.positions 'rotary' puts into queries and keys; "
                f"choose other positions, or one of {', '.join(scores_reading_rotary())}"
            )
        return self

    @model_validator(mode="after")
    def _check_mixers(self) -> "TransformerBase":
        for causal, (setting, names), depth in zip((False, True), self._mixer_settings, self.depth, strict=True):
            if isinstance(names, tuple) and depth and len(names) != depth:
                side = "decoder" if causal else "encoder"
                raise ValueError(
                    f"model.{setting} lists {len(names)} mixers, but the {side} has {depth} layers; "
                    "give one for each layer, or one name for all"
                )
            for name in dict.fromkeys(by_layer(names, depth)):
                check_mixer(self, name, setting, causal=causal, sizes=(self.max_positions, self.width, self.heads))
                if not MIXER_TRAITS[name].reads_bias and self.positions == "relative":
                    raise ValueError(
                        f"model.{setting} {name!r} does not compare all pairs of tokens, to which model.positions 'relative' "
                        "adds; choose 'rotary', 'learned' or 'sinusoidal'"
                    )
                if not MIXER_TRAITS[name].reads_rotary and self.positions == "rotary":
                    raise ValueError(
                        f"model.{setting} {name!r} does not read the distance that model.positions 'rotary' puts into queries "
                        "and keys; choose 'sinusoidal' or 'learned'"
                    )
        return self

    @property
    def _mixer_settings(self) -> tuple[tuple[str, str | tuple[str, ...]], tuple[str, str | tuple[str, ...]]]:
        """The setting with the mixers of the encoder, and that of the decoder: name and value."""
        return ("mixer", self.mixer), ("mixer", self.mixer)

    @property
    def mixers(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The mixer of every block of the encoder, and of the decoder."""
        (_, encoder), (_, decoder) = self._mixer_settings
        return by_layer(encoder, self.depth[0]), by_layer(decoder, self.depth[1])

    @property
    def depth(self) -> tuple[int, int]:
        """Blocks of the encoder and of the decoder."""
        return self.layers, self.layers

    @property
    def remarks(self) -> list[str]:
        """Notes for the user on settings that were filled in otherwise than by their defaults."""
        usual = TransformerBase.model_fields["positions"].default
        if "positions" in self.model_fields_set or self.positions == usual:
            return []
        return [
            f"model.positions = {self.positions!r}, not {usual!r}: model.score {self.score!r} does not read {usual} positions; "
            f"to compare it with {', '.join(scores_reading_rotary())}, set model.positions for all of them"
        ]

    @property
    def reach(self) -> int | None:
        """The longest sequence that there are positions for, end mark included; None: any."""
        encoder, decoder = self.mixers
        bounded = any(MIXER_TRAITS[name].bounded for name in (*encoder, *decoder))
        return self.max_positions if self.positions == "learned" or bounded else None


class TransformerPairBase(TransformerBase):
    """The settings of a Transformer with an encoder and a decoder."""

    kind: Literal["transformer"] = "transformer"
    """Which network."""
    encoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Blocks in the encoder, where it differs from `layers`."""
    decoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Blocks in the decoder, where it differs from `layers`."""
    encoder_mixer: OptionalMixerNames = None
    """The mixers of the encoder, where they differ from `mixer`."""
    decoder_mixer: OptionalMixerNames = None
    """The mixers of the decoder, where they differ from `mixer`."""

    @property
    def _mixer_settings(self) -> tuple[tuple[str, str | tuple[str, ...]], tuple[str, str | tuple[str, ...]]]:
        """The setting with the mixers of the encoder, and that of the decoder: name and value."""
        of_both = ("mixer", self.mixer)
        encoder = of_both if self.encoder_mixer is None else ("encoder_mixer", self.encoder_mixer)
        return encoder, of_both if self.decoder_mixer is None else ("decoder_mixer", self.decoder_mixer)

    @property
    def depth(self) -> tuple[int, int]:
        """Blocks of the encoder and of the decoder."""
        return self.encoder_layers or self.layers, self.decoder_layers or self.layers

    @property
    def cross_attention_layers(self) -> int:
        """Layers of the decoder that attend to the source."""
        return self.depth[1]


class TransformerConfig(CopySettings, TransformerPairBase):
    """An encoder-decoder Transformer for text."""

    tie: bool = True
    """One matrix for the target embedding and the output, and for the source too where the vocabulary is joint."""
    output_bias: bool = False
    """A bias for each output, as Marian has it."""
    source_end: bool = True
    """Whether the encoder reads the end mark of a source. Models of OpenNMT do not."""


class CaptionerConfig(PatchSettings, TransformerConfig):
    """An encoder-decoder Transformer whose source is a picture: a grid of patches in place of words."""

    convolutions: int = Field(default=3, ge=1, le=6)
    """With tokenizer convolution: how many there are, so how often height and width are halved."""
    patch: int = Field(default=8, ge=1, le=256)
    """With tokenizer patches: pixels on a side of a patch."""
    patch_positions: PlacesOfPatches = "learned"
    """How the place of a patch is told: a learned vector for each, or sinusoids of its row and its column. `positions` are of the words."""

    @model_validator(mode="after")
    def _check_copy(self) -> "CaptionerConfig":
        if self.copy:
            raise ValueError(
                "model.copy = true points to pieces of a source text, and a picture has none; leave it out"
            )
        return self

    @model_validator(mode="after")
    def _check_places(self) -> "CaptionerConfig":
        check_places("patch_positions", self.patch_positions, self.width)
        return self

    def check_size(self, height: int, width: int) -> None:
        """Refuse pictures that the network cannot read."""
        self.check_grid(height, width)
        rows, columns = self.grid(height, width)
        bounded = next((name for name in self.mixers[0] if MIXER_TRAITS[name].bounded), None)
        if bounded is not None and rows * columns > self.max_positions:
            raise ValueError(
                f"model.mixer {bounded!r} reaches over model.max_positions {self.max_positions}, and pictures of {width} x {height} "
                f"have {rows * columns} patches; raise it"
            )


class PrefixConfig(CopySettings, TransformerBase):
    """A prefix language model: one stack that reads the source in both directions and writes the target after it."""

    presets = PRESETS["prefix"]

    kind: Literal["prefix"] = "prefix"
    """Which network."""
    preset: Literal["tiny", "small", "base"] = "tiny"
    """The size that fills whatever of layers, width, heads and feed_forward is not given."""
    layers: int = Field(default=10, ge=1, le=64)
    """Blocks of the stack, which source and target share."""
    tie: bool = True
    """One matrix for the embedding, which source and target share, and the output."""

    @model_validator(mode="before")
    @classmethod
    def _check_masked(cls, values: Any) -> Any:
        names = listed(values.get("mixer")) if isinstance(values, dict) else ()
        other = next((name for name in names if name != "attention" and name in MIXER_TRAITS), None)
        if other is not None:
            raise ValueError(
                f"model.mixer {other!r} cannot be masked as model.kind 'prefix' needs it, all of the source and the past of the target; "
                "set it to 'attention', or model.kind to 'transformer'"
            )
        return values

    @property
    def depth(self) -> tuple[int, int]:
        """Blocks of an encoder, which there is not, and of the stack."""
        return 0, self.layers

    @property
    def cross_attention_layers(self) -> int:
        """Layers that attend to the source: all."""
        return self.layers

    @property
    def needs_joint_vocabulary(self) -> bool:
        """Whether source and target must have one vocabulary: they have one embedding."""
        return True


class LanguageTransformerConfig(TransformerBase):
    """A decoder-only Transformer: a language model."""

    kind: Literal["transformer"] = "transformer"
    """Which network."""
    decoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Blocks of the decoder, where it differs from `layers`."""
    tie: bool = True
    """One matrix for the embedding and the output."""

    @property
    def depth(self) -> tuple[int, int]:
        """Blocks of the encoder, which there is not, and of the decoder."""
        return 0, self.decoder_layers or self.layers


class MaskedTransformerConfig(TransformerBase):
    """The encoder of a Transformer that says what stood at masked places, as BERT."""

    kind: Literal["encoder"] = "encoder"  # type: ignore[assignment]
    """Which network."""
    encoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Blocks of the encoder, where it differs from `layers`."""
    tie: bool = True
    """One matrix for the embedding and the output."""
    output_bias: bool = False
    """A bias for each output, as BERT has it; such a network trains in float32."""

    @property
    def depth(self) -> tuple[int, int]:
        """Blocks of the encoder, and of the decoder, which there is not."""
        return self.encoder_layers or self.layers, 0


class ClassifierTransformerConfig(TransformerBase):
    """The encoder of a Transformer with a head for labels."""

    kind: Literal["transformer"] = "transformer"
    """Which network."""
    encoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Blocks of the encoder, where it differs from `layers`."""
    pooling: Literal["mean", "max", "class", "attention"] = "mean"
    """The vector of a text: the mean or the maximum of its states, that of a class token, or their mean weighted by learned attention."""
    pooler: bool = False
    """A linear map and tanh between that vector and the labels, as BERT has it."""
    output_bias: bool = False
    """A bias for each label."""
    causal: bool = False
    """Whether a token sees only those before it, as in a language model; a run that starts from one has it so."""

    @model_validator(mode="after")
    def _check_causal(self) -> "ClassifierTransformerConfig":
        if not self.causal:
            return self
        if self.pooling == "class":
            raise ValueError(
                "model.pooling 'class' reads the first token, which with model.causal sees no other; choose 'mean', 'max' or "
                "'attention'"
            )
        for name in dict.fromkeys(self.mixers[0]):
            check_mixer(self, name, "mixer", causal=True, sizes=(self.max_positions, self.width, self.heads))
        return self

    @property
    def depth(self) -> tuple[int, int]:
        """Blocks of the encoder, and of the decoder, which there is not."""
        return self.encoder_layers or self.layers, 0
