"""Byte dropout: the right share, an exact expectation, the same units forward and backward, and a seed that decides them."""

import pytest
import torch

from regard.ops.dropout import dropout


def test_share_scale_and_gradient() -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, 333, requires_grad=True)
    y = dropout(x, 0.15)
    y.sum().backward()
    kept = y > 0
    probability = round(0.15 * 256) / 256
    assert kept.float().mean().item() == pytest.approx(1 - probability, abs=0.003)
    assert y[kept].unique().tolist() == pytest.approx([1 / (1 - probability)])
    assert torch.equal(x.grad, y.detach())


def test_units_are_independent() -> None:
    """Neighbours share 64 random bits, yet each pair of byte positions agrees as often as chance says."""
    torch.manual_seed(0)
    kept = (dropout(torch.ones(200_000, 8), 0.5) > 0).float()
    together = kept.T @ kept / len(kept)
    off_diagonal = together[~torch.eye(8, dtype=torch.bool)]
    assert off_diagonal.min().item() == pytest.approx(0.25, abs=0.005)
    assert off_diagonal.max().item() == pytest.approx(0.25, abs=0.005)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_kept_units_are_scaled_with_one_rounding(dtype: torch.dtype) -> None:
    """Against the definition in float64: forward and backward, x / (1 - p) rounded to the type of x."""
    torch.manual_seed(0)
    x, gradient = (torch.randn(50, 37, dtype=dtype) for _ in range(2))
    x.requires_grad_()
    y = dropout(x, 0.3)
    y.backward(gradient)
    kept, scale = (y != 0).double(), 256 / (256 - round(0.3 * 256))
    if dtype == torch.float32:
        scale = float(torch.tensor(scale))  # as torch multiplies
    assert torch.equal(y.detach(), (x.detach().double() * kept * scale).to(dtype))
    assert torch.equal(x.grad, (gradient.double() * kept * scale).to(dtype))


def test_seed_decides() -> None:
    x = torch.ones(100)
    torch.manual_seed(3)
    first = dropout(x, 0.3)
    torch.manual_seed(3)
    assert torch.equal(first, dropout(x, 0.3))
    assert not torch.equal(first, dropout(x, 0.3))


def test_zero_probability_is_the_identity() -> None:
    x = torch.randn(10)
    assert dropout(x, 0.0) is x
