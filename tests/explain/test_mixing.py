"""What layers without attention weights show: the layer's own filters and gates, and its Jacobian."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explain.browser import BROWSER, measured
from explain.models import explained, tokenizers
from regard.bundle.config import TextsConfig
from regard.errors import ConfigError, DataError
from regard.explain.explanation import Explanation
from regard.explain.mixing import CHANNELS, SEED, _width
from regard.explain.sentence_page import render_sentences, to_data
from regard.explain.sentence_request import sentence_text
from regard.explain.text import explain_text
from regard.models.build import build_classifier, build_language_model, build_translator
from regard.models.config import (
    BagConfig,
    ClassifierRecurrentConfig,
    ClassifierTransformerConfig,
    LanguageTransformerConfig,
    TransformerConfig,
)
from regard.tasks.classify.classifier import Classifier
from regard.tasks.classify.tagger import Tagger
from regard.tasks.generate.writer import Writer
from regard.tasks.translate.translator import Translator

SIZE = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 24, "dropout": 0.0}
TEXT = "the apple is red he sleeps"
HALF = 3  # positions that a causal window sees, one of them its own


@cache
def writer(*mixers: str) -> Writer:
    tokenizer = tokenizers().target
    config = LanguageTransformerConfig.parse({**SIZE, "mixer": list(mixers), "window": HALF, "max_positions": 64})
    torch.manual_seed(1)
    network: Any = build_language_model(config, len(tokenizer.vocabulary), 64).double().eval()
    served = Writer(network, tokenizer, TextsConfig(documents="file", context=64))
    served.explainer = explain_text
    return served


@cache
def classifier(pooling: str = "mean") -> Classifier:
    tokenizer = tokenizers().source
    config = ClassifierTransformerConfig.parse({**SIZE, "mixer": ["hyena", "delta"], "pooling": pooling})
    torch.manual_seed(2)
    network: Any = build_classifier(config, len(tokenizer.vocabulary), 2).double().eval()
    return Classifier(network, tokenizer, ["no", "yes"], reach=config.reach)


def translator(**mixers: Any) -> Translator:
    pair = tokenizers()
    torch.manual_seed(4)
    config = TransformerConfig.parse({**SIZE, **mixers})
    network = build_translator(config, len(pair.source.vocabulary), len(pair.target.vocabulary), False).double()
    return explained(Translator(network.eval(), pair))


def layer_inputs(model: Writer) -> torch.Tensor:
    """The input of the first layer: embeddings of the start token and all but the last."""
    network: Any = model.network
    ids = model.encode(TEXT)
    return network.target.embed(torch.tensor([[network.start_token, *ids[:-1]]])).detach()


@pytest.mark.parametrize("mixer", ["hyena", "delta", "window", "linear"])
def test_the_field_is_the_jacobian_of_the_layer(mixer: str) -> None:
    model = writer(mixer, "attention") if mixer != "linear" else writer("linear", "linear")
    network: Any = model.network
    block = network.decoder[0]
    x = layer_inputs(model)
    jacobian = torch.autograd.functional.jacobian(lambda one: block.mixer(block.around_mixer.enter(one))[0], x)[:, :, 0]
    direction = torch.randn(16, generator=torch.Generator().manual_seed(SEED), dtype=torch.float64)
    expected = torch.einsum("tdse,d->tse", jacobian, direction).norm(dim=-1)
    layer = explain_text(model, TEXT).mixing[0]
    np.testing.assert_allclose(layer.reach.values, expected.float(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.triu(layer.reach.values, 1), 0.0, atol=1e-12)  # a transform is exact but for rounding
    if mixer == "window":
        assert not np.tril(layer.reach.values, -HALF).any()


def test_filters_and_gates_are_those_of_the_layer() -> None:
    model = writer("hyena", "delta")
    network: Any = model.network
    hyena, delta = explain_text(model, TEXT).mixing
    tokens = len(model.encode(TEXT))
    own = network.decoder[0].mixer.filters(tokens)[:, 0]  # [N, D, T]
    assert hyena.filters is not None
    assert hyena.filters.shape == {"filter": 2 * CHANNELS, "lag": tokens}
    np.testing.assert_allclose(hyena.filters.values[:CHANNELS], own[0, [0, 3, 6, 9, 12, 15]].detach(), atol=1e-6)
    assert hyena.filter_names[0] == "convolution 1, channel 1"
    assert hyena.filter_names[-1] == "convolution 2, channel 16"
    assert hyena.gates is not None
    assert hyena.gates.shape == {"gate": 2, "token": tokens}
    assert delta.filters is None
    assert delta.gates is not None
    assert list(delta.gate_names) == ["decay, head 1", "decay, head 2", "strength, head 1", "strength, head 2"]
    assert ((delta.gates.values > 0) & (delta.gates.values < 1)).all()
    assert [(layer.mixer, layer.weighted) for layer in (hyena, delta)] == [("Hyena", False), ("DeltaRule", False)]


def test_the_width_of_a_field_by_hand() -> None:
    # the first row: distances 0, 1, 2 have 6, 3, 1 of 10; the second: 1 at distance 0
    assert _width(np.array([[6.0, 3.0, 1.0]]), [0]) == 1
    assert _width(np.array([[6.0, 3.0, 1.0], [0.0, 1.0, 0.0]]), [0, 1]) == 0.5
    assert _width(np.array([[1.0, 1.0, 8.0]]), [0]) == 2
    assert _width(np.zeros((1, 3)), [0]) == 0.0


def test_a_language_model_scores_the_text_that_is_explained() -> None:
    model = writer("hyena", "attention")
    found: Explanation = model.explain(TEXT, name="mine")
    [score] = model.score([TEXT])
    assert found.logprob == pytest.approx(score.logprob)
    assert (found.task, found.model.name, found.attention) == ("generate", "mine", {})
    assert [layer.weighted for layer in found.mixing] == [False, True]


@pytest.mark.parametrize("pooling", ["mean", "class", "attention"])
def test_a_classifier_is_explained_by_its_label(pooling: str) -> None:
    model = classifier(pooling)
    found = explain_text(model, "le chat dort")
    [label] = model.classify(["le chat dort"])
    assert found.target.text == label.label
    assert np.exp(found.logprob) == pytest.approx(label.probabilities[label.label])
    assert found.outputs.tokens == [[label.label, *(name for name in ("no", "yes") if name != label.label)]]
    assert all(layer.reach.shape["token"] == len(found.source.tokens) for layer in found.mixing)
    assert (found.source.tokens[0] == "(class)") == (pooling == "class")
    assert (found.pooling is not None) == (pooling == "attention")


def test_the_weights_of_attention_pooling_of_an_lstm() -> None:
    """A classifier without layers that mix is explained by its pooling: softmax of the query times the states, worked out here."""
    tokenizer = tokenizers().source
    config = ClassifierRecurrentConfig(layers=1, width=16, pooling="attention", dropout=0.0)
    torch.manual_seed(5)
    network: Any = build_classifier(config, len(tokenizer.vocabulary), 2).double().eval()
    with torch.no_grad():
        network.attention_pooling.query.normal_(std=4.0)
        ids = torch.tensor([[*tokenizer.encode("le chat dort"), 0]])
        states, _ = network.encoder(*network.source(ids))
        expected = torch.softmax(states[0] @ network.attention_pooling.query, dim=0)
    model = Classifier(network, tokenizer, ["no", "yes"], reach=config.reach)
    found = explain_text(model, "le chat dort")
    assert found.pooling is not None
    assert (found.attention, found.mixing) == ({}, [])
    assert found.pooling.shape == {"token": len(found.source.tokens)}
    np.testing.assert_allclose(found.pooling.values, expected, rtol=1e-5)
    assert expected.std() > 0.02, "a mean would prove nothing"
    assert f"pooling\t{found.source.tokens[0]}\t{expected[0]:.3f}\n" in sentence_text(found)
    assert "poolingView" in render_sentences([found])
    assert "pooling;" in repr(found)


def test_a_translator_shows_all_layers_where_one_has_no_weights() -> None:
    found = translator(encoder_mixer="hyena", decoder_mixer=["attention", "delta"]).explain(
        "le chat dort", target=TEXT, parts=("mixing",)
    )
    assert [(one.stack, one.layer, one.weighted) for one in found.mixing] == [
        ("encoder", 0, False),
        ("encoder", 1, False),
        ("decoder", 0, True),
        ("decoder", 1, False),
    ]
    assert found.mixing[0].filter_names[CHANNELS] == "convolution 1, after, channel 1"
    assert translator().explain("le chat dort", target=TEXT, parts=("mixing",)).mixing == []
    [data] = to_data([found])["explanations"]
    assert data["mixing"][0]["reach"]["axes"] == ["state", "token"]
    assert "mixingView" in render_sentences([found])


def test_what_cannot_be_explained_is_refused_in_a_line() -> None:
    with pytest.raises(DataError, match=r"^the text has \d+ tokens, and at most 64 are explained; give less$"):
        explain_text(writer("hyena", "delta"), "the cat sleeps " * 30)
    with pytest.raises(DataError, match=r"^'': nothing to explain; give a text$"):
        explain_text(classifier(), "")
    tokenizer = tokenizers().source
    bag: Any = build_classifier(BagConfig(), len(tokenizer.vocabulary), 2)
    with pytest.raises(ConfigError, match="'Bag' has no layers that mix positions; only transformers"):
        explain_text(Classifier(bag, tokenizer, ["no", "yes"]), "le chat")
    with pytest.raises(ConfigError, match="a tagger cannot be explained yet"):
        explain_text(Tagger(classifier().network, tokenizer, ["no", "yes"]), "le chat")


@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor chromium-browser is on PATH")
def test_the_page_draws_fields_gates_and_filters(tmp_path: Path) -> None:
    page = render_sentences([writer("hyena", "delta").explain(TEXT)])
    names, maps, curves, origin = measured(
        page,
        tmp_path,
        "[[...document.querySelectorAll('#mixing .choice button')].map((button) => button.textContent), "
        "document.querySelectorAll('#mixing canvas').length, document.querySelectorAll('#mixing path.curve').length, "
        "document.querySelector('.figures span').textContent]",
    )
    assert names == ["Decoder 1: Hyena", "Decoder 2: DeltaRule"]
    assert (maps, curves, origin) == (2, 2 * CHANNELS, "the text, token by token")
