"""The masked language model: against `torch.nn.TransformerEncoder` with the same weights, and its weights in other networks.

The contract suites have the rest: padding changes nothing, every weight has a gradient, one batch is learnt by heart.
"""

from typing import Any

import pytest
import torch
from torch import nn

from models.test_transformer import copy_attention, copy_common, copy_norms
from regard.models.build import build_classifier, build_pretrained, build_translator
from regard.models.config import ClassifierTransformerConfig, MaskedTransformerConfig, TransformerConfig
from regard.models.masked import MaskedEncoder

VOCABULARY, PAD = 23, 22
SIZE: dict[str, Any] = {"layers": 2, "width": 16, "heads": 4, "feed_forward": 24, "dropout": 0.0}


def network_of(**options: Any) -> MaskedEncoder:
    """A network in double precision whose every weight is random."""
    torch.manual_seed(1)
    network = build_pretrained(MaskedTransformerConfig(**{**SIZE, **options}), VOCABULARY)
    assert isinstance(network, MaskedEncoder)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return network.double().eval()


@pytest.mark.parametrize(
    ("norm", "activation", "positions", "options"),
    [
        ("pre", "relu", "sinusoidal", {}),
        ("post", "gelu", "learned", {"tie": False}),
        ("post", "gelu", "learned", {"output_bias": True}),  # as BERT
    ],
)
def test_forward_and_gradients_match_torch(norm: str, activation: str, positions: str, options: dict[str, Any]) -> None:
    network = network_of(norm=norm, activation=activation, positions=positions, max_positions=9, **options)
    layer = nn.TransformerEncoderLayer(
        16, 4, 24, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
    )
    last = nn.LayerNorm(16) if norm == "pre" else None
    oracle = nn.TransformerEncoder(layer, 2, last, enable_nested_tensor=False).double().train()
    with torch.no_grad():
        for mine, theirs in zip(network.encoder, oracle.layers, strict=True):
            copy_attention(mine.mixer, theirs.self_attn)
            copy_common(mine, theirs)
            copy_norms(theirs, mine.around_mixer.norm, mine.around_feed_forward.norm)
        if last is not None:
            last.load_state_dict(network.encoder_norm.state_dict())
    source = torch.randint(0, PAD, (3, 6))
    source[1, 4:], source[2, 1:] = PAD, PAD
    real, table, places = source != PAD, network.source.embedding.weight, network.source.positions
    assert places is not None
    found = network(source)[real]
    embedded = table[source] * 16**0.5 + places(0, 6)
    weights, bias = network.output_table()[:PAD], network.output_offsets()
    expected = oracle(embedded, src_key_padding_mask=~real)[real] @ weights.T + (0.0 if bias is None else bias)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    directions = torch.randn_like(found)
    ours, theirs = (torch.autograd.grad((part * directions).sum(), table)[0] for part in (found, expected))
    torch.testing.assert_close(ours[:PAD], theirs[:PAD], rtol=0, atol=1e-9)


def test_a_place_sees_both_sides_and_the_target_is_not_read() -> None:
    network = network_of()
    source = torch.tensor([[3, 4, 5, 6, 0]])
    before = network(source)
    for place in (0, 4):
        other = source.clone()
        other[0, place] = 9
        assert (network(other)[0, 2] - before[0, 2]).abs().max() > 1e-3
    assert torch.equal(network.project(network.hidden(source, torch.full((1, 7), 5))), before)


def test_its_encoder_has_the_names_and_sizes_of_a_classifier_and_of_a_translator() -> None:
    own = {name: tensor.shape for name, tensor in network_of(positions="relative").state_dict().items()}
    options = {**SIZE, "positions": "relative"}
    translator = build_translator(TransformerConfig(**options), VOCABULARY, VOCABULARY, joint=True)
    classifier = build_classifier(ClassifierTransformerConfig(**options), VOCABULARY, 3)
    assert len(own) > 20
    for other in (translator, classifier):
        theirs = {name: tensor.shape for name, tensor in other.state_dict().items()}
        assert own.items() <= theirs.items()
