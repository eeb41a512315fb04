"""Augmentation of pictures: another version of each training picture in every epoch.

All random numbers of a picture come from (seed, epoch, its number), so that a batch is the same whoever makes it and resuming is exact.

| setting | change |
| --- | --- |
| `shift`, `flip`, `crop` | moved by some pixels; mirrored; a part of it enlarged |
| `operations`, `magnitude` | so many random changes of shape or light, as in RandAugment (Cubuk et al. 2020) |
| `cutout` | a square set to the mean colour (DeVries and Taylor 2017) |
| `mixup` | the weighted mean of two pictures and of their labels (Zhang et al. 2018) |

It knows no labels and no network. Shapes: B pictures, H height, W width, C channels.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from regard.data.augment_config import EACH, FIXED, AugmentConfig
from regard.text.streams import ExampleStreams

Uniform = NDArray[np.float64]
"""[B] numbers from 0 to 1, one for each picture."""

_SHAPES = ("rotate", "shear_x", "shear_y", "move_x", "move_y")
_LIGHTS = ("brightness", "contrast", "solarize", "posterize", "autocontrast", "invert_half", "none")
OPERATIONS = (*_SHAPES, *_LIGHTS)
"""The operations that `operations` draws from."""


@dataclass(frozen=True)
class Draws:
    """The random numbers of a batch."""

    own: NDArray[np.float64]  # [B, draws]
    others: NDArray[np.float64]  # [B, draws] of the pictures that are mixed in
    partner: Uniform  # [B] which picture is mixed in
    share: Uniform  # [B] the share of the first picture, at least one half


def draw(config: AugmentConfig, seed: int, epoch: int, numbers: NDArray[np.int64]) -> Draws:
    """The random numbers of these pictures in this epoch, by counter."""
    streams, count = ExampleStreams(seed, epoch), config.draws
    table = np.empty((len(numbers), 2 * count + 2))
    for row, number in enumerate(numbers.tolist()):
        generator = streams.of(number)
        table[row, :-1] = generator.random(2 * count + 1)
        table[row, -1] = generator.beta(config.mixup, config.mixup) if config.mixup else 1.0
    share = np.maximum(table[:, -1], 1.0 - table[:, -1])  # a mixture of two has no order
    return Draws(table[:, :count], table[:, count : 2 * count], table[:, -2], share)


def augmented(config: AugmentConfig, pictures: NDArray[np.uint8], draws: NDArray[np.float64]) -> NDArray[np.uint8]:
    """[B, H, W, C] the pictures, changed. Cutout comes after: `blanked`."""
    across, down, mirror, area, left, top = (draws[:, place] for place in range(6))
    if config.operations:
        pictures = _lights(config, pictures, draws)
    if config.operations or config.crop:
        return _warped(config, pictures, draws, (across, down), mirror, (area, left, top))
    return _moved(pictures, _whole(across, config.shift), _whole(down, config.shift), (mirror < 0.5) & config.flip)


def blanked(config: AugmentConfig, pixels: Tensor, draws: NDArray[np.float64]) -> Tensor:
    """[B, C, H, W] normalised pixels with a square of each set to 0, the mean. The square may reach beyond the border."""
    if not config.cutout:
        return pixels
    height, width = pixels.shape[2:]
    before, covered = config.cutout // 2, []
    for size, place in ((height, 6), (width, 7)):
        offset = np.arange(size) - np.floor(draws[:, place] * size)[:, None]  # from the centre
        covered.append((offset >= -before) & (offset < config.cutout - before))
    square = torch.from_numpy(covered[0][:, :, None] & covered[1][:, None, :])
    return pixels.masked_fill(square[:, None], 0.0)


def _whole(uniform: Uniform, limit: int) -> NDArray[np.int64]:
    """Whole numbers from -limit to limit."""
    return np.minimum(np.floor(uniform * (2 * limit + 1)), 2 * limit).astype(np.int64) - limit


def _moved(
    pictures: NDArray[np.uint8], across: NDArray[np.int64], down: NDArray[np.int64], mirrored: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """Moved by whole pixels and mirrored, without any interpolation."""
    if not across.any() and not down.any() and not mirrored.any():
        return pictures
    _, height, width, _ = pictures.shape
    margin = int(max(np.abs(across).max(), np.abs(down).max()))
    wide = np.pad(pictures, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
    columns = np.arange(width)
    columns = np.where(mirrored[:, None], columns[::-1], columns) + (margin - across)[:, None]  # [B, W]
    rows = np.arange(height) + (margin - down)[:, None]  # [B, H]
    every = np.arange(len(pictures))[:, None, None]
    moved: NDArray[np.uint8] = wide[every, rows[:, :, None], columns[:, None, :]]
    return moved


def _warped(
    config: AugmentConfig,
    pictures: NDArray[np.uint8],
    draws: NDArray[np.float64],
    moves: tuple[Uniform, Uniform],
    mirror: Uniform,
    cropping: tuple[Uniform, Uniform, Uniform],
) -> NDArray[np.uint8]:
    """All changes of shape at once, by one bilinear interpolation. What comes in from outside is black."""
    count, height, width, _ = pictures.shape
    matrix = np.tile(np.eye(3), (count, 1, 1))  # from places in the result to places in the picture, both from -1 to 1
    area, left, top = cropping
    side = np.sqrt(1.0 - config.crop * area)
    matrix[:, 0, 0] = side * np.where((mirror < 0.5) & config.flip, -1.0, 1.0)
    matrix[:, 1, 1] = side
    matrix[:, 0, 2] = (2 * left - 1) * (1 - side) - 2 * _whole(moves[0], config.shift) / width
    matrix[:, 1, 2] = (2 * top - 1) * (1 - side) - 2 * _whole(moves[1], config.shift) / height
    for which, amount in _operations(config, draws):
        for number, name in enumerate(_SHAPES):
            chosen = which == number
            if chosen.any():
                matrix[chosen] = matrix[chosen] @ _shape(name, amount[chosen], height / width)
    grid = F.affine_grid(torch.from_numpy(matrix[:, :2]).float(), [count, 1, height, width], align_corners=False)
    pixels = torch.from_numpy(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))).float()
    warped = F.grid_sample(pixels, grid, align_corners=False).round_().to(torch.uint8)
    return np.ascontiguousarray(warped.numpy().transpose(0, 2, 3, 1))


def _operations(config: AugmentConfig, draws: NDArray[np.float64]) -> list[tuple[NDArray[np.int64], Uniform]]:
    """For each round of operations: [B] which one, and [B] how much, from -magnitude to magnitude."""
    rounds = []
    for place in range(FIXED, FIXED + EACH * config.operations, EACH):
        which = np.minimum((draws[:, place] * len(OPERATIONS)).astype(np.int64), len(OPERATIONS) - 1)
        rounds.append((which, (2 * draws[:, place + 1] - 1) * config.magnitude))
    return rounds


def _shape(name: str, amount: Uniform, aspect: float) -> NDArray[np.float64]:
    """[b, 3, 3] the matrix of a change of shape. aspect: height / width, since both sides go from -1 to 1."""
    matrix = np.tile(np.eye(3), (len(amount), 1, 1))
    if name == "rotate":
        angle = amount * math.radians(45)
        matrix[:, 0, 0] = matrix[:, 1, 1] = np.cos(angle)
        matrix[:, 0, 1], matrix[:, 1, 0] = -np.sin(angle) * aspect, np.sin(angle) / aspect
    else:
        place = {"shear_x": (0, 1), "shear_y": (1, 0), "move_x": (0, 2), "move_y": (1, 2)}[name]
        matrix[:, place[0], place[1]] = 0.6 * amount
    return matrix


def _lights(config: AugmentConfig, pictures: NDArray[np.uint8], draws: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The operations that change light and colour, in the order in which they were drawn."""
    changed = pictures.copy()
    for which, amount in _operations(config, draws):
        for number, name in enumerate(_LIGHTS, len(_SHAPES)):
            chosen = which == number
            if name != "none" and chosen.any():
                changed[chosen] = _light(name, changed[chosen].astype(np.float32), amount[chosen, None, None, None])
    return changed


def _light(name: str, values: NDArray[np.float32], amount: NDArray[Any]) -> NDArray[np.uint8]:
    """Values from 0 to 255 with one operation applied; `amount` from -1 to 1."""
    if name == "brightness":
        result = values * (1.0 + 0.9 * amount)
    elif name == "contrast":
        middle = values.mean(axis=(1, 2, 3), keepdims=True)
        result = middle + (values - middle) * (1.0 + 0.9 * amount)
    elif name == "solarize":
        result = np.where(values >= 256.0 * (1.0 - np.abs(amount)), 255.0 - values, values)
    elif name == "posterize":
        step = 2.0 ** np.floor(np.abs(amount) * 4.99)
        result = np.floor(values / step) * step
    elif name == "autocontrast":
        low, high = values.min(axis=(1, 2), keepdims=True), values.max(axis=(1, 2), keepdims=True)
        result = (values - low) * 255.0 / np.maximum(high - low, 1.0)
    else:  # half way to the negative at the most
        result = values + (255.0 - 2.0 * values) * 0.5 * np.abs(amount)
    return np.rint(np.clip(result, 0.0, 255.0)).astype(np.uint8)
