"""Writes a Transformer for onnxruntime: a translator as an encoder and a decoder with its key-value cache, a language model as a decoder,
a classifier as one network. The graphs are written from the weights; no torch network is traced.

The decoder reads any number of new tokens after those of the cache, so the same file prefills (with an empty cache) and steps. The
encoder gives the keys and values of every cross-attention, which are computed once.

Shapes: `batch`, `source` (S) and `new` (T) positions, `past` cached positions; H heads, d head width, a width of a prepared key.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.bundle.config import installed_version
from regard.bundle.opened import OpenBundle
from regard.bundle.weights import numpy_weights
from regard.errors import BundleError
from regard.extras import require
from regard.files import disk_errors, to_json
from regard.interop.onnx_graph import Graph, Size
from regard.interop.onnx_layers import KeysAndValues, Layers, Places
from regard.interop.sentencepiece import spm_of, write_spm_files
from regard.models.config import (
    ClassifierTransformerConfig,
    LanguageTransformerConfig,
    ModelConfig,
    TransformerBase,
    TransformerConfig,
)
from regard.text.vocabulary import Vocabulary

ENCODER, DECODER, CLASSIFIER = "encoder_model.onnx", "decoder_with_past_model.onnx", "model.onnx"
_MIXERS = ("attention", "window")
_SCORES = (
    "parameter_free",
    "dot",
    "scaled_dot",
    "general",
    "concat",
    "additive",
    "cosine",
    "mahalanobis",
    "gaussian",
    "latent",
)


def check_onnx(bundle: OpenBundle) -> None:
    """Refuse a network or tokenizer that the graphs or a small script cannot have, with the setting to train with."""
    why = _obstacle(bundle.config.model)
    if why is None and spm_of(bundle.tokenizers.source) is None:
        kind = bundle.tokenizers.source.kind
        why = f"a script with sentencepiece cannot read text.kind {kind!r}; train with text.kind = 'bpe'"
    if why is not None:
        raise BundleError(f"{bundle.directory}: cannot be exported to ONNX: {why}")
    require("onnx", "--to onnx")


def _obstacle(model: ModelConfig) -> str | None:
    """Why there is no graph for such a network; None: there is one."""
    if not isinstance(model, TransformerBase) or type(model) not in _WRITERS:
        kind = getattr(model, "kind", type(model).__name__)
        return f"model.kind {kind!r} has no graph; train with model.kind = 'transformer'"
    other = next((name for side in model.mixers for name in side if name not in _MIXERS), None)
    if other is not None:
        return f"model.mixer {other!r} has no graph; train with model.mixer = 'attention'"
    if model.copies:
        return "the copy mechanism has no graph; train with model.copy = false"
    if model.score not in _SCORES:  # of an extension
        return f"model.score {model.score!r} has no graph; train with model.score = 'scaled_dot'"
    return None


def write_onnx(bundle: OpenBundle, directory: Path) -> None:
    """Write the graphs, the sentencepiece models, the pieces and `config.json` into an existing directory."""
    model = bundle.config.model
    facts = _WRITERS[type(model)](bundle, directory)
    tokenizers = bundle.tokenizers
    target = tokenizers.target.vocabulary
    config = {
        "task": bundle.config.task,
        "eos_token_id": Vocabulary.EOS,
        "unk_token_id": Vocabulary.UNK,
        "unicode_form": tokenizers.source.form,
        "lowercase": tokenizers.source.lowercase,
        "max_positions": bundle.config.reach,
        **facts,
    }
    write_spm_files(tokenizers, directory)
    with disk_errors(directory):
        (directory / "config.json").write_text(to_json(config), encoding="utf-8")
        for side, vocabulary in (("source", tokenizers.source.vocabulary), ("target", target)):
            (directory / f"{side}_pieces.json").write_text(to_json(list(vocabulary.pieces)), encoding="utf-8")


def _write_translator(bundle: OpenBundle, directory: Path) -> dict[str, Any]:
    config: TransformerConfig = bundle.config.model
    tensors = numpy_weights(bundle)
    own = "source.embedding.weight"
    graph = Graph("encoder")
    layers = Layers(graph, config, tensors)
    ids = graph.input("input_ids", ("batch", "source"), integers=True)
    read = graph.input("attention_mask", ("batch", "source"), integers=True)
    x = _encoded(layers, ids, read, "source", own if own in tensors else "target.embedding.weight")
    for number in range(config.depth[1]):
        projected = layers.keys_and_values(x, f"decoder.{number}.cross", config.score)
        width = _key_width(layers, f"decoder.{number}.cross")
        for kind, value, size in (("key", projected.keys, width), ("value", projected.values, layers.head)):
            name = f"past_key_values.{number}.encoder.{kind}"
            graph.output(value, name, ("batch", config.heads, "source", size))
    graph.save(directory / ENCODER, installed_version())
    _write_decoder(bundle, layers, directory, cross=True)
    end = {"decoder_start_token_id": bundle.tokenizers.target.vocabulary.pad, "add_source_eos": config.source_end}
    return {"encoder": ENCODER, "decoder": DECODER, **end}


def _write_language_model(bundle: OpenBundle, directory: Path) -> dict[str, Any]:
    layers = Layers(Graph("unused"), bundle.config.model, numpy_weights(bundle))
    _write_decoder(bundle, layers, directory, cross=False)
    start = {"decoder_start_token_id": bundle.tokenizers.target.vocabulary.pad}
    return {"decoder": DECODER, **start, "context": bundle.config.texts.context}


def _write_classifier(bundle: OpenBundle, directory: Path) -> dict[str, Any]:
    config: ClassifierTransformerConfig = bundle.config.model
    graph, tagging = Graph("classifier"), bundle.config.labels_of == "token"
    layers = Layers(graph, config, numpy_weights(bundle))
    ids = graph.input("input_ids", ("batch", "source"), integers=True)
    read = graph.input("attention_mask", ("batch", "source"), integers=True)
    if config.pooling == "class":  # the class token is the end mark
        first = [graph.apply("Slice", x, *(graph.constant([at]) for at in (0, 1, 1))) for x in (ids, read)]
        ids = graph.apply("Concat", graph.apply("Sub", first[0], first[0]), ids, axis=1)
        read = graph.apply("Concat", first[1], read, axis=1)
    x = _encoded(layers, ids, read, "source", "source.embedding.weight")
    x = x if tagging else _pooled(layers, x, read, config.pooling)
    if config.pooler:
        x = graph.apply("Tanh", layers.linear(x, "pooler"))
    labels = len(bundle.config.labels)
    logits = layers.logits(x, "output", labels, "output_bias" if config.output_bias else None)
    graph.output(logits, "logits", ("batch", "source", labels) if tagging else ("batch", labels))
    graph.save(directory / CLASSIFIER, installed_version())
    return {"model": CLASSIFIER, "labels": list(bundle.config.labels), "labels_of": bundle.config.labels_of}


def _encoded(layers: Layers, ids: str, read: str, front: str, table: str) -> str:
    """[B, S, D]: the hidden states after the encoder."""
    graph = layers.graph
    here = graph.range(graph.constant(0), graph.size(ids, 1))
    places = Places(here, here)
    x = layers.embedded(ids, front, table, here)
    mask = layers.with_bias(layers.padding(read), "encoder", places)
    for number in range(layers.config.depth[0]):
        x, _ = layers.block(x, "encoder", number, mask, places)
    return layers.last_norm(x, "encoder")


def _write_decoder(bundle: OpenBundle, layers: Layers, directory: Path, *, cross: bool) -> None:
    """The decoder: new tokens and the cache in, logits and the longer cache out."""
    graph, config = Graph("decoder"), layers.config
    layers = Layers(graph, config, layers.tensors)
    ids = graph.input("input_ids", ("batch", "new"), integers=True)
    source_mask = None
    if cross:
        read = graph.input("encoder_attention_mask", ("batch", "source"), integers=True)
        source_mask = layers.padding(read)
    depth = range(config.depth[1])
    pasts = [_cache_inputs(layers, f"{n}.decoder", f"decoder.{n}.mixer", "past") for n in depth]
    sources = [_cache_inputs(layers, f"{n}.encoder", f"decoder.{n}.cross", "source") if cross else None for n in depth]
    first = graph.size(pasts[0].values, 2)
    end = graph.add(first, graph.size(ids, 1))
    places = Places(graph.range(first, end), graph.range(graph.constant(0), end))
    x = layers.embedded(ids, "target", "target.embedding.weight", places.new)
    mask = layers.with_bias(layers.causal(places), "decoder", places)
    for number, (past, source) in enumerate(zip(pasts, sources, strict=True)):
        x, seen = layers.block(x, "decoder", number, mask, places, past, source, source_mask)
        width = _key_width(layers, f"decoder.{number}.mixer")
        for kind, value, size in (("key", seen.keys, width), ("value", seen.values, layers.head)):
            graph.output(value, f"present.{number}.decoder.{kind}", ("batch", config.heads, "past_and_new", size))
    outputs = bundle.tokenizers.target.vocabulary.pad
    table = "output" if "output" in layers.tensors else "target.embedding.weight"
    bias = "output_bias" if "output_bias" in layers.tensors else None
    logits = layers.logits(layers.last_norm(x, "decoder"), table, outputs, bias)
    graph.output(logits, "logits", ("batch", "new", outputs))
    graph.save(directory / DECODER, installed_version())


def _cache_inputs(layers: Layers, name: str, attention: str, length: Size) -> KeysAndValues:
    heads, width = layers.config.heads, _key_width(layers, attention)
    return KeysAndValues(
        layers.graph.input(f"past_key_values.{name}.key", ("batch", heads, length, width)),
        layers.graph.input(f"past_key_values.{name}.value", ("batch", heads, length, layers.head)),
    )


def _key_width(layers: Layers, attention: str) -> int:
    """The width of a key that is prepared for the score."""
    weights = (f"{attention}.score.{name}" for name in ("key_weight", "root", "vector"))
    inner = next((layers.tensors[name] for name in weights if name in layers.tensors), None)
    return layers.head if inner is None else len(inner)


def _pooled(layers: Layers, x: str, read: str, pooling: str) -> str:
    """[B, D]: one vector for each text."""
    graph = layers.graph
    if pooling == "class":
        return graph.apply("Gather", x, graph.constant(0), axis=1)
    there = graph.unsqueezed(graph.numbers(read), 2)
    if pooling == "max":
        hidden = graph.times(graph.apply("Sub", graph.constant(1.0), there), -1e30)
        return graph.apply("ReduceMax", graph.add(x, hidden), axes=[1], keepdims=0)
    if pooling == "attention":
        query = graph.constant(layers.tensors["attention_pooling.query"][:, None], "attention_pooling.query")
        hidden = graph.times(graph.apply("Sub", graph.constant(1.0), there), -1e30)
        weights = graph.apply("Softmax", graph.add(graph.apply("MatMul", x, query), hidden), axis=1)
        return graph.apply("ReduceSum", graph.apply("Mul", x, weights), graph.constant([1]), keepdims=0)
    total = graph.apply("ReduceSum", graph.apply("Mul", x, there), graph.constant([1]), keepdims=0)
    return graph.apply("Div", total, graph.apply("ReduceSum", there, graph.constant([1]), keepdims=0))


_WRITERS: dict[type[ModelConfig], Callable[[OpenBundle, Path], dict[str, Any]]] = {
    TransformerConfig: _write_translator,
    LanguageTransformerConfig: _write_language_model,
    ClassifierTransformerConfig: _write_classifier,
}
"""The networks that have a graph."""
