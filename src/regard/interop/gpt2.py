"""Imports Hugging Face's GPT-2: a decoder of pre-norm blocks with learned positions, whose output is tied to its embeddings.

A text begins with the end mark, as in its training: `<|endoftext|>` is the token that generation starts from.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.config import VocabularySizes
from regard.interop.foreign_config import ForeignConfig, mark_of
from regard.interop.foreign_tokenizers import read_tokenizer
from regard.interop.foreign_weights import ForeignWeights
from regard.interop.imported import ImportedModel, ImportOptions, expected_shapes, parsed, tokenizer_of
from regard.interop.names import foreign_activation
from regard.interop.vocabularies import arranged
from regard.models.config import LanguageTransformerConfig
from regard.tasks.generate.settings import GenerateBundle
from regard.text.build import TokenizerPair

if TYPE_CHECKING:
    from torch import Tensor

_PREFIX = "transformer."
_RECOMPUTED = (".attn.bias", ".attn.masked_bias", "lm_head.weight")
"""Masks that old versions stored, and the tied output."""
_END = 50256
"""The id of the end mark where the config does not say it."""


def import_gpt2(directory: Path, config: ForeignConfig, options: ImportOptions) -> ImportedModel:
    """The language model in a directory of GPT-2."""
    weights = ForeignWeights(directory)
    prefix = _PREFIX if f"{_PREFIX}wte.weight" in weights else ""
    tied = config.get("tie_word_embeddings", bool, True)
    rows, width = config.need("vocab_size", int), config.need("n_embd", int)
    weights.require(f"{prefix}wte.weight", (rows, width))  # before anything of this size is made
    if not tied:
        weights.require("lm_head.weight", (rows, width))
    tokenizer = read_tokenizer(directory, "gpt2", rows)
    generation = ForeignConfig.read_optional(directory / "generation_config.json")
    end = mark_of(config, generation, "eos_token_id", _END)
    arrangement = arranged(
        str(config.path),
        tokenizer.pieces,
        end=end,
        unknown=tokenizer.unknown,
        start=mark_of(config, generation, "bos_token_id", end),
        barred=None,
        silent=tokenizer.silent,
    )
    size, settings = len(arrangement.record.pieces), _settings(config)
    reach = settings["max_positions"]
    values = {
        "model": {**settings, "tie": tied},
        "vocabulary": VocabularySizes(source=size, target=size, joint=True).model_dump(),
        "languages": options.languages.model_dump(),
        # one position is left for the token that a text starts from
        "texts": {"documents": "file", "context": max(1, reach - 1)},
    }
    bundle = parsed(GenerateBundle, values, config.path)
    model, expected = bundle.model, expected_shapes(bundle)
    assert isinstance(model, LanguageTransformerConfig)
    table = f"{prefix}wpe.weight"
    weights.require(table, (reach, width))
    names = list(_names(model.depth[1]))
    for theirs, ours in names:
        for kind in ("weight", "bias"):
            weights.require(f"{prefix}{theirs}.{kind}", _shape(theirs, ours, kind, expected))
    tensors = {"target.positions.table": weights.read(table, (reach, width))}
    for theirs, ours in names:
        for kind in ("weight", "bias"):
            value = weights.read(f"{prefix}{theirs}.{kind}", _shape(theirs, ours, kind, expected))
            tensors |= _placed(theirs, ours, kind, value)
    _fold(tensors, model, config)
    tensors["target.embedding.weight"] = arrangement.embeddings(weights.read(f"{prefix}wte.weight", (rows, width)))
    if not tied:
        tensors["output"] = arrangement.outputs(weights.read("lm_head.weight", (rows, width)))
    weights.refuse_unused(_RECOMPUTED)
    one = tokenizer_of(tokenizer, arrangement)
    return ImportedModel(bundle, tensors, TokenizerPair(one, one, joint=True))


def _settings(config: ForeignConfig) -> dict[str, Any]:
    """The settings of our network. Refused is what it does not have."""
    config.expect("add_cross_attention", False, False)
    width = config.need("n_embd", int)
    return {
        "layers": config.need("n_layer", int),
        "width": width,
        "heads": config.need("n_head", int),
        "feed_forward": config.get("n_inner", int, 4 * width),
        "dropout": config.get("resid_pdrop", float, 0.1),
        "norm": "pre",
        "norm_epsilon": config.get("layer_norm_epsilon", float, 1e-5),
        "positions": "learned",
        "max_positions": config.get("n_positions", int, 1024),
        "activation": foreign_activation(config, "activation_function", "gelu_new"),
        "scale_embedding": False,
    }


def _names(depth: int) -> Iterator[tuple[str, str]]:
    """(their name, our name) of each map and norm, without `.weight` and `.bias`."""
    for number in range(depth):
        theirs, ours = f"h.{number}", f"decoder.{number}"
        yield f"{theirs}.attn.c_attn", f"{ours}.mixer"
        yield f"{theirs}.attn.c_proj", f"{ours}.mixer.output"
        yield f"{theirs}.ln_1", f"{ours}.around_mixer.norm"
        yield f"{theirs}.ln_2", f"{ours}.around_feed_forward.norm"
        yield f"{theirs}.mlp.c_fc", f"{ours}.feed_forward.up"
        yield f"{theirs}.mlp.c_proj", f"{ours}.feed_forward.down"
    yield "ln_f", "decoder_norm"


def _shape(theirs: str, ours: str, kind: str, expected: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of their tensor: maps are [inputs, outputs], and those of queries, keys and values are one."""
    if theirs.endswith("c_attn"):
        shape = expected[f"{ours}.query.{kind}"]
        return (shape[1], 3 * shape[0]) if kind == "weight" else (3 * shape[0],)
    return expected[f"{ours}.{kind}"][::-1]


def _placed(theirs: str, ours: str, kind: str, value: "Tensor") -> "dict[str, Tensor]":
    """Their tensor under our names."""
    value = value.T.contiguous() if value.dim() == 2 else value
    if not theirs.endswith("c_attn"):
        return {f"{ours}.{kind}": value}
    parts = zip(("query", "key", "value"), value.chunk(3), strict=True)
    return {f"{ours}.{part}.{kind}": own.contiguous() for part, own in parts}


def _fold(tensors: "dict[str, Tensor]", model: LanguageTransformerConfig, config: ForeignConfig) -> None:
    """Put another scale of the scores than 1 / sqrt(d) into the queries."""
    unscaled = not config.get("scale_attn_weights", bool, True)
    by_layer = config.get("scale_attn_by_inverse_layer_idx", bool, False)
    for number in range(model.depth[1]):
        factor = (math.sqrt(model.width // model.heads) if unscaled else 1.0) / (number + 1 if by_layer else 1)
        if factor != 1.0:
            for kind in ("weight", "bias"):
                tensors[f"decoder.{number}.mixer.query.{kind}"] *= factor
