"""Paints shapes with numpy: how much of each pixel a shape covers, and the picture of a list of shapes.

A shape is a test of points: inside or outside. Each pixel is tested at nine points, so that edges are smooth.

Shapes: U points, N pixels of a side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.pictures import Box

SIZE = 64
"""Pixels of a side."""
_POINTS = 3  # tested in a pixel, a side

Picture = NDArray[np.uint8]  # [N, N, 3]
Coverage = NDArray[np.float64]  # [N, N], 0 to 1
Coordinates = NDArray[np.float64]  # [U, U], in units of the shape's radius, from its centre
Inside = Callable[[Coordinates, Coordinates], NDArray[np.bool_]]

_SQUARE, _ARM, _INNER = 0.84, 0.34, 0.42  # half a side, half the width of an arm, radius between a star's tips


def _triangle(down: Coordinates, right: Coordinates) -> NDArray[np.bool_]:
    """Equilateral, with a tip above: below the tip by |x| sqrt(3) at least, and above the base."""
    return (down <= 0.62) & (down + 1.0 >= sqrt(3.0) * np.abs(right))


def _star(down: Coordinates, right: Coordinates) -> NDArray[np.bool_]:
    """Five tips, the first above. A tenth of the turn is a triangle of the centre, a tip and the corner beside it."""
    turn = np.abs((np.arctan2(right, -down) + pi / 5) % (2 * pi / 5) - pi / 5)  # from the nearest tip, 0 to pi / 5
    radius = np.hypot(down, right)
    along, across = radius * np.cos(turn), radius * np.sin(turn)
    corner_along, corner_across = _INNER * cos(pi / 5), _INNER * sin(pi / 5)
    inside: NDArray[np.bool_] = (1.0 - along) * corner_across >= across * (1.0 - corner_along)
    return inside


def _cross(down: Coordinates, right: Coordinates) -> NDArray[np.bool_]:
    across, along = np.abs(down), np.abs(right)
    return (np.minimum(across, along) <= _ARM) & (np.maximum(across, along) <= 1.0)


INSIDE: dict[str, Inside] = {
    "circle": lambda down, right: np.hypot(down, right) <= 1.0,
    "square": lambda down, right: np.maximum(np.abs(down), np.abs(right)) <= _SQUARE,
    "triangle": _triangle,
    "diamond": lambda down, right: np.abs(down) + np.abs(right) <= 1.0,
    "star": _star,
    "cross": _cross,
}
"""Name of a shape -> whether points lie inside a shape of radius 1."""


@dataclass(frozen=True, slots=True)
class Item:
    """A shape in the picture; `group`: the number of its group."""

    shape: str
    paint: tuple[float, float, float]
    top: float  # of its centre, in pixels
    left: float
    radius: float
    group: int


def coverage(item: Item) -> Coverage:
    """The share of each pixel that a shape covers."""
    rows, columns, share = _covered(item)
    whole = np.zeros((SIZE, SIZE))
    whole[rows, columns] = share
    return whole


def box(item: Item) -> Box:
    """The smallest box around the pixels of which a shape covers half or more."""
    covered = coverage(item) >= 0.5
    rows, columns = np.flatnonzero(covered.any(axis=1)), np.flatnonzero(covered.any(axis=0))
    return int(rows[0]), int(columns[0]), int(rows[-1]) + 1, int(columns[-1]) + 1


def painted(items: Sequence[Item], ground: float, noise: NDArray[np.floating[Any]]) -> Picture:
    """The picture of shapes on a ground of one shade of grey. noise [N, N, 3] is added everywhere."""
    picture = np.full((SIZE, SIZE, 3), ground)
    for item in items:
        rows, columns, share = _covered(item)
        window = picture[rows, columns]
        window += (np.array(item.paint) - window) * share[..., None]
    whole: Picture = np.clip(np.rint(picture + noise), 0, 255).astype(np.uint8)
    return whole


def _covered(item: Item) -> tuple[slice, slice, Coverage]:
    """The rows and columns that a shape may touch, and the share of their pixels that it covers."""
    rows, columns = _span(item.top, item.radius), _span(item.left, item.radius)
    down, right = (
        (np.arange(span.start * _POINTS, span.stop * _POINTS) + 0.5) / _POINTS - centre
        for span, centre in ((rows, item.top), (columns, item.left))
    )
    points = INSIDE[item.shape](*np.broadcast_arrays(down[:, None] / item.radius, right[None] / item.radius))
    sides = (rows.stop - rows.start, _POINTS, columns.stop - columns.start, _POINTS)
    return rows, columns, points.reshape(sides).mean(axis=(1, 3))


def _span(centre: float, radius: float) -> slice:
    """The rows or columns that a shape may touch."""
    return slice(max(0, int(np.floor(centre - radius))), min(SIZE, int(np.ceil(centre + radius)) + 1))
