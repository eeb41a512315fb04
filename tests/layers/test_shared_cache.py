"""The cache that the hypotheses of a sentence share, against a forward pass over each hypothesis alone.

Shapes: B sentences, k hypotheses each, T tokens.
"""

import pytest
import torch
from torch import Tensor

from regard.layers.shared_cache import SPARE_STEPS
from regard.models.build import build_translator
from regard.models.config import LanguageTransformerConfig, TransformerConfig
from regard.models.decoder_only import DecoderOnly
from regard.models.prepared import SharedState
from regard.models.state import TransformerState
from regard.models.transformer import Transformer

VOCABULARY = 23
SOURCE = torch.tensor(
    [[3, 1, 4, 1, 5, 0], [9, 2, 6, 0, 22, 22], [5, 3, 5, 8, 0, 22], [9, 7, 0, 22, 22, 22], [3, 0, 22, 22, 22, 22]]
)
"""Five sources; 22 is pad."""

WIDTHS = [3, 3, 5, 5, 2, 1, 4, 4, 10, 3, 4]
"""Hypotheses after each step: fewer, more, one alone, and too many to share a cache."""


def transformer(positions: str) -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(layers=2, width=16, heads=2, feed_forward=24, positions=positions, dropout=0.0)
    network = build_translator(config, VOCABULARY, VOCABULARY, joint=True)
    assert isinstance(network, Transformer)
    return network.double().eval()


def walk(model: Transformer, widths: list[int], dropped: dict[int, int]) -> tuple[list[float], set[type]]:
    """Random tokens and random parents. Returns the largest error of each step's logits, and the kinds of caches that were in use."""
    generator = torch.Generator().manual_seed(7)
    source, state = SOURCE, model.start(SOURCE)
    said = torch.zeros(len(source), 1, 0, dtype=torch.long)  # [B, k, T]
    tokens = torch.full((len(source), 1), model.start_token)
    errors, kinds = [], set()
    for step, width in enumerate(widths):
        said = torch.cat([said, tokens[..., None]], dim=2)
        logits, state, _ = model.step(tokens, state)
        errors.append(float((logits - alone(model, source, said)).abs().max()))
        kinds.add(type(state))
        kept = torch.tensor([row for row in range(len(source)) if row != dropped.get(step)])
        parents = torch.randint(said.shape[1], (len(kept), width), generator=generator)
        state = state.reorder(kept, parents)
        source, said = source[kept], said[kept[:, None], parents]
        tokens = torch.randint(VOCABULARY - 1, (len(kept), width), generator=generator)
    return errors, kinds


def alone(model: Transformer, source: Tensor, said: Tensor) -> Tensor:
    """[B, k, V]: the logits after each hypothesis, by teacher forcing."""
    return torch.stack([model(source, said[:, number])[:, -1] for number in range(said.shape[1])], dim=1)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "learned"])
@torch.no_grad()
def test_hypotheses_that_share_a_cache_see_their_own_past(positions: str) -> None:
    errors, kinds = walk(transformer(positions), WIDTHS, dropped={1: 4, 3: 0, 6: 1})
    assert max(errors) < 1e-10
    assert kinds == {TransformerState, SharedState}, "both kinds must have been in use"


@torch.no_grad()
def test_a_cache_grows() -> None:
    errors, _ = walk(transformer("sinusoidal"), [3] * (SPARE_STEPS + 5), dropped={})
    assert max(errors) < 1e-10


@torch.no_grad()
def test_relative_positions_are_not_shared() -> None:
    model = transformer("relative")
    torch.nn.init.normal_(model.decoder_bias.table)  # zeros would hide a mistake
    errors, kinds = walk(model, WIDTHS[:6], dropped={1: 4})
    assert max(errors) < 1e-10
    assert kinds == {TransformerState}


@torch.no_grad()
def test_a_language_model_goes_on_past_its_context() -> None:
    """The caches are made anew from the last half of the context, while hypotheses share them."""
    torch.manual_seed(2)
    config = LanguageTransformerConfig(layers=2, width=16, heads=2, feed_forward=24, positions="rotary", dropout=0.0)
    model = DecoderOnly(config, VOCABULARY, 8).double().eval()
    generator = torch.Generator().manual_seed(3)
    prompt = torch.tensor([[22, 4], [22, 9]])
    state, tokens, said = model.start(None, prompt[:, :1]), prompt[:, 1:], prompt[:, None]
    for _ in range(12):
        logits, state, _ = model.step(tokens, state)
        read = state.tokens.view(*said.shape[:2], -1)
        assert read.shape[2] <= 8
        assert torch.equal(read[:, :, 1:], said[:, :, said.shape[2] - read.shape[2] + 1 :])
        expected = torch.stack([model(read[:, n, :0], read[:, n])[:, -1] for n in range(said.shape[1])], dim=1)
        torch.testing.assert_close(logits, expected)
        parents = torch.randint(said.shape[1], (2, 3), generator=generator)
        state, said = state.reorder(torch.arange(2), parents), said[torch.arange(2)[:, None], parents]
        tokens = torch.randint(VOCABULARY - 1, (2, 3), generator=generator)
        said = torch.cat([said, tokens[..., None]], dim=2)
