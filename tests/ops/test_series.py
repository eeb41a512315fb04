"""Equations of time series, against the published implementation of DLinear, pandas, utilsforecast, and numbers worked out by hand."""

import numpy as np
import pytest
import torch

from regard.ops.series import instance_statistics, moving_average, patch_count, patches, pinball


def test_patches_end_with_the_series_and_repeat_its_first_value() -> None:
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]])
    assert patches(x, 2, 2).tolist() == [[[1, 1], [2, 3], [4, 5]]]
    assert patches(x, 3, 1).tolist() == [[[1, 2, 3], [2, 3, 4], [3, 4, 5]]]
    assert patches(x, 5, 3).tolist() == [[[1, 2, 3, 4, 5]]]
    assert patches(x[:, :2], 4, 2).tolist() == [[[1, 1, 1, 2]]]


@pytest.mark.parametrize(("steps", "length", "stride"), [(336, 16, 8), (100, 16, 8), (7, 7, 7), (3, 8, 2), (9, 1, 1)])
def test_patch_count_is_the_number_of_patches(steps: int, length: int, stride: int) -> None:
    assert patches(torch.zeros(1, steps), length, stride).shape[1] == patch_count(steps, length, stride)


@pytest.mark.parametrize("kernel", [1, 5, 25])
def test_moving_average_is_that_of_dlinear(kernel: int) -> None:
    """`series_decomp` of Zeng et al. 2023: repeat the ends, then the mean of each window. pandas has the mean."""
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(1).normal(size=40)
    half = kernel // 2
    padded = np.concatenate([np.repeat(x[:1], half), x, np.repeat(x[-1:], half)])
    expected = pandas.Series(padded).rolling(kernel).mean().dropna().to_numpy()
    found = moving_average(torch.from_numpy(x)[None], kernel)[0].numpy()
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_statistics_of_a_window() -> None:
    x = torch.tensor([[1.0, 3.0, 5.0, 7.0], [2.0, 2.0, 2.0, 2.0]])
    centre, scale = instance_statistics(x, "standard")
    assert centre.tolist() == [[4.0], [2.0]]
    torch.testing.assert_close(scale, torch.tensor([[(5.0 + 1e-5) ** 0.5], [1e-5**0.5]]))
    assert [part.tolist() for part in instance_statistics(x, "last")] == [[[7.0], [2.0]], [[1.0], [1.0]]]
    assert [part.tolist() for part in instance_statistics(x, "none")] == [[[0.0], [0.0]], [[1.0], [1.0]]]


def test_pinball_is_least_at_the_quantile() -> None:
    truth = torch.arange(101.0)
    levels = torch.tensor([0.1, 0.5, 0.9])
    losses = torch.stack([pinball(value.expand(101, 3), truth, levels).mean(dim=0) for value in truth])  # [101, Q]
    assert losses.argmin(dim=0).tolist() == [10, 50, 90]


def test_pinball_by_hand() -> None:
    found = pinball(torch.tensor([[2.0, 2.0]]), torch.tensor([5.0]), torch.tensor([0.1, 0.9]))
    torch.testing.assert_close(found, torch.tensor([[0.3, 2.7]]))
    found = pinball(torch.tensor([[5.0, 5.0]]), torch.tensor([2.0]), torch.tensor([0.1, 0.9]))
    torch.testing.assert_close(found, torch.tensor([[2.7, 0.3]]))
