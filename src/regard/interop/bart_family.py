"""Imports Hugging Face's Marian and Pegasus: encoder-decoders of one family, whose tensors have the names of BART's.

| | norm | positions | embeddings |
| --- | --- | --- | --- |
| Marian | post | sinusoidal | one, or one for each side; the output may have a bias |
| Pegasus | pre | sinusoidal | one |
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.config import Languages
from regard.errors import BundleError
from regard.interop.foreign_config import ForeignConfig, is_barred, mark_of
from regard.interop.foreign_tokenizers import read_tokenizers
from regard.interop.foreign_weights import ForeignWeights
from regard.interop.imported import ImportedModel, bundle_config, expected_shapes, tokenizer_of
from regard.interop.names import stack_names
from regard.interop.vocabularies import Arrangement, arranged
from regard.models.config import TransformerConfig
from regard.text.build import TokenizerPair

if TYPE_CHECKING:
    from torch import Tensor

    from regard.tasks.translate.settings import TranslateBundle

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "swish": "silu",
    "silu": "silu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
"""Hugging Face's names of activations -> ours."""
NORMS = {"marian": "post", "pegasus": "pre"}
_NEVER = -1e8
"""An output bias below this bars a token."""
_RECOMPUTED = ("embed_positions.weight", "embed_tokens.weight", "lm_head.weight", "shared.weight")
"""Tensors that a tied or sinusoidal model may hold a second time."""


def import_bart_family(directory: Path, config: ForeignConfig, languages: Languages) -> ImportedModel:
    """The translator in a directory of Marian or Pegasus."""
    model_type = str(config.raw("model_type"))
    weights = ForeignWeights(directory)
    tied = config.get("tie_word_embeddings", bool, True)
    shared = config.get("share_encoder_decoder_embeddings", bool, True)
    width, rows = config.need("d_model", int), config.need("vocab_size", int)
    target_rows = rows if shared else config.get("decoder_vocab_size", int, rows)
    # the first shapes are compared before anything of these sizes is made
    names = _embedding_names(weights, tied, shared)
    for name, size in zip(names, (rows, target_rows, target_rows), strict=True):
        weights.require(name, (size, width))
    source, target = read_tokenizers(directory, model_type, (rows, target_rows))
    bias = _output_bias(weights, target_rows)
    generation = ForeignConfig.read_optional(directory / "generation_config.json")
    pad = mark_of(config, generation, "pad_token_id")
    if pad >= target_rows:
        raise BundleError(
            f"{config.path}: pad_token_id = {pad} is outside of the vocabulary of {target_rows} pieces; save the model again"
        )
    barred = pad if is_barred(generation, config, pad) or bool(bias is not None and bias[pad] < _NEVER) else None
    end, start = mark_of(config, generation, "eos_token_id"), mark_of(config, generation, "decoder_start_token_id", pad)
    arrangements = tuple(
        arranged(
            str(config.path),
            side.pieces,
            end=end,
            unknown=side.unknown,
            start=start,
            barred=barred,
            silent=side.silent,
        )
        for side in (source, target)
    )
    joint = shared and arrangements[0] == arrangements[1] and source.model == target.model
    has_bias = bias is not None and bool(arrangements[1].outputs(bias).any())
    sizes = (len(arrangements[0].record.pieces), len(arrangements[1].record.pieces))
    settings = {**_settings(config, model_type), "tie": tied, "output_bias": has_bias}
    bundle = bundle_config(config.path, settings, sizes, joint, languages)
    tensors = _tensors(weights, bundle, names, arrangements)
    if has_bias:
        assert bias is not None
        tensors["output_bias"] = arrangements[1].outputs(bias)
    weights.refuse_unused(_RECOMPUTED)
    one = tokenizer_of(source, arrangements[0])
    pair = TokenizerPair(one, one if joint else tokenizer_of(target, arrangements[1]), joint=joint)
    return ImportedModel(bundle, tensors, pair)


def _settings(config: ForeignConfig, model_type: str) -> dict[str, Any]:
    """The settings of our network. Refused is what it does not have."""
    heads, inner = config.need("encoder_attention_heads", int), config.need("encoder_ffn_dim", int)
    config.expect("decoder_attention_heads", heads, heads)
    config.expect("decoder_ffn_dim", inner, inner)
    config.expect("forced_bos_token_id", None, None)
    activation = config.get("activation_function", str, "gelu")
    if activation not in ACTIVATIONS:
        raise config.refused("activation_function", f"not one of {', '.join(ACTIVATIONS)}")
    return {
        "layers": config.need("encoder_layers", int),
        "decoder_layers": config.need("decoder_layers", int),
        "width": config.need("d_model", int),
        "heads": heads,
        "feed_forward": inner,
        "dropout": config.get("dropout", float, 0.1),
        "norm": NORMS[model_type],
        "positions": "sinusoidal",
        "activation": ACTIVATIONS[activation],
        "scale_embedding": config.get("scale_embedding", bool, False),
    }


def _embedding_names(weights: ForeignWeights, tied: bool, shared: bool) -> tuple[str, str, str]:
    """The names of the source embedding, the target embedding and the output weights. A tied tensor may have any of its names."""
    source, target = ["model.encoder.embed_tokens.weight"], ["model.decoder.embed_tokens.weight"]
    if shared:
        source, target = [*source, "model.shared.weight", *target], [*target, "model.shared.weight", *source]
    if tied:
        target.append("lm_head.weight")
        source += ["lm_head.weight"] if shared else []

    def first(names: list[str]) -> str:
        return next((name for name in names if name in weights), names[0])

    return first(source), first(target), first(target) if tied else "lm_head.weight"


def _output_bias(weights: ForeignWeights, rows: int) -> "Tensor | None":
    name = "final_logits_bias"
    return weights.read(name, (1, rows))[0] if name in weights else None


def _tensors(
    weights: ForeignWeights,
    bundle: "TranslateBundle",
    names: tuple[str, str, str],
    arrangements: tuple[Arrangement, ...],
) -> "dict[str, Tensor]":
    """The tensors under our names. All shapes are compared with the header before the first is read."""
    model, expected = bundle.model, expected_shapes(bundle)
    assert isinstance(model, TransformerConfig)
    linear = {
        f"{ours}.{kind}": f"{theirs}.{kind}"
        for side, depth in zip(("encoder", "decoder"), model.depth, strict=True)
        for theirs, ours in stack_names(side, depth, last_norm=model.norm == "pre")
        for kind in ("weight", "bias")
    }
    for ours, theirs in linear.items():
        weights.require(theirs, expected[ours])
    rows, width = [weights.shape(name)[0] for name in names], model.width
    tables = [weights.read(name, (count, width)) for name, count in zip(names, rows, strict=True)]
    tensors = {ours: weights.read(theirs, expected[ours]) for ours, theirs in linear.items()}
    if "source.embedding.weight" in expected:
        tensors["source.embedding.weight"] = arrangements[0].embeddings(tables[0])
    tensors["target.embedding.weight"] = arrangements[1].embeddings(tables[1])
    if "output" in expected:
        tensors["output"] = arrangements[1].outputs(tables[2])
    return tensors
