"""The annotations of shapes are checked: in each room of tensors a wrong shape raises."""

import pytest
import torch
from jaxtyping import TypeCheckError

from regard.layers.pooling import mean_pooling
from regard.models.build import build_translator
from regard.models.config import TransformerConfig
from regard.models.network import EncoderDecoder
from regard.ops.attention import attend


def test_ops() -> None:
    query, keys, values = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 6, 4)
    with pytest.raises(TypeCheckError):
        attend(query, keys, values)  # five keys, six values


def test_layers() -> None:
    with pytest.raises(TypeCheckError):
        mean_pooling(torch.randn(2, 3, 4), torch.ones(3, 2, dtype=torch.bool))


@pytest.fixture(scope="module")
def network() -> EncoderDecoder:
    """Built before the test, because building takes calls, and only the first ones of a test are checked."""
    return build_translator(TransformerConfig(width=16, heads=2, feed_forward=16, layers=1), 9, 9, joint=True)


def test_models(network: EncoderDecoder) -> None:
    with pytest.raises(TypeCheckError):
        network.hidden(torch.tensor([[1, 0], [2, 0]]), torch.tensor([[8, 1]]))  # two sources, one target
    with pytest.raises(TypeCheckError):
        network.hidden(torch.tensor([[1.0, 0.0]]), torch.tensor([[8, 1]]))  # ids are integers
