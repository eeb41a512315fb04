"""The FFT convolution against the sum that it stands for, the Toeplitz matrix and torch's convolution, with gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.ops.convolution import causal_convolution, fast_size, short_convolution, two_sided_convolution

LENGTHS = [1, 2, 7, 33, 100]


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def toeplitz(before: Tensor, after: Tensor, length: int) -> Tensor:
    """[D, T, T]: the matrix whose entry (t, s) is the filter at lag t - s."""
    lag = torch.arange(length)[:, None] - torch.arange(length)
    return torch.where(lag >= 0, before[:, lag.clamp_min(0)], after[:, (-lag).clamp_min(0)])


@pytest.mark.parametrize("length", LENGTHS)
def test_it_is_the_direct_sum_and_the_toeplitz_product(length: int) -> None:
    u, h = random(2, 5, length), random(5, length + 3, seed=1)
    found = causal_convolution(u, h)
    padded = F.pad(u, (length - 1, 0))
    direct = F.conv1d(padded, h[:, :length].flip(1)[:, None], groups=5)
    torch.testing.assert_close(found, direct, rtol=1e-5, atol=1e-5)
    matrix = toeplitz(h, torch.zeros_like(h), length)
    torch.testing.assert_close(found, torch.einsum("dts,bds->bdt", matrix, u), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", LENGTHS)
def test_two_sides_are_a_full_toeplitz_matrix(length: int) -> None:
    u, before, after = random(2, 5, length), random(5, length, seed=1), random(5, length, seed=2)
    expected = torch.einsum("dts,bds->bdt", toeplitz(before, after, length), u)
    torch.testing.assert_close(two_sided_convolution(u, before, after), expected, rtol=1e-5, atol=1e-5)


def test_gradients_are_those_of_finite_differences() -> None:
    u, h, other = (
        random(2, 3, 6, seed=0, dtype=torch.float64),
        random(3, 6, seed=1, dtype=torch.float64),
        random(3, 6),
    )
    inputs = [x.double().requires_grad_() for x in (u, h, other)]
    assert torch.autograd.gradcheck(causal_convolution, inputs[:2])
    assert torch.autograd.gradcheck(two_sided_convolution, inputs)


def test_single_precision_gradients_are_near_those_of_double() -> None:
    u, h = random(2, 600, 200), random(600, 200, seed=1)  # more channels than one group
    gradients = []
    for dtype in (torch.float32, torch.float64):
        inputs = [x.detach().to(dtype, copy=True).requires_grad_() for x in (u, h)]
        causal_convolution(inputs[0], inputs[1]).square().sum().backward()
        gradients.append([x.grad for x in inputs])
    for single, double in zip(*gradients, strict=True):
        assert single is not None
        assert double is not None
        assert (single - double).norm() <= 1e-5 * double.norm()


def test_sizes_have_small_factors() -> None:
    assert [fast_size(n) for n in (1, 2, 3, 5, 7, 9, 11, 17, 65535)] == [2, 2, 4, 6, 8, 10, 12, 18, 65536]
    for least in range(1, 300):
        assert least <= fast_size(least) <= max(2, 1.34 * least)


def test_short_convolution_is_a_depthwise_one() -> None:
    x, weight, bias = random(2, 4, 9), random(4, 3, seed=1), random(4, seed=2)
    expected = F.conv1d(x, weight[:, None], bias, groups=4)
    torch.testing.assert_close(short_convolution(x, weight, bias), expected)
    inputs = [value.double().requires_grad_() for value in (x, weight, bias)]
    assert torch.autograd.gradcheck(short_convolution, inputs)
