"""Imports Hugging Face's T5 and mT5: RMS norms, no biases, relative positions with one table a stack, attention without 1 / sqrt(d).

Our networks have these as they are, or after a change of weights that does not change the outputs: biases are zero, queries are
multiplied by sqrt(d), and the factor 1 / sqrt(D) of tied outputs goes into the last norm.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.interop.foreign_config import ForeignConfig, is_barred, mark_of
from regard.interop.foreign_tokenizers import read_tokenizers
from regard.interop.foreign_weights import ForeignWeights
from regard.interop.imported import ImportedModel, ImportOptions, bundle_config, expected_shapes, tokenizer_of
from regard.interop.vocabularies import arranged
from regard.models.config import TransformerConfig
from regard.models.shapes import RELATIVE_BUCKETS
from regard.text.build import TokenizerPair

if TYPE_CHECKING:
    from torch import Tensor

_FEED_FORWARDS = {"relu": "relu", "gated-gelu": "geglu", "gated-silu": "swiglu", "gelu": "gelu", "silu": "silu"}
_LONGEST_DISTANCE = 128  # of `layers.positions.RelativeBias`
_TIED = ("embed_tokens.weight", "lm_head.weight", "shared.weight")


def import_t5(directory: Path, config: ForeignConfig, options: ImportOptions) -> ImportedModel:
    """The translator in a directory of T5 or mT5."""
    model_type = config.need("model_type", str)
    weights = ForeignWeights(directory)
    stated = config.get("tie_word_embeddings", bool, True)  # that the output is tied, or only that it is scaled
    tied = stated or "lm_head.weight" not in weights
    scaled = model_type == "t5" and config.get("scale_decoder_outputs", bool, stated)
    rows, width = config.need("vocab_size", int), config.need("d_model", int)
    weights.require("shared.weight", (rows, width))  # before anything of this size is made
    if not tied:
        weights.require("lm_head.weight", (rows, width))
    tokenizer, _ = read_tokenizers(directory, model_type, (rows, rows))
    generation = ForeignConfig.read_optional(directory / "generation_config.json")
    pad = mark_of(config, generation, "pad_token_id", 0)
    arrangement = arranged(
        str(config.path),
        tokenizer.pieces,
        end=mark_of(config, generation, "eos_token_id", 1),
        unknown=tokenizer.unknown,
        start=mark_of(config, generation, "decoder_start_token_id", pad),
        barred=pad if is_barred(generation, config, pad) else None,
        silent=tokenizer.silent,
    )
    size = len(arrangement.record.pieces)
    bundle = bundle_config(config.path, {**_settings(config), "tie": tied}, (size, size), True, options.languages)
    model, expected = bundle.model, expected_shapes(bundle)
    assert isinstance(model, TransformerConfig)
    names = dict(_names(model))
    for ours, theirs in names.items():
        weights.require(theirs, expected[ours])
    table = weights.read("shared.weight", (rows, width))
    tensors = {ours: weights.read(theirs, expected[ours]) for ours, theirs in names.items()}
    _fold(tensors, model, scaled_output=scaled)
    for name, shape in expected.items():
        if name.endswith(".bias"):
            tensors[name] = table.new_zeros(shape)
    tensors["target.embedding.weight"] = arrangement.embeddings(table)
    if not tied:
        tensors["source.embedding.weight"] = tensors["target.embedding.weight"]
        tensors["output"] = arrangement.outputs(weights.read("lm_head.weight", (rows, width)))
    weights.refuse_unused(_TIED)
    one = tokenizer_of(tokenizer, arrangement)
    return ImportedModel(bundle, tensors, TokenizerPair(one, one, joint=True))


def _settings(config: ForeignConfig) -> dict[str, Any]:
    """The settings of our network. Refused is what it does not have."""
    width, heads = config.need("d_model", int), config.need("num_heads", int)
    layers = config.need("num_layers", int)
    if heads * config.need("d_kv", int) != width:
        raise config.refused(
            "d_kv", f"{heads} heads of this width are not d_model = {width}, and no others can be imported"
        )
    config.expect("relative_attention_num_buckets", RELATIVE_BUCKETS, RELATIVE_BUCKETS)
    config.expect("relative_attention_max_distance", _LONGEST_DISTANCE, _LONGEST_DISTANCE)
    kind = config.get("feed_forward_proj", str, "relu")
    if kind not in _FEED_FORWARDS:
        raise config.refused("feed_forward_proj", f"not one of {', '.join(_FEED_FORWARDS)}")
    return {
        "layers": layers,
        "decoder_layers": config.get("num_decoder_layers", int, layers),
        "width": width,
        "heads": heads,
        "feed_forward": config.need("d_ff", int),
        "dropout": config.get("dropout_rate", float, 0.1),
        "norm": "pre",
        "norm_kind": "rms",
        "norm_epsilon": config.get("layer_norm_epsilon", float, 1e-6),
        "positions": "relative",
        "activation": _FEED_FORWARDS[kind],
        "scale_embedding": False,
    }


def _names(model: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of all weights but the embeddings."""
    gated = model.activation in ("swiglu", "geglu")
    for side, depth in zip(("encoder", "decoder"), model.depth, strict=True):
        yield f"{side}_norm.weight", f"{side}.final_layer_norm.weight"
        yield f"{side}_bias.table", f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        sublayers = [("mixer", "SelfAttention")] + [("cross", "EncDecAttention")] * (side == "decoder")
        for number in range(depth):
            for place, (ours, theirs) in enumerate(sublayers):
                layer = f"{side}.block.{number}.layer.{place}"
                for part, letter in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o")):
                    yield f"{side}.{number}.{ours}.{part}.weight", f"{layer}.{theirs}.{letter}.weight"
                yield f"{side}.{number}.around_{ours}.norm.weight", f"{layer}.layer_norm.weight"
            layer, own = f"{side}.block.{number}.layer.{len(sublayers)}", f"{side}.{number}.feed_forward"
            yield f"{side}.{number}.around_feed_forward.norm.weight", f"{layer}.layer_norm.weight"
            yield f"{own}.up.weight", f"{layer}.DenseReluDense.{'wi_1' if gated else 'wi'}.weight"
            if gated:
                yield f"{own}.gate.weight", f"{layer}.DenseReluDense.wi_0.weight"
            yield f"{own}.down.weight", f"{layer}.DenseReluDense.wo.weight"


def _fold(tensors: "dict[str, Tensor]", model: TransformerConfig, *, scaled_output: bool) -> None:
    """Put the factors that our networks have elsewhere into the weights."""
    for name in tensors:
        if name.endswith(".query.weight"):
            tensors[name] = tensors[name] * math.sqrt(model.width // model.heads)
    if scaled_output:
        tensors["decoder_norm.weight"] = tensors["decoder_norm.weight"] * model.width**-0.5
