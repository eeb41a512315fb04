"""Kernel attention in chunks against the sum over all pairs, and random features against the softmax kernel."""

import pytest
import torch
from torch import Tensor

from regard.ops.linear_attention import (
    causal_kernel_attention,
    elu_features,
    kernel_attention,
    log_positive_features,
    orthogonal_directions,
)


def inputs(length: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(2, 3, length, 4, generator=generator, dtype=torch.float64) for _ in range(3))
    return elu_features(q), elu_features(k), v


def by_pairs(query: Tensor, keys: Tensor, values: Tensor, causal: bool) -> Tensor:
    products = query @ keys.transpose(2, 3)
    products = products.tril() if causal else products
    return products / products.sum(dim=-1, keepdim=True) @ values


@pytest.mark.parametrize("length", [1, 4, 9, 16])
def test_chunks_equal_the_sum_over_all_pairs(length: int) -> None:
    q, k, v = inputs(length)
    nothing = torch.zeros(2, 3, 4, 5, dtype=torch.float64)
    found, _ = causal_kernel_attention(q, k, v, nothing, chunk=4)
    torch.testing.assert_close(found, by_pairs(q, k, v, causal=True))
    torch.testing.assert_close(kernel_attention(q, k, v), by_pairs(q, k, v, causal=False))


def test_the_recurrent_form_is_the_parallel_one() -> None:
    q, k, v = inputs(9)
    state = torch.zeros(2, 3, 4, 5, dtype=torch.float64)
    outputs = []
    for t in range(9):
        found, state = causal_kernel_attention(q[:, :, t : t + 1], k[:, :, t : t + 1], v[:, :, t : t + 1], state)
        outputs.append(found)
    torch.testing.assert_close(torch.cat(outputs, dim=2), by_pairs(q, k, v, causal=True))
    numerator = torch.einsum("bhtf,bhtd->bhfd", k, v)
    torch.testing.assert_close(state, torch.cat([numerator, k.sum(dim=2)[..., None]], dim=-1))


def test_gradients_are_those_of_finite_differences() -> None:
    q, k, v = (x[:1, :1].clone().requires_grad_() for x in inputs(5))
    sums = torch.rand(1, 1, 4, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *args: causal_kernel_attention(*args, chunk=2), (q, k, v, sums))


def test_random_features_estimate_the_softmax_kernel_without_bias() -> None:
    """The mean over many draws is exp(x . y), within four standard errors; orthogonal directions estimate it better than free ones."""
    torch.manual_seed(0)
    x, y = 0.5 * torch.randn(2, 6, dtype=torch.float64)
    expected = torch.exp(x @ y)

    def estimates(directions: list[Tensor]) -> Tensor:
        return torch.stack(
            [(log_positive_features(x, w).exp() @ log_positive_features(y, w).exp()) for w in directions]
        )

    orthogonal = estimates([orthogonal_directions(12, 6).double() for _ in range(3000)])
    free = estimates([torch.randn(12, 6, dtype=torch.float64) for _ in range(3000)])
    for found in (orthogonal, free):
        assert (found.mean() - expected).abs() < 4 * found.std() / len(found) ** 0.5
    assert orthogonal.var() < free.var()


def test_directions_of_a_group_are_orthogonal() -> None:
    torch.manual_seed(0)
    directions = orthogonal_directions(10, 4)
    assert directions.shape == (10, 4)
    for group in directions.split(4):
        products = group @ group.T
        torch.testing.assert_close(products, products.diag().diag(), rtol=0.0, atol=1e-5)
