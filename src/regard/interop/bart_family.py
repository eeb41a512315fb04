"""Imports Hugging Face's Marian, Pegasus, BART and mBART: encoder-decoders of one family, whose tensors have the names of BART's.

| | norm | positions | embeddings |
| --- | --- | --- | --- |
| Marian | post | sinusoidal | one, or one for each side; the output may have a bias |
| Pegasus | pre | sinusoidal | one |
| BART | post, and one after the embeddings | learned | one |
| mBART | pre, and one after the embeddings | learned | one |
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import BundleError
from regard.interop.bart_marks import marks_of_model
from regard.interop.foreign_config import ForeignConfig, is_barred, mark_of
from regard.interop.foreign_tokenizers import read_tokenizers
from regard.interop.foreign_vocabularies import TokenizerConfig
from regard.interop.foreign_weights import ForeignWeights
from regard.interop.imported import ImportedModel, ImportOptions, bundle_config, expected_shapes, tokenizer_of
from regard.interop.names import embedding_norm_names, foreign_activation, stack_names
from regard.interop.vocabularies import Arrangement, arranged
from regard.models.config import TransformerConfig
from regard.text.build import TokenizerPair
from regard.text.marked import marked

if TYPE_CHECKING:
    from torch import Tensor

    from regard.tasks.translate.settings import TranslateBundle

NORMS = {"marian": "post", "pegasus": "pre", "bart": "post", "mbart": "pre"}
_LEARNED = ("bart", "mbart")
_POSITION_OFFSET = 2
"""Rows of BART's table of positions before that of the first token."""
_NEVER = -1e8
"""An output bias below this bars a token."""
_HEAD = ("model.", "lm_head.", "final_logits_bias")
_RECOMPUTED = ("embed_positions.weight", "embed_tokens.weight", "lm_head.weight", "shared.weight")
"""Tensors that a tied or sinusoidal model may hold a second time."""


def import_bart_family(directory: Path, config: ForeignConfig, options: ImportOptions) -> ImportedModel:
    """The translator in a directory of Marian, Pegasus, BART or mBART."""
    model_type = str(config.raw("model_type"))
    weights = ForeignWeights(directory)
    if "shared.weight" in weights:  # saved without a head
        weights.rename(lambda name: name if name.startswith(_HEAD) else f"model.{name}")
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
    pad = mark_of(config, generation, "pad_token_id", 1 if model_type in _LEARNED else None)
    if pad >= target_rows:
        raise BundleError(
            f"{config.path}: pad_token_id = {pad} is outside of the vocabulary of {target_rows} pieces; save the model again"
        )
    barred = pad if is_barred(generation, config, pad) or bool(bias is not None and bias[pad] < _NEVER) else None
    tokenizer_config = TokenizerConfig.read(directory)
    marks = marks_of_model(config, generation, tokenizer_config, (source.pieces, target.pieces), options.languages)
    arrangements = tuple(
        arranged(
            str(config.path),
            side.pieces,
            end=end,
            unknown=side.unknown,
            start=marks.start,
            barred=barred,
            silent=side.silent,
        )
        for side, end in ((source, marks.source_end), (target, marks.target_end))
    )
    joint = shared and arrangements[0] == arrangements[1] and source.segmenter == target.segmenter
    has_bias = bias is not None and bool(arrangements[1].outputs(bias).any())
    sizes = (len(arrangements[0].record.pieces), len(arrangements[1].record.pieces))
    settings = {**_settings(config, model_type), "tie": tied, "output_bias": has_bias}
    bundle = bundle_config(config.path, settings, sizes, joint, options.languages)
    tensors = _tensors(weights, bundle, names, arrangements)
    if has_bias:
        assert bias is not None
        tensors["output_bias"] = arrangements[1].outputs(bias)
    weights.refuse_unused(_RECOMPUTED)
    one = tokenizer_of(source, arrangements[0])
    other = one if joint else tokenizer_of(target, arrangements[1])
    marked_source = marked(one, marks.source)
    same = other is one and marks.source == marks.target
    pair = TokenizerPair(marked_source, marked_source if same else marked(other, marks.target), joint=joint)
    return ImportedModel(bundle, tensors, pair)


def _settings(config: ForeignConfig, model_type: str) -> dict[str, Any]:
    """The settings of our network. Refused is what it does not have."""
    heads, inner = config.need("encoder_attention_heads", int), config.need("encoder_ffn_dim", int)
    config.expect("decoder_attention_heads", heads, heads)
    config.expect("decoder_ffn_dim", inner, inner)
    learned = model_type in _LEARNED
    positions: dict[str, Any] = {"positions": "sinusoidal"}
    if learned:
        reach = config.get("max_position_embeddings", int, 1024)
        positions = {"positions": "learned", "max_positions": reach, "embedding_norm": True}
    return {
        "layers": config.need("encoder_layers", int),
        "decoder_layers": config.need("decoder_layers", int),
        "width": config.need("d_model", int),
        "heads": heads,
        "feed_forward": inner,
        "dropout": config.get("dropout", float, 0.1),
        "norm": NORMS[model_type],
        **positions,
        "activation": foreign_activation(config, "activation_function", "gelu"),
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
        for theirs, ours in (
            *stack_names(side, depth, last_norm=model.norm == "pre"),
            *embedding_norm_names(side, there=model.embedding_norm),
        )
        for kind in ("weight", "bias")
    }
    for ours, theirs in linear.items():
        weights.require(theirs, expected[ours])
    tables_of_positions = {
        f"{ours}.positions.table": f"model.{side}.embed_positions.weight"
        for side, ours in (("encoder", "source"), ("decoder", "target"))
        if model.positions == "learned"
    }
    longer = (model.max_positions + _POSITION_OFFSET, model.width)
    for theirs in tables_of_positions.values():
        weights.require(theirs, longer)
    rows, width = [weights.shape(name)[0] for name in names], model.width
    vectors = {name: weights.read(name, (count, width)) for name, count in zip(names, rows, strict=True)}
    tables = [vectors[name] for name in names]
    tensors = {ours: weights.read(theirs, expected[ours]) for ours, theirs in linear.items()}
    for ours, theirs in tables_of_positions.items():
        tensors[ours] = weights.read(theirs, longer)[_POSITION_OFFSET:]
    if "source.embedding.weight" in expected:
        tensors["source.embedding.weight"] = arrangements[0].embeddings(tables[0])
    tensors["target.embedding.weight"] = arrangements[1].embeddings(tables[1])
    if "output" in expected:
        tensors["output"] = arrangements[1].outputs(tables[2])
    return tensors
