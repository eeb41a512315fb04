"""Imports Hugging Face's BERT: a post-norm encoder with a class token, whose state a pooler and a head turn into labels.

Its class token differs from the end mark, which is ours. As it is always first, the difference goes into the first position; and so do
the vectors of the first segment, into all positions. A BERT that has no labels becomes a classifier that is still to be trained.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.bundle.config import VocabularySizes
from regard.errors import BundleError
from regard.interop.foreign_config import ForeignConfig
from regard.interop.foreign_tokenizers import ForeignTokenizer, read_tokenizer
from regard.interop.foreign_vocabularies import TokenizerConfig
from regard.interop.foreign_weights import ForeignWeights
from regard.interop.imported import ImportedModel, ImportOptions, expected_shapes, parsed, tokenizer_of
from regard.interop.labels import Labels, check_one_label, new_head, new_labels, stored_labels
from regard.interop.names import foreign_activation
from regard.interop.vocabularies import Arrangement, arranged
from regard.models.config import ClassifierTransformerConfig
from regard.tasks.classify.settings import ClassifyBundle
from regard.text.build import TokenizerPair

if TYPE_CHECKING:
    from torch import Tensor

_PREFIX = "bert."
_OTHER_HEADS = ("cls.", "qa_outputs.")
"""Tensors of heads that predict words or places, which a classifier does not need."""
_RECOMPUTED = (".position_ids",)


def import_bert(directory: Path, config: ForeignConfig, options: ImportOptions) -> ImportedModel:
    """The classifier in a directory of BERT, or a new one with the labels of the options."""
    weights = ForeignWeights(directory)
    weights.rename(
        lambda name: name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
    )
    prefix = _PREFIX if f"{_PREFIX}embeddings.word_embeddings.weight" in weights else ""
    rows, width = config.need("vocab_size", int), config.need("hidden_size", int)
    weights.require(f"{prefix}embeddings.word_embeddings.weight", (rows, width))  # before anything of this size is made
    trained = "classifier.weight" in weights
    labels = _labels(config, weights, width, options) if trained else new_labels(
        config, options.labels, _what(config, weights), "--data FILE.tsv"
    )  # fmt: skip
    tokenizer = read_tokenizer(directory, "bert", rows)
    marks = TokenizerConfig.read(directory).marks
    ids = {piece: index for index, piece in enumerate(tokenizer.pieces)}
    first, end = (_mark(directory, ids, marks.get(f"{kind}_token", usual))
                  for kind, usual in (("cls", "[CLS]"), ("sep", "[SEP]")))  # fmt: skip
    arrangement = arranged(
        str(config.path),
        tokenizer.pieces,
        end=end,
        unknown=tokenizer.unknown,
        start=config.get("pad_token_id", int, 0),
        barred=None,
        silent=tokenizer.silent,
    )
    size = len(arrangement.record.pieces)
    pooled = f"{prefix}pooler.dense.weight" in weights
    if trained and not pooled:
        raise BundleError(f"{weights.path}: no tensor '{prefix}pooler.dense.weight', on which its labels rest")
    values = {
        "model": {**_settings(config), "pooler": pooled, "output_bias": True},
        "vocabulary": VocabularySizes(source=size, target=size, joint=True).model_dump(),
        "languages": options.languages.model_dump(),
        "labels": labels.names,
    }
    bundle = parsed(ClassifyBundle, values, config.path)
    tensors = _tensors(weights, bundle, prefix, config, pooled=pooled)
    tensors |= _embeddings(weights, bundle, prefix, config, arrangement, first, end)
    if trained:
        outputs = len(labels.names)
        tensors["output"] = weights.read("classifier.weight", (outputs, width))[[*labels.order]]
        tensors["output_bias"] = weights.read("classifier.bias", (outputs,))[[*labels.order]]
    else:
        tensors["output"] = new_head(len(labels.names), width)
        tensors["output_bias"] = tensors["output"].new_zeros(len(labels.names))
    weights.refuse_unused((*_RECOMPUTED, *(name for name in weights.names if name.startswith(_OTHER_HEADS))))
    return ImportedModel(bundle, tensors, _pair(tokenizer, arrangement), () if trained else (_note(labels.names),))


def _pair(tokenizer: ForeignTokenizer, arrangement: Arrangement) -> TokenizerPair:
    one = tokenizer_of(tokenizer, arrangement)
    return TokenizerPair(one, one, joint=True)


def _note(labels: tuple[str, ...]) -> str:
    return (
        f"its labels {', '.join(labels)} are not trained yet: regard train --task classify --data FILE.tsv --start OUT"
    )


def _labels(config: ForeignConfig, weights: ForeignWeights, width: int, options: ImportOptions) -> Labels:
    outputs = weights.shape("classifier.weight")[0]
    weights.require("classifier.weight", (outputs, width))
    if options.labels:
        raise BundleError(f"{config.path}: it has labels of its own; leave --labels out")
    if any("TokenClassification" in str(name) for name in config.raw("architectures") or ()):
        raise config.refused("architectures", "a label for each word: only classifiers of texts can be imported")
    check_one_label(config, outputs)
    return stored_labels(config, outputs)


def _what(config: ForeignConfig, weights: ForeignWeights) -> str:
    """The purpose of a BERT without labels, for the error."""
    masked = any(name.startswith("cls.predictions.") for name in weights.names)
    return (
        "a BERT that predicts masked words, which no verb of regard does: it neither generates nor scores a text"
        if masked
        else "an encoder without a head"
    )


def _mark(directory: Path, ids: dict[str, int], piece: str) -> int:
    if piece not in ids:
        raise BundleError(f"{directory}: its vocabulary has no piece {piece!r}; copy the files of the tokenizer again")
    return ids[piece]


def _settings(config: ForeignConfig) -> dict[str, Any]:
    """The settings of our network. Refused is what it does not have."""
    config.expect("is_decoder", False, False)
    config.expect("position_embedding_type", "absolute", "absolute")
    return {
        "layers": config.need("num_hidden_layers", int),
        "width": config.need("hidden_size", int),
        "heads": config.need("num_attention_heads", int),
        "feed_forward": config.need("intermediate_size", int),
        "dropout": config.get("hidden_dropout_prob", float, 0.1),
        "norm": "post",
        "norm_epsilon": config.get("layer_norm_eps", float, 1e-12),
        "embedding_norm": True,
        "positions": "learned",
        "max_positions": config.get("max_position_embeddings", int, 512),
        "activation": foreign_activation(config, "hidden_act", "gelu"),
        "scale_embedding": False,
        "pooling": "class",
    }


def _names(depth: int, prefix: str, *, pooled: bool) -> Iterator[tuple[str, str]]:
    """(their name, our name) of each map and norm, without `.weight` and `.bias`."""
    yield f"{prefix}embeddings.LayerNorm", "source.norm"
    for number in range(depth):
        theirs, ours = f"{prefix}encoder.layer.{number}", f"encoder.{number}"
        for part in ("query", "key", "value"):
            yield f"{theirs}.attention.self.{part}", f"{ours}.mixer.{part}"
        yield f"{theirs}.attention.output.dense", f"{ours}.mixer.output"
        yield f"{theirs}.attention.output.LayerNorm", f"{ours}.around_mixer.norm"
        yield f"{theirs}.intermediate.dense", f"{ours}.feed_forward.up"
        yield f"{theirs}.output.dense", f"{ours}.feed_forward.down"
        yield f"{theirs}.output.LayerNorm", f"{ours}.around_feed_forward.norm"
    if pooled:
        yield f"{prefix}pooler.dense", "pooler"


def _tensors(
    weights: ForeignWeights, bundle: ClassifyBundle, prefix: str, config: ForeignConfig, *, pooled: bool
) -> "dict[str, Tensor]":
    """The tensors of the blocks under our names. All shapes are compared before the first is read."""
    model, expected = bundle.model, expected_shapes(bundle)
    assert isinstance(model, ClassifierTransformerConfig)
    names = {
        f"{ours}.{kind}": f"{theirs}.{kind}"
        for theirs, ours in _names(model.depth[0], prefix, pooled=pooled)
        for kind in ("weight", "bias")
    }
    for ours, theirs in names.items():
        weights.require(theirs, expected[ours])
    weights.require(f"{prefix}embeddings.position_embeddings.weight", expected["source.positions.table"])
    return {ours: weights.read(theirs, expected[ours]) for ours, theirs in names.items()}


def _embeddings(
    weights: ForeignWeights,
    bundle: ClassifyBundle,
    prefix: str,
    config: ForeignConfig,
    arrangement: Arrangement,
    first: int,
    end: int,
) -> "dict[str, Tensor]":
    """The vectors of pieces and positions. first, end: the ids of the class token and the end mark."""
    expected, width = expected_shapes(bundle), config.need("hidden_size", int)
    words = weights.read(f"{prefix}embeddings.word_embeddings.weight", (config.need("vocab_size", int), width))
    segments = (config.get("type_vocab_size", int, 2), width)
    table = weights.read(f"{prefix}embeddings.position_embeddings.weight", expected["source.positions.table"])
    table = table + weights.read(f"{prefix}embeddings.token_type_embeddings.weight", segments)[0]
    table[0] += words[first] - words[end]
    vectors = arrangement.embeddings(words)
    vectors[-1] = 0.0  # padding
    return {"source.embedding.weight": vectors, "source.positions.table": table}
