"""What a model can be asked to be, one group of settings a kind.

A preset means a size and nothing else; any size can be overridden beside it.
"""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from regard.settings import Settings

Task = Literal["translate", "generate", "classify"]
"""What a model is for."""

Documents = Literal["file", "line"]
"""What is a text to a language model: all lines together, or each by itself."""

LabelsOf = Literal["text", "token"]
"""What a classifier tells the label of: a text, or each of its words (tagging)."""

PRESETS: dict[str, dict[str, dict[str, int]]] = {
    "transformer": {
        "tiny": {"layers": 4, "width": 128, "heads": 4, "feed_forward": 256},
        "tiny-deep": {"layers": 2, "encoder_layers": 9, "width": 128, "heads": 4, "feed_forward": 256},
        "small": {"layers": 4, "width": 256, "heads": 4, "feed_forward": 1024},
        "base": {"layers": 6, "width": 512, "heads": 8, "feed_forward": 2048},
    },
    "recurrent": {
        "tiny": {"layers": 1, "width": 256},
        "small": {"layers": 2, "width": 512},
        "base": {"layers": 4, "width": 1000},
    },
}
"""`base` is the lectures' size (Vaswani et al. 2017, table 3) and that of Luong et al. 2015; a Transformer's `tiny` is that of Wu et al.
2021 for Multi30k. A decoder takes a step for each token and an encoder one for a sentence, so `tiny-deep`, nine blocks under two, is
fast (Kasai et al. 2021)."""

SIZES = frozenset(size for kind in PRESETS.values() for preset in kind.values() for size in preset)
"""Every setting that a preset decides."""

ScoreName = Literal[
    "parameter_free",
    "dot",
    "scaled_dot",
    "general",
    "concat",
    "additive",
    "cosine",
    "location",
    "mahalanobis",
    "gaussian",
    "latent",
]
TURNABLE = ("dot", "scaled_dot", "cosine", "gaussian")  # scores that rotary positions turn into scores of distance
EQUALLY_WIDE = ("parameter_free", "mahalanobis")  # scores that take a query and a key as they are


class _Sized(Settings):
    """Settings of one kind of network, whose preset fills the sizes that are not given."""

    presets: ClassVar[dict[str, dict[str, int]]]
    if TYPE_CHECKING:  # what every kind has, in its own order and words
        layers: int
        encoder_layers: int | None
        decoder_layers: int | None

    @property
    def depth(self) -> tuple[int, int]:
        """Layers of the encoder and of the decoder."""
        return self.encoder_layers or self.layers, self.decoder_layers or self.layers

    @model_validator(mode="before")
    @classmethod
    def _fill_size(cls, values: Any) -> Any:
        if isinstance(values, dict):
            size = cls.presets.get(str(values.get("preset", "tiny")), {})
            return {**size, **{key: value for key, value in values.items() if value is not None or key not in size}}
        return values


class TransformerConfig(_Sized):
    """A Transformer: encoder and decoder where there is a source, a decoder alone where there is none."""

    presets = PRESETS["transformer"]

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
    positions: Literal["sinusoidal", "learned", "relative", "rotary"] = "rotary"
    """How the order of tokens is told. Where none is given and the score does not read rotary ones, they are sinusoidal."""
    max_positions: int = Field(default=512, ge=1, le=65536)
    """The reach of learned positions; the others have no limit."""
    activation: Literal["relu", "gelu", "silu", "swiglu"] = "relu"
    """The non-linearity of the feed-forward network."""
    score: ScoreName = "scaled_dot"
    """How a query is compared with a key; all but the scaled dot product are slower."""
    score_width: int | None = Field(default=None, ge=1, le=8192)
    """Inner width of the scores additive, concat, mahalanobis and latent; that of a head if not given, of latent a quarter."""
    tie: bool = True
    """One matrix for the target embedding and the output, and for the source too where the vocabulary is joint."""
    pooling: Literal["mean", "max", "class"] = "mean"
    """Of a classifier: what stands for a text: the mean or the maximum of its states, or that of a class token before it."""

    @model_validator(mode="before")
    @classmethod
    def _fill_positions(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("score", "scaled_dot") not in TURNABLE:
            return {"positions": "sinusoidal", **values}
        return values

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        if self.width % self.heads:
            raise ValueError(
                f"model.width {self.width} does not divide by model.heads {self.heads}; change one of them"
            )
        if self.width % 2 or (self.positions == "rotary" and (self.width // self.heads) % 2):
            raise ValueError(f"model.width {self.width} with {self.heads} heads gives odd halves; use even numbers")
        return self

    @model_validator(mode="after")
    def _check_score(self) -> Self:
        if self.score == "location":
            raise ValueError(
                "model.score 'location' does not look at the keys, which in a Transformer are all that tells one word from another; "
                "choose another score, or model.kind = 'recurrent'"
            )
        if self.positions == "rotary" and self.score not in TURNABLE:
            raise ValueError(
                f"model.score {self.score!r} does not read the distance that model.positions 'rotary' puts into queries and keys; "
                f"choose other positions, or one of {', '.join(TURNABLE)}"
            )
        return self

    @property
    def looking_layers(self) -> int:
        """Layers of the decoder that attend to the source."""
        return self.depth[1]

    @property
    def reach(self) -> int | None:
        """The longest sequence that there are positions for, end mark included; None: any."""
        return self.max_positions if self.positions == "learned" else None


class RecurrentConfig(_Sized):
    """A recurrent network: where there is a source an encoder-decoder, with attention or through a single vector."""

    presets = PRESETS["recurrent"]

    kind: Literal["recurrent"] = "recurrent"
    """Which network."""
    preset: Literal["tiny", "small", "base"] = "tiny"
    """The size that fills whatever of layers and width is not given."""
    layers: int = Field(default=1, ge=1, le=64)
    """Layers of the encoder and of the decoder."""
    encoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Layers of the encoder, where they differ from `layers`."""
    decoder_layers: int | None = Field(default=None, ge=1, le=64)
    """Layers of the decoder, where they differ from `layers`."""
    width: int = Field(default=256, ge=2, le=8192)
    """Width of the decoder's states."""
    encoder_width: int | None = Field(default=None, ge=2, le=8192)
    """Width of the encoder's states, both directions together, where it differs from `width`."""
    embedding: int | None = Field(default=None, ge=2, le=8192)
    """Width of the embeddings, where it differs from `width`."""
    cell: Literal["rnn", "gru", "lstm"] = "lstm"
    """What a step does."""
    encoder: Literal["recurrent", "convolutional"] = "recurrent"
    """What reads the source."""
    bidirectional: bool = True
    """Whether a recurrent encoder reads from both ends, each giving half of a state."""
    kernel: int = Field(default=3, ge=1, le=63)
    """Tokens that one layer of a convolutional encoder sees at once, an odd number."""
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
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Share of units zeroed in training: of embeddings, between layers, before the output."""
    tie: bool = True
    """One matrix for the target embedding and the output, and for the source too where the vocabulary is joint."""

    @model_validator(mode="after")
    def _check_encoder(self) -> Self:
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

    @model_validator(mode="after")
    def _check_attention(self) -> Self:
        if self.input_feeding and not self.attention:
            raise ValueError("model.input_feeding feeds what attention found; it needs model.attention = true")
        if self.attention and self.score in EQUALLY_WIDE and self.source_width != self.width:
            raise ValueError(
                f"model.score {self.score!r} compares states of equal width, but model.encoder_width is {self.source_width} and "
                f"model.width {self.width}; make them equal or choose another score"
            )
        return self

    @property
    def looking_layers(self) -> int:
        """Layers of the decoder that attend to the source."""
        return int(self.attention)

    @property
    def source_width(self) -> int:
        """Width of the encoder's states."""
        return self.encoder_width or self.width

    @property
    def embedding_width(self) -> int:
        """Width of the embeddings."""
        return self.embedding or self.width

    @property
    def reach(self) -> int | None:
        """The longest sequence that there are positions for, end mark included; None: any."""
        return self.max_positions if self.attention and self.score == "location" else None


class MarkovConfig(Settings):
    """A Markov model, fitted by counting: the tokens before decide how often each token comes next."""

    kind: Literal["markov"] = "markov"
    """Which network."""
    order: int = Field(default=4, ge=1, le=16)
    """How many tokens before decide; the lectures' first and second order are 1 and 2, and 4 is a 5-gram."""
    skips: int = Field(default=0, ge=0, le=64)
    """With order 2: the last token makes a pair with each of so many tokens before it, and all pairs vote; 0: with the one before alone."""
    mask: float | None = Field(default=None, ge=0.0)
    """With skips: a pair votes only if it tells more than so many nats beyond its last token alone; without, all vote."""
    smoothing: Literal["kneser_ney", "none"] = "kneser_ney"
    """What is given to words that a context was not seen with; none: nothing, and a context that was not seen is made shorter."""

    @model_validator(mode="after")
    def _check_skips(self) -> Self:
        if self.skips and self.order != 2:
            raise ValueError(
                f"model.skips {self.skips} is for model.order 2, not {self.order}: pairs of two tokens vote"
            )
        if self.mask is not None and not self.skips:
            raise ValueError(f"model.mask {self.mask} chooses among the pairs of model.skips, which is 0; set it too")
        return self

    @property
    def looking_layers(self) -> int:
        """Layers that attend to a source."""
        return 0

    @property
    def reach(self) -> int | None:
        """The longest sequence; None: any."""
        return None


class BagConfig(Settings):
    """A bag of words, or of words and bigrams: a linear classifier that knows no order, or as much of it as two words tell."""

    kind: Literal["bag"] = "bag"
    """Which network."""
    ngrams: Literal[1, 2] = 1
    """1: single tokens; 2: pairs of neighbours too."""
    opening: int = Field(default=0, ge=0, le=8)
    """The first token, the first two, .. the first so many together are features too: how a text begins."""
    weighting: Literal["counts", "tfidf", "bayes"] = "counts"
    """How often a token occurs; times the logarithm of how rare it is among texts; or times how much more probable a label makes it."""
    binary: bool = False
    """Count a feature once, however often a text has it."""
    buckets: int = Field(default=2**20, ge=1, le=10_000_000)
    """Places for bigrams and openings; of those that share one, the first in the training texts has it."""
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of features left out in training."""

    @property
    def width(self) -> int:
        """It has no hidden states."""
        return 1

    @property
    def looking_layers(self) -> int:
        """Layers that attend to a source."""
        return 0

    @property
    def reach(self) -> int | None:
        """The longest sequence; None: any."""
        return None


def _with_kind(values: Any) -> Any:
    return {"kind": "transformer", **values} if isinstance(values, dict) else values


ModelConfig = Annotated[
    TransformerConfig | RecurrentConfig | MarkovConfig | BagConfig,
    Field(discriminator="kind"),
    BeforeValidator(_with_kind),
]
"""The settings of a network; its kind, a Transformer if not given, decides which settings there are."""

KINDS: dict[Task, tuple[str, ...]] = {
    "translate": ("transformer", "recurrent"),
    "generate": ("transformer", "recurrent", "markov"),
    "classify": ("transformer", "recurrent", "bag"),
}
"""The kinds of network that can do each task."""
