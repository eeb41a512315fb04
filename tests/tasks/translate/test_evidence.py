"""Evidence for links, held against a computation by hand, one token and one layer at a time."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from regard.errors import SearchError
from regard.models.build import build_translator
from regard.models.config import RecurrentConfig
from regard.ops.probe import Probe
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.translator import Translator

SOURCES, TARGETS = ["le chat dort", "je suis"], ["the cat", "I am a student"]


def encoded(model: Translator) -> Pairs:
    return Pairs(
        [model.tokenizers.source.encode(text) for text in SOURCES],
        [model.tokenizers.target.encode(text) for text in TARGETS],
    )


def recurrent(model: Translator, **settings: Any) -> Translator:
    """A recurrent network over the same vocabularies."""
    config = RecurrentConfig.parse({"width": 8, "dropout": 0.0, **settings})
    sizes = len(model.tokenizers.source.vocabulary), len(model.tokenizers.target.vocabulary)
    torch.manual_seed(1)
    return Translator(build_translator(config, *sizes, model.tokenizers.joint).double().eval(), model.tokenizers)


def test_attention_times_the_norm_of_what_each_value_adds(random_model: Callable[..., Translator]) -> None:
    model = random_model("word")
    pairs = encoded(model)
    network: Any = model.network
    for number, stack in enumerate(model.evidence(pairs, "norm")):
        probe = Probe("decoder.1.cross.*")
        model.forced([pairs.sources[number]], [pairs.targets[number]], probe)
        weights, values = probe["decoder.1.cross.weights"][0], probe["decoder.1.cross.values"][0]
        projection = network.decoder[1].cross.output.weight  # [D, D]
        width = values.shape[-1]
        for head in range(2):
            added = values[head] @ projection[:, head * width : (head + 1) * width].T  # [S, D]
            torch.testing.assert_close(stack[1, head], weights[head] * added.norm(dim=-1))


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_value_zeroing_is_the_change_of_the_output(random_model: Callable[..., Translator], kind: str) -> None:
    model = random_model("word")
    model = model if kind == "transformer" else recurrent(model)
    pairs = encoded(model)
    for number, stack in enumerate(model.evidence(pairs, "zeroing")):
        source, target = pairs.rows([number])
        plain = model.forced(source, target)[0]
        assert stack.shape == (2 if kind == "transformer" else 1, 1, len(target[0]) + 1, len(source[0]) + 1)
        for token in range(len(source[0]) + 1):

            def zeroed(values: torch.Tensor, token: int = token) -> torch.Tensor:
                return torch.cat([values[:, :, :token], 0 * values[:, :, :1], values[:, :, token + 1 :]], dim=2)

            hidden = model.forced(source, target, Probe(edits={"decoder.0.cross.*values": zeroed}))[0]
            torch.testing.assert_close(stack[0, 0, :, token], 1 - F.cosine_similarity(hidden, plain, dim=-1))
    assert stack.max() > 1e-3


def test_a_recurrent_model_has_every_method(random_model: Callable[..., Translator]) -> None:
    model = recurrent(random_model("word"))
    plain, norm = (model.evidence(encoded(model), method)[0] for method in ("attention", "norm"))
    torch.testing.assert_close(plain.sum(-1), torch.ones_like(plain.sum(-1)))
    assert (norm / plain).std(dim=2).max() < 1e-9  # a factor for each source token, whatever the step
    assert (norm / plain).std(dim=3).min() > 1e-6
    with pytest.raises(SearchError, match="no attention from target to source"):
        recurrent(model, attention=False).align(SOURCES, TARGETS)


def test_what_nobody_asks_for_is_not_computed(random_model: Callable[..., Translator]) -> None:
    model = random_model("word")
    network: Any = model.network
    network.decoder[0].cross._value_norms = None  # would fail if it were called
    assert len(model.evidence(encoded(model), "attention")) == 2
    with pytest.raises(TypeError):
        model.evidence(encoded(model), "norm")
