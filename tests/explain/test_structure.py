"""The structure that is shown is the network's own."""

import numpy as np
import pytest
import torch

from explain.models import KINDS, trained_model
from regard.explain.explanation import Structure
from regard.ops.positions import sinusoidal

TEXT, TARGET = "la pomme est rouge", "the apple is red"


def seen(kind: str) -> Structure:
    found = trained_model(kind).explain(TEXT, target=TARGET, parts=("structure",)).structure
    assert found is not None
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_structure(kind: str) -> None:
    found = seen(kind)
    layers = {"encoder": ["embedding", "layer 1", "layer 2"], "decoder": ["embedding", "layer 1", "layer 2", "output"]}
    if KINDS[kind].get("kind") == "recurrent":
        layers = {"encoder": ["embedding", "states"], "decoder": ["embedding", "output"]}
    assert list(found.encoder.layers) == layers["encoder"]
    assert list(found.decoder.layers) == layers["decoder"]
    used = found.encoder.gradients.values
    if kind == "prefix":  # a target looks at keys and values of the source, which the last block makes of its input
        assert not used[-1].any()
        used = used[:-1]
    assert (used > 0.0).all() or kind == "no attention"
    assert (found.positions is None) == (kind != "additive")


def test_positions_and_their_gram_matrix() -> None:
    found = seen("additive")  # which adds sinusoids
    assert found.positions is not None
    assert found.gram is not None
    table = sinusoidal(torch.arange(64), 16)
    np.testing.assert_allclose(found.positions.values, table, atol=1e-6)
    # sin a sin b + cos a cos b = cos(a - b): the same along every diagonal
    for distance in range(5):
        diagonal = np.diagonal(found.gram.values, offset=distance)
        np.testing.assert_allclose(diagonal, diagonal[0], atol=1e-4)


def test_neighbours_by_cosine() -> None:
    model = trained_model()
    found = seen("transformer").source
    assert found is not None
    table = model.network.source.embedding.weight.detach().numpy()  # type: ignore[attr-defined]
    vocabulary = model.tokenizers.source.vocabulary
    own = model.tokenizers.source.encode(TEXT)[0]
    for piece, cosine in zip(found.tokens[0], found.cosines.values[0], strict=True):
        other = vocabulary.id_of(piece)
        assert other != own
        expected = table[own] @ table[other] / np.linalg.norm(table[own]) / np.linalg.norm(table[other])
        assert cosine == pytest.approx(expected, abs=1e-5)


def test_gradients_against_a_small_step() -> None:
    """Moving an embedding by a little along its gradient changes log p by what the gradient's length says."""
    model = trained_model()
    found = seen("transformer")
    source, target = model.tokenizers.source.encode(TEXT), model.tokenizers.target.encode(TARGET)
    from regard.ops.probe import Probe

    probe = Probe("encoder.embedding", gradients=True)
    hidden = model.forced([source], [target], probe, gradients=True)
    wanted = torch.tensor([*target, 0])
    torch.nn.functional.cross_entropy(model.network.project(hidden[0]), wanted, reduction="sum").backward()
    gradient = probe["encoder.embedding"].grad
    assert gradient is not None
    np.testing.assert_allclose(found.encoder.gradients.values[0], gradient[0].norm(dim=-1), rtol=1e-5)
    for parameter in model.network.parameters():
        parameter.grad = None


def test_how_far_a_word_reaches() -> None:
    for kind in ("transformer", "recurrent"):
        found = seen(kind)
        assert (found.reach.values > 0.0).all()
        first, last = found.reach.values[0, -1], found.reach.values[-1, 0]
        assert found.reach_by_distance.values[-1] == pytest.approx((first + last) / 2)
        assert found.reach_by_distance.values[0] == pytest.approx(np.diagonal(found.reach.values).mean())


def test_no_gradient_is_left_on_a_weight() -> None:
    model = trained_model()
    for parameter in model.network.parameters():
        parameter.grad = None
    model.explain(TEXT, target=TARGET, parts=("structure",))
    assert all(parameter.grad is None for parameter in model.network.parameters())
