"""What is particular to a Transformer without an encoder; the contract suites test the rest."""

import pytest
import torch

from regard.models.config import LanguageTransformerConfig
from regard.models.decoder_only import DecoderOnly


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
@pytest.mark.parametrize("positions", ["rotary", "sinusoidal"])
def test_the_gradient_of_a_beginning_does_not_grow_with_the_depth(activation: str, positions: str) -> None:
    """A first vector of zero, with nothing added, made it 1e20 after four blocks."""
    norms = []
    for layers in (1, 6):
        torch.manual_seed(1)
        config = LanguageTransformerConfig(
            layers=layers, width=16, heads=2, feed_forward=32, activation=activation, positions=positions, dropout=0.0
        )
        network = DecoderOnly(config, 20, context=8)
        said = torch.full((2, 5), network.start_token)
        said[:, 1:] = torch.randint(1, 19, (2, 4))
        network.project(network.hidden(said[:, :0], said)).log_softmax(dim=-1)[..., 3].sum().backward()
        gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
        norms.append(torch.cat([gradient.flatten() for gradient in gradients]).norm().item())
    assert norms[1] < 10 * norms[0]
