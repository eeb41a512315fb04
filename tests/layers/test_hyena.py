"""Hyena is its formula, and the windows of its filters fall as the settings say."""

import math

import pytest
import torch

from regard.layers.hyena import Hyena

WIDTH, LENGTH = 4, 9


def fresh(order: int, shortest: int = 16) -> Hyena:
    torch.manual_seed(1)
    return Hyena(width=WIDTH, order=order, causal=True, positions=60, filter_width=5, filter_shortest=shortest).double()


@torch.no_grad()
def test_the_operator_is_its_formula_summed_position_by_position() -> None:
    """z_1 = v; z_(n+1) at t = x_n at t times the sum over s <= t of (h_n at lag t - s, and skip at lag 0) z_n at s."""
    hyena, x = fresh(2), torch.randn(1, LENGTH, WIDTH).double()
    hyena.skip += torch.randn_like(hyena.skip)
    hyena.filters.output += torch.randn_like(hyena.filters.output)  # the first filter begins at zero
    z, *gates = hyena.short(hyena.input(x).transpose(1, 2))[0].chunk(3)
    for gate, lags, skip in zip(gates, hyena.filters(LENGTH)[:, 0], hyena.skip, strict=True):
        sums = [sum(lags[:, t - s] * z[:, s] for s in range(t + 1)) + skip * z[:, t] for t in range(LENGTH)]
        z = gate * torch.stack([torch.as_tensor(total) for total in sums], dim=1)
    torch.testing.assert_close(hyena(x)[0], hyena.output(z.T))


@pytest.mark.parametrize(("order", "zero"), [(1, 0), (2, 1), (3, 1)])
@torch.no_grad()
def test_only_the_first_of_several_filters_begins_at_zero(order: int, zero: int) -> None:
    filters = fresh(order).filters(LENGTH)
    assert not filters[:zero].any()
    assert (filters[zero:].abs().amax(dim=-1) > 0).all()


@pytest.mark.parametrize(("shortest", "first"), [(16, 16), (18, 18), (100, 60)])
def test_windows_fall_to_a_hundredth_between_the_shortest_and_longest(shortest: int, first: int) -> None:
    """The shortest is at most the positions; the longest is one and a half times as long as they are."""
    rates = fresh(2, shortest=shortest).filters.rates
    hundredths = torch.exp(-rates * torch.tensor([first, math.nan, math.nan, 90.0]))[[0, 3]]
    torch.testing.assert_close(hundredths.float(), torch.tensor([0.01, 0.01]))
    assert (rates[:-1] > rates[1:]).all()
