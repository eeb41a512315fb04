"""Positions of tokens: sinusoids, rotations and buckets of distance, each as its paper's equation.

Shapes: T positions, S positions of keys, D width, d head width, h = d / 2.
"""

import math

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor


def sinusoidal(positions: Shaped[Tensor, " T"], width: int) -> Float[Tensor, "T D"]:
    """[sin(p w_k) | cos(p w_k)] with w_k = 10000^(-2k/D) (Vaswani et al. 2017, section 3.5).

    The paper and the lectures interleave sine and cosine; we store the halves one after the other, as Marian does, which is a
    permutation of the columns. Every row has squared norm D/2.
    """
    angles = _angles(positions, width)
    return torch.cat([angles.sin(), angles.cos()], dim=-1).to(positions.device, torch.float32)


def sinusoidal_interleaved(positions: Shaped[Tensor, " T"], width: int) -> Float[Tensor, "T D"]:
    """The same in the lectures' own order: sine in column 2k, cosine in column 2k + 1."""
    halves = sinusoidal(positions, width)
    return torch.stack(halves.chunk(2, dim=-1), dim=-1).flatten(-2)


def sinusoidal_2d(rows: int, columns: int, width: int) -> Float[Tensor, "T D"]:
    """Sinusoids of the places of a grid, row by row: the first half of the columns tells the row, the second the column.

    [sinusoidal(row, D/2) | sinusoidal(column, D/2)]; the width must be a multiple of four.
    """
    assert width % 4 == 0, f"a width of {width} has no four equal parts"
    down, across = (sinusoidal(torch.arange(count, device="cpu"), width // 2) for count in (rows, columns))
    return torch.cat([down.repeat_interleave(columns, dim=0), across.repeat(rows, 1)], dim=1)


def rotary_angles(positions: Shaped[Tensor, " T"], width: int) -> tuple[Float[Tensor, "T h"], Float[Tensor, "T h"]]:
    """Cosines and sines of p w_k, for `rotate`."""
    angles = _angles(positions, width)
    return angles.cos().to(positions.device, torch.float32), angles.sin().to(positions.device, torch.float32)


def rotate(
    x: Float[Tensor, "... T d"], cosines: Float[Tensor, "T h"], sines: Float[Tensor, "T h"]
) -> Float[Tensor, "... T d"]:
    """x with each pair (x_k, x_{k + d/2}) turned by the angle of its position, so that q . k depends on their distance
    alone (Su et al. 2021, eq. 34).
    """
    across = x.roll(x.shape[-1] // 2, dims=-1)  # each element's partner, in its place
    return torch.addcmul(x * torch.cat([cosines, cosines], dim=-1), across, torch.cat([-sines, sines], dim=-1))


def relative_buckets(
    queries: Int[Tensor, " T"],  # positions
    keys: Int[Tensor, " S"],  # positions
    *,
    buckets: int,
    longest: int,
    bidirectional: bool,
) -> Int[Tensor, "T S"]:
    """Bucket numbers: near distances one by one, far ones in logarithmic steps (Raffel et al. 2020, section 2.1)."""
    distance = keys[None, :] - queries[:, None]
    offset = torch.zeros_like(distance)
    if bidirectional:
        buckets //= 2
        offset = (distance > 0).long() * buckets
        distance = distance.abs()
    else:
        distance = (-distance).clamp(min=0)
    exact = buckets // 2
    growth = torch.log(distance.clamp(min=1).double() / exact) / math.log(longest / exact)
    far = (exact + (growth * (buckets - exact)).long()).clamp(max=buckets - 1)
    return offset + torch.where(distance < exact, distance, far)


def _angles(positions: Shaped[Tensor, " T"], width: int) -> Float[Tensor, "T h"]:
    """p w_k with w_k = 10000^(-2k/D), k = 0 .. D/2 - 1; in double precision, which not every device has, so on the CPU."""
    frequencies = 10000.0 ** (-2.0 * torch.arange(width // 2, dtype=torch.float64, device="cpu") / width)
    return positions.cpu().to(torch.float64)[:, None] * frequencies
