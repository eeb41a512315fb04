"""Positions against their formulas, written out independently, and against the lectures' table (which is wrong in one column)."""

import math

import pytest
import torch

from regard.ops.positions import relative_buckets, rotary_angles, rotate, sinusoidal, sinusoidal_interleaved


def test_interleaved_is_the_formula() -> None:
    table = sinusoidal_interleaved(torch.arange(20), 8)
    for position in range(20):
        for k in range(4):
            angle = position / 10000 ** (2 * k / 8)
            assert table[position, 2 * k].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * k + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_halves_are_a_permutation_of_the_lectures_order() -> None:
    halves, interleaved = sinusoidal(torch.arange(50), 16), sinusoidal_interleaved(torch.arange(50), 16)
    order = [column for k in range(8) for column in (k, k + 8)]
    assert torch.equal(halves[:, order], interleaved)


def test_the_slide_with_five_positions_and_four_columns() -> None:
    """Statement 14: column 3 is 0.0100, 0.0200, ..; the slide prints 0.0017, 0.0033. Every row has squared norm d/2."""
    table = sinusoidal_interleaved(torch.arange(5), 4)
    assert table[:, 2].tolist() == pytest.approx([0.0, 0.0100, 0.0200, 0.0300, 0.0400], abs=1e-4)
    gram = table @ table.T
    assert gram.diagonal().tolist() == pytest.approx([2.0] * 5, abs=1e-6)


def test_far_positions_keep_their_digits() -> None:
    far = sinusoidal(torch.tensor([100_000]), 4)[0]
    assert far[0].item() == pytest.approx(math.sin(100_000.0), abs=1e-6)


def test_rotation_depends_on_the_distance_alone() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(1, 8), torch.randn(1, 8)

    def product(at: int, other: int) -> float:
        turned = rotate(query, *rotary_angles(torch.tensor([at]), 8))
        other_turned = rotate(key, *rotary_angles(torch.tensor([other]), 8))
        return float((turned * other_turned).sum())

    assert product(3, 1) == pytest.approx(product(12, 10), abs=1e-5)
    assert product(3, 1) != pytest.approx(product(3, 2), abs=1e-3)
    assert float(rotate(query, *rotary_angles(torch.tensor([5]), 8)).norm()) == pytest.approx(float(query.norm()))


def test_buckets_by_hand() -> None:
    """8 buckets up to 16: 4 a direction, of which distances 0 and 1 have their own, then 2 .. by logarithm."""
    positions = torch.arange(20)
    table = relative_buckets(positions, positions, buckets=8, longest=16, bidirectional=True)
    assert table[10, 10].item() == 0
    assert table[10, 9].item() == 1
    assert table[10, 11].item() == 4 + 1
    assert table[10, 8].item() == 2  # 2 + floor(log(2/2)/log(16/2) * 2) = 2
    assert table[10, 3].item() == 3  # 2 + floor(log(7/2)/log(8) * 2) = 2 + floor(1.2) = 3
    assert table[0, 19].item() == 4 + 3  # clamped to the last
    forward = relative_buckets(positions, positions, buckets=8, longest=16, bidirectional=False)
    assert forward[5, 9].item() == 0  # the future is not told apart: the causal mask hides it
    assert forward[5, 2].item() == 3
