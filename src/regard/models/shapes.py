"""The names and shapes of a network's tensors, from its settings alone: no torch, and no memory for weights.

They guard an engine that has no torch and checks no shapes. A test binds them to the networks of `models.build`. Transformers
and counted models are here. Of another network, or one with a part of an extension, `None` says that it must be built to know.

Shapes: V vocabulary, D width, F feed-forward, H heads, d = D / H head width, a inner width of a score, P positions, L labels.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from regard.models.config import (
    CaptionerConfig,
    ClassifierTransformerConfig,
    LanguageTransformerConfig,
    MarkovConfig,
    MaskedTransformerConfig,
    ModelConfig,
    PrefixConfig,
    TransformerBase,
    TransformerConfig,
    VisionConfig,
)

Shape = tuple[int, ...]
Shapes = dict[str, Shape]

RELATIVE_BUCKETS = 32
"""Rows of the table of relative positions, as `layers.positions.RelativeBias` has them."""

SHORT_TAPS, LAG_FEATURES = 3, 17
"""Taps of a short convolution and features of a lag, as `layers.short_convolution` and `layers.hyena` have them."""

_SCORES: dict[str, Callable[[int, int], Shapes]] = {
    "parameter_free": lambda d, a: {},
    "dot": lambda d, a: {},
    "scaled_dot": lambda d, a: {},
    "general": lambda d, a: {"weight": (d, d)},
    "concat": lambda d, a: {"weight": (a, 2 * d), "vector": (a,)},
    "additive": lambda d, a: {"query_weight": (a, d), "key_weight": (a, d), "vector": (a,)},
    "cosine": lambda d, a: {"log_strength": (1,)},
    "mahalanobis": lambda d, a: {"root": (a, d)},
    "gaussian": lambda d, a: {"log_variance": (1,)},
    "latent": lambda d, a: {"query_weight": (a, d), "key_weight": (a, d)},
}
"""The weights of each score of a head: (d, a) -> shapes, as `layers.scores` has them."""


def translator_shapes(config: ModelConfig, source: int, target: int, joint: bool) -> Shapes | None:
    """The tensors of a Transformer that translates. source, target: sizes of the vocabularies; joint: they are one."""
    if isinstance(config, PrefixConfig):
        return _prefix_shapes(config, target)
    if not isinstance(config, TransformerConfig) or not _is_known(config):
        return None
    shapes: Shapes = {"target.embedding.weight": (target, config.width)}
    if not (joint and config.tie):
        shapes["source.embedding.weight"] = (source, config.width)
    if not config.tie:
        shapes["output"] = (target - 1, config.width)  # pad has no logit
    if config.output_bias:
        shapes["output_bias"] = (target - 1,)
    shapes |= dict(_stack(config, "encoder", "source"))
    return shapes | dict(_stack(config, "decoder", "target", cross=True)) | _copying(config)


def _prefix_shapes(config: PrefixConfig, vocabulary: int) -> Shapes | None:
    if not _is_known(config):
        return None
    shapes: Shapes = {"target.embedding.weight": (vocabulary, config.width)}
    shapes |= {f"{front}.segment": (config.width,) for front in ("target", "source")}
    if not config.tie:
        shapes["output"] = (vocabulary - 1, config.width)
    return shapes | dict(_stack(config, "decoder", "target")) | _copying(config)


def captioner_shapes(config: ModelConfig, shape: tuple[int, int, int], vocabulary: int) -> Shapes | None:
    """The tensors of an encoder-decoder Transformer that reads pictures. shape: height, width and channels of these."""
    if not isinstance(config, CaptionerConfig) or not _is_known(config):
        return None
    height, width, channels = shape
    rows, columns = config.grid(height, width)
    shapes: Shapes = {"target.embedding.weight": (vocabulary, config.width)}
    if not config.tie:
        shapes["output"] = (vocabulary - 1, config.width)
    if config.output_bias:
        shapes["output_bias"] = (vocabulary - 1,)
    if config.tokenizer == "patches":
        shapes |= dict(_linear("source.tokenizer.linear", channels * config.patch**2, config.width))
    else:
        sizes = [channels, *[config.convolution_width] * (config.convolutions - 1), config.width]
        for number, (before, after) in enumerate(pairwise(sizes)):
            shapes[f"source.tokenizer.convolutions.{number}.weight"] = (after, before, config.kernel, config.kernel)
    if config.patch_positions == "learned":
        shapes["source.table"] = (rows * columns, config.width)
    shapes |= dict(_stack(config, "encoder", None))
    return shapes | dict(_stack(config, "decoder", "target", cross=True))


def language_model_shapes(config: ModelConfig, vocabulary: int) -> Shapes | None:
    """The tensors of a decoder-only Transformer."""
    if not isinstance(config, LanguageTransformerConfig) or not _is_known(config):
        return None
    shapes: Shapes = {"target.embedding.weight": (vocabulary, config.width)}
    if not config.tie:
        shapes["output"] = (vocabulary - 1, config.width)
    return shapes | dict(_stack(config, "decoder", "target"))


def pretrained_shapes(config: ModelConfig, vocabulary: int) -> Shapes | None:
    """The tensors of a network that is pretrained: an encoder with a head for tokens, or an encoder-decoder of one vocabulary."""
    if not isinstance(config, MaskedTransformerConfig):
        return translator_shapes(config, vocabulary, vocabulary, joint=True)
    if not _is_known(config):
        return None
    shapes: Shapes = {"source.embedding.weight": (vocabulary, config.width)}
    if not config.tie:
        shapes["output"] = (vocabulary - 1, config.width)
    if config.output_bias:
        shapes["output_bias"] = (vocabulary - 1,)
    return shapes | dict(_stack(config, "encoder", "source"))


def classifier_shapes(config: ModelConfig, vocabulary: int, labels: int) -> Shapes | None:
    """The tensors of the encoder of a Transformer with a head for labels."""
    if not isinstance(config, ClassifierTransformerConfig) or not _is_known(config):
        return None
    shapes: Shapes = {"source.embedding.weight": (vocabulary, config.width), "output": (labels, config.width)}
    if config.pooler:
        shapes |= dict(_linear("pooler", config.width, config.width))
    if config.output_bias:
        shapes["output_bias"] = (labels,)
    if config.pooling == "attention":
        shapes["attention_pooling.query"] = (config.width,)
    return shapes | dict(_stack(config, "encoder", "source"))


def picture_classifier_shapes(
    config: ModelConfig, height: int, width: int, channels: int, labels: int
) -> Shapes | None:
    """The tensors of a Vision Transformer."""
    if not isinstance(config, VisionConfig):
        return None
    stack = config.stack(config.tokens(height, width))
    if not _is_known(stack):
        return None
    shapes: Shapes = {"output": (labels, config.width + 1)}
    if config.tokenizer == "patches":
        shapes |= dict(_linear("front.tokenizer.linear", channels * config.patch**2, config.width))
    else:
        sizes = [channels, *[config.convolution_width] * (config.convolutions - 1), config.width]
        for number, (before, after) in enumerate(pairwise(sizes)):
            shapes[f"front.tokenizer.convolutions.{number}.weight"] = (after, before, config.kernel, config.kernel)
    if config.positions == "learned":
        shapes["front.table"] = (config.tokens(height, width), config.width)
    if config.pooling == "class":
        shapes["front.class_token"] = (config.width,)
    elif config.pooling == "attention":
        shapes["attention_pooling.query"] = (config.width,)
    return shapes | dict(_stack(stack, "encoder", "front"))


def table_shapes(config: ModelConfig, vocabulary: int, stored: Mapping[str, Shape]) -> Shapes:
    """The tables of a counted model. The corpus decides the sizes of the tables of keys: they are those of `stored`."""
    assert isinstance(config, MarkovConfig)
    outputs = vocabulary - 1
    if not config.skips:
        return markov_shapes(config.order, outputs, stored)
    first = {name.removeprefix("first."): shape for name, shape in stored.items() if name.startswith("first.")}
    shapes = {f"first.{name}": shape for name, shape in markov_shapes(1, outputs, first).items()}
    return shapes | skip_shapes(stored)


def markov_shapes(order: int, outputs: int, stored: Mapping[str, Shape]) -> Shapes:
    """The tables of a Markov model: the words, and for contexts of 1, 2, .. tokens those of their successors."""
    contexts: Shape = (outputs + 1,)
    shapes: Shapes = {"words": (outputs,)}
    for length in range(1, order + 1):
        keys = _size(f"{length}.keys", stored)
        shapes |= {f"{length}.keys": keys, f"{length}.probabilities": keys, f"{length}.rest": contexts}
        contexts = keys
    return shapes


def skip_shapes(stored: Mapping[str, Shape]) -> Shapes:
    """The tables of the pairs of a Markov model with skips."""
    pairs, keys = _size("pairs", stored), _size("keys", stored)
    return {"pairs": pairs, "votes": pairs, "keys": keys, "probabilities": keys, "rest": pairs}


def _size(name: str, stored: Mapping[str, Shape]) -> Shape:
    shape = stored.get(name, ())
    return (shape[0] if len(shape) == 1 else 0,)


def is_table_of_keys(name: str) -> bool:
    """Whether a table of a counted model holds whole numbers; the others hold probabilities."""
    return name.rpartition(".")[2] in ("keys", "pairs")


def _copying(config: TransformerConfig | PrefixConfig) -> Shapes:
    """The head that points to the source, if there is one."""
    if not config.copies:
        return {}
    keys = {"copying.key.weight": (config.width, config.width)}
    return {
        **dict(_linear("copying.query", config.width, config.width)),
        **keys,
        **dict(_linear("copying.gate", 2 * config.width, 1)),
    }


def _is_known(config: TransformerBase) -> bool:
    """Whether all parts of the network are known here: an extension may have added some."""
    return all(name in _MIXERS for side in config.mixers for name in side) and config.score in _SCORES


Named = Iterator[tuple[str, Shape]]


def _stack(config: TransformerBase, name: str, front: str | None, *, cross: bool = False) -> Named:
    """The positions, blocks and last norm of an encoder or decoder. front: of tokens; None: another tells the positions."""
    if front is not None and config.positions == "learned":
        yield f"{front}.positions.table", (config.max_positions, config.width)
    if front is not None and config.embedding_norm:
        yield from _norm(config, f"{front}.norm")
    if front is not None and config.positions == "relative":
        yield f"{name}_bias.table", (RELATIVE_BUCKETS, config.heads)
    causal = name == "decoder" or getattr(config, "causal", False)
    for number, mixer in enumerate(config.mixers[name == "decoder"]):
        yield from _block(config, f"{name}.{number}", mixer, causal=causal, cross=cross)
    if config.norm == "pre":
        yield from _norm(config, f"{name}_norm")


def _block(config: TransformerBase, name: str, mixer: str, *, causal: bool, cross: bool) -> Named:
    sublayers = ["mixer", "cross"] if cross else ["mixer"]
    yield from _MIXERS[mixer](config, f"{name}.mixer", causal)
    if cross:
        yield from _attention(config, f"{name}.cross")
    inner = config.feed_forward
    yield from _linear(f"{name}.feed_forward.up", config.width, inner)
    if config.activation in ("swiglu", "geglu"):
        yield from _linear(f"{name}.feed_forward.gate", config.width, inner)
    yield from _linear(f"{name}.feed_forward.down", inner, config.width)
    for sublayer in (*sublayers, "feed_forward"):
        yield from _norm(config, f"{name}.around_{sublayer}.norm")


def _attention(config: TransformerBase, name: str, causal: bool = False) -> Named:
    projected = ("value", "output") if config.score == "parameter_free" else ("query", "key", "value", "output")
    for part in projected:
        yield from _linear(f"{name}.{part}", config.width, config.width)
    head = config.width // config.heads
    inner = config.score_width or (max(1, head // 4) if config.score == "latent" else head)
    for weight, shape in _SCORES[config.score](head, inner).items():
        yield f"{name}.score.{weight}", shape


def _projections(config: TransformerBase, name: str, causal: bool) -> Named:
    for part in ("query", "key", "value", "output"):
        yield from _linear(f"{name}.{part}", config.width, config.width)


def _linformer(config: TransformerBase, name: str, causal: bool) -> Named:
    yield from _projections(config, name, causal)
    for part in ("key", "value"):
        yield f"{name}.{part}_mixing", (config.rank, config.max_positions)


def _performer(config: TransformerBase, name: str, causal: bool) -> Named:
    yield from _projections(config, name, causal)
    yield f"{name}.features.directions", (config.features, config.width // config.heads)


def _hyena(config: TransformerBase, name: str, causal: bool) -> Named:
    width, inner, order = config.width, config.filter_width, config.hyena_order
    yield f"{name}.input.weight", ((order + 1) * width, width)
    yield from _short_convolution(f"{name}.short", (order + 1) * width)
    yield from _linear(f"{name}.filters.first", LAG_FEATURES, inner)
    yield from _linear(f"{name}.filters.second", inner, inner)
    yield f"{name}.filters.output", (order * (1 if causal else 2) * width, inner)
    yield f"{name}.skip", (order, width)
    yield from _linear(f"{name}.output", width, width)


def _delta(config: TransformerBase, name: str, causal: bool) -> Named:
    width = config.width
    yield f"{name}.input.weight", (3 * width, width)
    yield from _short_convolution(f"{name}.short", 3 * width)
    yield from _linear(f"{name}.gates", width, 2 * config.heads)
    yield from _linear(f"{name}.output_gate", width, width)
    yield f"{name}.norm.weight", (width // config.heads,)
    yield from _linear(f"{name}.output", width, width)
    yield f"{name}.rate", (config.heads,)


_MIXERS: dict[str, Callable[[TransformerBase, str, bool], Named]] = {
    "attention": _attention,
    "window": _projections,
    "block_sparse": _projections,
    "linformer": _linformer,
    "performer": _performer,
    "linear": _projections,
    "hyena": _hyena,
    "delta": _delta,
}
"""The weights of each mixer: (config, name, whether it is causal) -> shapes, as `layers.mixers` builds them."""


def _short_convolution(name: str, channels: int) -> Named:
    yield f"{name}.weight", (channels, SHORT_TAPS)
    yield f"{name}.bias", (channels,)


def _linear(name: str, inputs: int, outputs: int) -> Named:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _norm(config: TransformerBase, name: str) -> Named:
    yield f"{name}.weight", (config.width,)
    if config.norm_kind == "layer":
        yield f"{name}.bias", (config.width,)
