"""Rank correlations on rows short enough to count by hand."""

import pytest

from regard.metrics.correlation import kendall, spearman


def test_the_same_order_and_the_opposite() -> None:
    for correlation in (kendall, spearman):
        assert correlation([1.0, 2.0, 9.0], [0.1, 0.2, 0.3]) == pytest.approx(1.0)
        assert correlation([1.0, 2.0, 9.0], [0.3, 0.2, 0.1]) == pytest.approx(-1.0)


def test_by_hand() -> None:
    one, other = [1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]  # one of six pairs is turned round
    assert kendall(one, other) == pytest.approx((5 - 1) / 6)
    assert spearman(one, other) == pytest.approx(1 - 6 * 2 / (4 * 15))  # 1 - 6 sum d^2 / n (n^2 - 1)


def test_ties() -> None:
    # of three pairs one is tied on the left, the others agree: 2 / sqrt((3 - 1) (3 - 0))
    assert kendall([1.0, 1.0, 2.0], [1.0, 2.0, 3.0]) == pytest.approx(2 / 6**0.5)
    # ranks 0.5 0.5 2 and 0 1 2
    assert spearman([1.0, 1.0, 2.0], [1.0, 2.0, 3.0]) == pytest.approx(1.5 / (1.5 * 2.0) ** 0.5)


def test_without_an_order_there_is_none() -> None:
    for correlation in (kendall, spearman):
        assert correlation([1.0, 1.0], [1.0, 2.0]) is None
        assert correlation([3.0], [4.0]) is None
