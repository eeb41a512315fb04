"""The shapes that come from settings alone are those of the networks that are built: names and sizes, tied tensors once."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from regard.models.build import (
    build_captioner,
    build_classifier,
    build_language_model,
    build_pretrained,
    build_translator,
    count_model,
)
from regard.models.config import (
    CAPTIONERS,
    CLASSIFIERS,
    LANGUAGE_MODELS,
    MIXER_TRAITS,
    SCORE_TRAITS,
    TRANSLATORS,
    MarkovConfig,
    MaskedTransformerConfig,
)
from regard.models.shapes import (
    RELATIVE_BUCKETS,
    Shapes,
    captioner_shapes,
    classifier_shapes,
    language_model_shapes,
    pretrained_shapes,
    table_shapes,
    translator_shapes,
)

SCORES = [name for name in SCORE_TRAITS if name != "location"]  # which no Transformer may have
READING_ROTARY = [name for name in SCORES if SCORE_TRAITS[name].reads_rotary]


@st.composite
def transformers(draw: st.DrawFn) -> dict[str, Any]:
    """The settings of a small Transformer of any make."""
    heads, head = draw(st.integers(1, 3)), 2 * draw(st.integers(1, 3))
    score = draw(st.sampled_from(SCORES))
    mixer = draw(st.just("attention") | st.sampled_from(list(MIXER_TRAITS)))
    traits, reads_rotary = MIXER_TRAITS[mixer], score in READING_ROTARY and MIXER_TRAITS[mixer].reads_rotary
    positions = ["sinusoidal", "learned"]
    positions += (["relative"] if traits.reads_bias else []) + (["rotary"] if reads_rotary else [])
    if mixer == "delta":  # half of the heads of an encoder read from the end
        heads *= 2
    return {
        "mixer": mixer,
        "rank": 1,
        "features": draw(st.integers(1, 9)),
        "hyena_order": draw(st.integers(1, 3)),
        "filter_width": draw(st.integers(1, 5)),
        "layers": draw(st.integers(1, 3)),
        "width": heads * head,
        "heads": heads,
        "feed_forward": draw(st.integers(1, 9)),
        "norm": draw(st.sampled_from(["pre", "post"])),
        "norm_kind": draw(st.sampled_from(["layer", "rms"])),
        "positions": draw(st.sampled_from(positions)),
        "max_positions": draw(st.integers(1, 20)),
        "activation": draw(st.sampled_from(["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"])),
        "embedding_norm": draw(st.booleans()),
        "score": score,
        "score_width": draw(st.none() | st.integers(1, 5)),
    }


def stored(network: nn.Module) -> Shapes:
    """The tensors that a bundle stores: parameters and persistent buffers, tied ones once."""
    persistent = network.state_dict().keys()
    named = [*network.named_parameters(), *network.named_buffers()]
    return {name: tuple(tensor.shape) for name, tensor in named if name in persistent}


def causal_decoder(values: dict[str, Any]) -> dict[str, Any]:
    """linformer has no place in a decoder."""
    return {"decoder_mixer": "performer"} if values["mixer"] == "linformer" else {}


depth = st.none() | st.integers(1, 3)


@settings(max_examples=60, deadline=None)
@given(transformers(), depth, depth, st.booleans(), st.booleans(), st.integers(3, 9), st.booleans(), st.booleans())
def test_translators(
    values: Any, encoder: Any, decoder: Any, tie: bool, joint: bool, source: int, bias: bool, copy: bool
) -> None:
    layers = {"encoder_layers": encoder, "decoder_layers": decoder, "tie": tie, **causal_decoder(values)}
    layers |= {"output_bias": bias, "copy": copy}
    config, target = TRANSLATORS["transformer"].parse({**values, **layers}), source if joint else 7
    network = build_translator(config, source, target, joint)
    assert translator_shapes(config, source, target, joint) == stored(network)


@settings(max_examples=30, deadline=None)
@given(transformers(), st.booleans(), st.integers(3, 9), st.booleans())
def test_prefix_language_models(values: Any, tie: bool, vocabulary: int, copy: bool) -> None:
    config = TRANSLATORS["prefix"].parse({**values, "mixer": "attention", "tie": tie, "copy": copy})
    network = build_translator(config, vocabulary, vocabulary, True)
    assert translator_shapes(config, vocabulary, vocabulary, True) == stored(network)


@settings(max_examples=30, deadline=None)
@given(transformers(), depth, st.booleans(), st.integers(3, 9), st.booleans())
def test_masked_language_models(values: Any, encoder: Any, tie: bool, vocabulary: int, bias: bool) -> None:
    layers = {"encoder_layers": encoder, "tie": tie, "output_bias": bias}
    config = MaskedTransformerConfig.parse({**values, **layers})
    assert pretrained_shapes(config, vocabulary) == stored(build_pretrained(config, vocabulary))


@settings(max_examples=30, deadline=None)
@given(
    transformers(),
    depth,
    st.booleans(),
    st.sampled_from(["convolution", "patches"]),
    st.sampled_from(["learned", "none"]),
    st.integers(1, 3),
    st.sampled_from([1, 3]),
    st.booleans(),
)
def test_captioners(
    values: Any, encoder: Any, tie: bool, tokenizer: str, places: str, size: int, channels: int, bias: bool
) -> None:
    front = {
        "tokenizer": tokenizer,
        "patch": size,
        "convolutions": size,
        "convolution_width": 5,
        "kernel": 2 * size - 1,
    }
    layers = {"encoder_layers": encoder, "tie": tie, "patch_positions": places, **causal_decoder(values)}
    layers["output_bias"] = bias
    config = CAPTIONERS["transformer"].parse({**values, **front, **layers, "max_positions": 64})
    network = build_captioner(config, (9, 6, channels), 7)
    assert captioner_shapes(config, (9, 6, channels), 7) == stored(network)


@settings(max_examples=30, deadline=None)
@given(transformers(), depth, st.booleans(), st.integers(3, 9))
def test_language_models(values: Any, decoder: Any, tie: bool, vocabulary: int) -> None:
    values = values | ({"mixer": "hyena"} if values["mixer"] == "linformer" else {})
    config = LANGUAGE_MODELS["transformer"].parse({**values, "decoder_layers": decoder, "tie": tie})
    network = build_language_model(config, vocabulary, 10)
    assert language_model_shapes(config, vocabulary) == stored(network)


@settings(max_examples=30, deadline=None)
@given(
    transformers(),
    depth,
    st.sampled_from(["mean", "max", "class", "attention"]),
    st.booleans(),
    st.integers(2, 5),
    st.booleans(),
)
def test_classifiers(values: Any, encoder: Any, pooling: str, tagging: bool, labels: int, bias: bool) -> None:
    causal = pooling == "mean" and MIXER_TRAITS[values["mixer"]].causal
    head = {"pooling": pooling, "output_bias": bias, "pooler": not bias, "causal": causal}
    config = CLASSIFIERS["transformer"].parse({**values, "encoder_layers": encoder, **head})
    network = build_classifier(config, 9, labels, tagging=tagging)
    assert classifier_shapes(config, 9, labels) == stored(network)


@pytest.mark.parametrize(("order", "skips"), [(1, 0), (2, 0), (4, 0), (2, 3)])
def test_counted_models(order: int, skips: int) -> None:
    config = MarkovConfig(order=order, skips=skips)
    ids = np.random.default_rng(0).integers(1, 6, 200).astype(np.int32)
    tables: Any = count_model(config, ids, np.array([0, 90]), 7).tables()
    shapes = {name: tuple(table.shape) for name, table in tables.items()}
    assert table_shapes(config, 7, shapes) == shapes


def test_every_network_with_an_output_bias_is_drawn_with_one() -> None:
    biased = {*TRANSLATORS.values(), *CAPTIONERS.values(), *LANGUAGE_MODELS.values(), *CLASSIFIERS.values()}
    names = {config.__name__ for config in biased if "output_bias" in config.model_fields}
    # test_translators, test_captioners, test_classifiers
    assert names == {"TransformerConfig", "CaptionerConfig", "ClassifierTransformerConfig"}


def test_the_relative_positions_have_as_many_buckets() -> None:
    config = TRANSLATORS["transformer"].parse({"positions": "relative"})
    network = build_translator(config, 9, 9, True)
    assert network.get_parameter("encoder_bias.table").shape[0] == RELATIVE_BUCKETS
