"""When a prepared decoder is made, and that it is never older than the weights. That its steps are right, the contract suites test."""

import copy
import pickle

import pytest
import torch
from torch import Tensor

from regard.models.build import build_translator
from regard.models.config import LanguageTransformerConfig, TransformerConfig
from regard.models.decoder_only import DecoderOnly
from regard.models.network import Trainable
from regard.models.prepared import SharedState
from regard.models.state import CausalState, TransformerState

VOCABULARY = 23
SOURCE = torch.tensor([[3, 1, 4, 0], [9, 2, 0, 22]])


def language_model(**settings: object) -> DecoderOnly:
    torch.manual_seed(1)
    config = LanguageTransformerConfig(layers=2, width=16, heads=2, feed_forward=24, dropout=0.3, **settings)
    return DecoderOnly(config, VOCABULARY, 16).double().eval()


def difference(model: DecoderOnly) -> float:
    """Of one step from teacher forcing."""
    said = torch.tensor([[22, 4, 7], [22, 9, 9]])
    logits, _, _ = model.step(said[:, 2:], model.start(None, said[:, :2]))
    return float((logits[:, 0] - model(said[:, :0], said)[:, -1]).abs().max())


@pytest.mark.parametrize(
    "settings",
    [
        {"positions": "rotary", "activation": "swiglu"},
        {"positions": "learned", "activation": "gelu", "norm": "post"},
        {"positions": "sinusoidal", "norm_kind": "rms", "tie": False},
    ],
)
@torch.no_grad()
def test_steps_see_the_weights_as_they_are(settings: dict[str, object]) -> None:
    model = language_model(**settings)
    assert difference(model) < 1e-12
    for weight in model.parameters():
        weight.mul_(1.1)
        assert difference(model) < 1e-12
    model.load_state_dict({name: 0.9 * value for name, value in model.state_dict().items()})
    assert difference(model) < 1e-12


@torch.no_grad()
def test_weights_that_change_unseen_are_forgotten_in_training_mode() -> None:
    """Workers change shared weights without torch's counter. Every evaluation in training leaves and enters the training mode."""
    model = language_model()
    before = difference(model)
    model.train()
    for weight in model.parameters():
        weight.data.numpy()[:] *= 1.5
    model.eval()
    assert max(before, difference(model)) < 1e-12


def test_a_model_in_training_mode_or_with_gradients_is_not_prepared() -> None:
    model = language_model()
    prompt = torch.tensor([[22, 4]])
    assert not isinstance(model.start(None, prompt).decoder, SharedState)  # with gradients
    with torch.no_grad():
        assert isinstance(model.start(None, prompt).decoder, SharedState)
        assert not isinstance(model.train().start(None, prompt).decoder, SharedState)


@torch.no_grad()
def test_a_copy_prepares_its_own_weights() -> None:
    model = language_model()
    difference(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for weight in other.parameters():
            weight.mul_(1.3)
        assert difference(other) < 1e-12
    assert difference(model) < 1e-12


@pytest.mark.parametrize(
    ("settings", "prepared"),
    [
        ({}, True),
        ({"positions": "relative"}, False),
        ({"score": "additive"}, False),
        ({"decoder_mixer": "hyena"}, False),
    ],
)
@torch.no_grad()
def test_only_plain_attention_is_prepared(settings: dict[str, str], prepared: bool) -> None:
    config = TransformerConfig(layers=2, width=16, heads=2, feed_forward=24, **settings)
    network = build_translator(config, VOCABULARY, VOCABULARY, joint=True).eval()
    assert isinstance(network, Trainable)
    assert isinstance(network.start(SOURCE), SharedState) == prepared


@torch.no_grad()
def test_a_search_may_ask_for_attention_at_any_step() -> None:
    """Weights are recorded by the plain way: it goes on where the prepared one stood, with hypotheses that had other parents."""
    torch.manual_seed(3)
    config = TransformerConfig(layers=2, width=16, heads=2, feed_forward=24, dropout=0.0)
    network = build_translator(config, VOCABULARY, VOCABULARY, joint=True).double().eval()
    assert isinstance(network, Trainable)
    source = torch.cat([SOURCE, SOURCE.flip(0), SOURCE])
    state, tokens = network.start(source), torch.full((6, 1), network.start_token)
    for step in range(4):
        _, state, _ = network.step(tokens, state)
        kept = torch.arange(
            len(state.caches.past.places) if state.caches.past.places is not None else state.caches.past.size
        )
        kept = kept[1:] if step == 1 else kept
        parents = torch.randint(tokens.shape[1], (len(kept), 3))
        state, tokens = state.reorder(kept, parents), torch.randint(22, (len(kept), 3))
    expected, _, nothing = network.step(tokens, state)
    logits, after, seen = network.step(tokens, state, record=True)
    torch.testing.assert_close(logits, expected, rtol=1e-10, atol=1e-10)
    assert nothing is None
    assert seen is not None
    assert isinstance(after, TransformerState)
    sums: Tensor = seen.attention.sum(dim=-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))


@torch.no_grad()
def test_a_language_model_keeps_its_tokens() -> None:
    model = language_model()
    state = model.start(None, torch.tensor([[22, 4], [22, 9]]))
    _, state, _ = model.step(torch.tensor([[5], [6]]), state)
    assert isinstance(state, CausalState)
    assert state.tokens.tolist() == [[22, 4, 5], [22, 9, 6]]


@torch.no_grad()
def test_a_state_may_be_stepped_from_twice() -> None:
    """Memory is filled in place: the second continuation must not write over the first."""
    model = language_model()
    _, begun, _ = model.step(torch.tensor([[3], [5]]), model.start(None, torch.tensor([[22], [22]])))
    states = [model.step(torch.tensor([[token], [token]]), begun)[1] for token in (7, 9)]
    for token, state in zip((7, 9), states, strict=True):
        logits, _, _ = model.step(torch.tensor([[4], [8]]), state)
        said = torch.tensor([[22, 3, token, 4], [22, 5, token, 8]])
        assert float((logits[:, 0] - model(said[:, :0], said)[:, -1]).abs().max()) < 1e-12


def test_weights_made_in_inference_mode_are_not_prepared() -> None:
    with torch.inference_mode():
        model = language_model()
        assert difference(model) < 1e-12
