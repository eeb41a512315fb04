"""Muon against the singular value decomposition, who moves what, and state that can be taken away and given back."""

import pytest
import torch

from regard.models.build import build_translator
from regard.models.config import TransformerConfig
from regard.training.config import TrainConfig
from regard.training.muon import COEFFICIENTS, Muon, gram_iterations, iterations, orthogonalised
from regard.training.optimizer import Optimizer

SIZES = TransformerConfig(layers=1, width=16, heads=2, feed_forward=32, positions="learned", max_positions=16)


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 8, 12), (2, 8, 24), (2, 24, 8)])
@pytest.mark.parametrize("lowest", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_orthogonalised_is_the_polynomial_of_the_singular_values(
    shape: tuple[int, int, int], lowest: float, size: float
) -> None:
    """Against the singular value decomposition in float64: the vectors stay, and each value is iterated by itself."""
    torch.manual_seed(0)
    left, _, right = torch.linalg.svd(torch.randn(shape, dtype=torch.float64), full_matrices=False)
    values = torch.logspace(0, float(torch.tensor(lowest).log10()), min(shape[1:]), dtype=torch.float64)
    matrices = size * (left * values) @ right
    iterated = values / values.pow(8).sum() ** 0.125
    for a, b, c in COEFFICIENTS:
        iterated = a * iterated + b * iterated**3 + c * iterated**5
    expected = (left * iterated) @ right
    result = orthogonalised(matrices.float()).double()
    assert ((result - expected).norm() / expected.norm()).item() < 2e-4
    if lowest >= 0.1:
        assert iterated.min().item() > 0.9
        assert iterated.max().item() < 1.15


@pytest.mark.parametrize("shape", [(2, 12, 12), (3, 12, 60)])
def test_the_gram_matrix_gives_the_same_as_the_matrix(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    x = x / torch.linalg.matrix_norm(x, keepdim=True)
    torch.testing.assert_close(gram_iterations(x), iterations(x), rtol=1e-3, atol=1e-5)


def test_a_gradient_of_zeros_or_of_rank_one_gives_no_surprises() -> None:
    torch.manual_seed(0)
    for shape in ((2, 8, 8), (2, 8, 40)):
        assert torch.equal(orthogonalised(torch.zeros(shape)), torch.zeros(shape))
        single = torch.randn(2, shape[1], 1) @ torch.randn(2, 1, shape[2])
        values = torch.linalg.svdvals(orthogonalised(single))
        assert values[:, 0].min().item() > 0.9
        assert values[:, 0].max().item() < 1.15
        assert values[:, 1:].max().item() < 1e-2  # of rounding alone


def test_batched_equals_one_by_one() -> None:
    torch.manual_seed(0)
    matrices = torch.randn(5, 12, 20)
    alone = torch.cat([orthogonalised(matrix[None]) for matrix in matrices])
    torch.testing.assert_close(orthogonalised(matrices), alone, rtol=1e-4, atol=1e-5)


def test_matrices_are_the_same_in_whatever_group_to_the_last_bit() -> None:
    torch.manual_seed(0)
    matrices = torch.randn(9, 32, 64)
    assert torch.equal(orthogonalised(matrices), orthogonalised(matrices.flip(0)).flip(0))
    x = matrices[:4] / (torch.linalg.matrix_norm(matrices[:4], keepdim=True) + 1e-7)
    assert torch.equal(orthogonalised(matrices)[:4], gram_iterations(x))


def test_muon_step_by_hand() -> None:
    """One step from zero momentum: the Nesterov update is (1 + m) g, whose direction is that of g; its size 0.2 sqrt(longer side)."""
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.zeros(4, 9))
    weight.grad = torch.randn(4, 9)
    Muon([weight], lr=0.1, momentum=0.9, weight_decay=0.0).step()
    expected = -0.1 * 0.2 * 9**0.5 * orthogonalised(weight.grad[None])[0]
    torch.testing.assert_close(weight.detach(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 8, 24), (5, 24, 8)])
def test_products_in_bfloat16_have_the_direction_of_float32(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    matrices = torch.randn(shape)
    expected, result = orthogonalised(matrices), orthogonalised(matrices, torch.bfloat16)
    assert result.dtype == torch.bfloat16
    values = torch.linalg.svdvals(result.float())
    assert values.min().item() > 0.6
    assert values.max().item() < 1.3
    assert torch.cosine_similarity(result.float().flatten(1), expected.flatten(1)).min().item() > 0.995


def test_weights_and_momentum_stay_in_float32_when_the_products_are_in_bfloat16() -> None:
    torch.manual_seed(0)
    network = build_translator(SIZES, 20, 20, True)
    optimizer = Optimizer(network, TrainConfig(optimizer="muon"))
    optimizer.multiply_in(torch.bfloat16)
    before = network.encoder[0].feed_forward.up.weight.detach().clone()
    _step(network, optimizer)
    change = network.encoder[0].feed_forward.up.weight.detach() - before
    assert change.dtype == torch.float32
    assert change.norm().item() > 0
    assert not torch.equal(change.to(torch.bfloat16).float(), change)  # the sum is not rounded
    assert {value.dtype for value in optimizer.tensors().values()} == {torch.float32}


def test_weight_decay_is_decoupled() -> None:
    weight = torch.nn.Parameter(torch.full((2, 2), 3.0))
    weight.grad = torch.zeros(2, 2)
    Muon([weight], lr=0.1, momentum=0.9, weight_decay=0.5).step()
    torch.testing.assert_close(weight.detach(), torch.full((2, 2), 3.0 * (1 - 0.05)))


def test_adamw_beside_muon_has_a_rate_of_its_own() -> None:
    moved = {}
    for factor in (1.0, 0.25):
        torch.manual_seed(0)
        network = build_translator(SIZES, 20, 20, joint=True)
        before = {name: value.detach().clone() for name, value in network.named_parameters()}
        _step(network, Optimizer(network, TrainConfig(optimizer="muon", adamw_factor=factor)))
        moved[factor] = {name: value.detach() - before[name] for name, value in network.named_parameters()}
    matrix, vector = "encoder.0.mixer.query.weight", "encoder.0.mixer.query.bias"
    torch.testing.assert_close(moved[0.25][matrix], moved[1.0][matrix])
    torch.testing.assert_close(moved[0.25][vector], 0.25 * moved[1.0][vector], rtol=1e-4, atol=1e-7)
    assert moved[1.0][vector].abs().max() > 0


def test_muon_moves_matrices_and_adamw_the_rest() -> None:
    network = build_translator(SIZES, 20, 20, joint=True)
    optimizer = Optimizer(network, TrainConfig(optimizer="muon"))
    _step(network, optimizer)
    kinds: dict[str, set[str]] = {}
    for key in optimizer.tensors():
        name, _, what = key.rpartition("/")
        kinds.setdefault(name, set()).add(what)
    assert kinds["encoder.0.mixer.query.weight"] == {"momentum"}
    for name in (
        "target.embedding.weight",
        "source.positions.table",
        "decoder_norm.weight",
        "encoder.0.mixer.query.bias",
    ):
        assert "exp_avg_sq" in kinds[name]


@pytest.mark.parametrize("kind", ["muon", "adamw", "adam", "sgd"])
def test_state_survives_being_saved(kind: str) -> None:
    """Two steps in a row equal one step, tensors taken out and put into a new optimiser, and the other step: bit for bit."""
    config = TrainConfig(optimizer=kind)
    torch.manual_seed(0)
    network = build_translator(SIZES, 20, 20, joint=True)
    optimizer = Optimizer(network, config)
    _step(network, optimizer)
    twin = build_translator(SIZES, 20, 20, joint=True)
    twin.load_state_dict(network.state_dict())
    restored = Optimizer(twin, config)
    restored.restore({key: value.clone() for key, value in optimizer.tensors().items()})
    _step(network, optimizer)
    _step(twin, restored)
    for mine, other in zip(network.parameters(), twin.parameters(), strict=True):
        assert torch.equal(mine, other)


def _step(network: torch.nn.Module, optimizer: Optimizer) -> None:
    network.eval()
    network.zero_grad()
    network(torch.tensor([[3, 4, 0]]), torch.tensor([[19, 5, 6]])).square().mean().backward()
    optimizer.step(1e-2)
