"""The scenes corpus: pictures of 64 x 64 pixels with gold captions in English and French, and a gold region for each word.

A scene is a pure function of (split, seed, index). It has one group of one to three shapes somewhere in the picture ("two red
circles at the top"), or two groups in a relation ("two red circles above a blue square"). The group of the larger shapes is named
first, so that a scene has one caption.

A combination is (colour, shape, relation or position) of the group that is named first. Each combination belongs to one split:
those of the validation and of the test are never seen in training, though their colours, shapes and places are, in others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from regard.data.pictures import Box
from regard.data.scenes.painting import SIZE, Item, Picture, box, painted
from regard.data.scenes.words import COLOURS, MOST, PLACES, SHAPES, Group, Language, Word, caption

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
VALID, TEST = 500, 1_000
"""Scenes that judge a captioner."""

Combination = tuple[int, int, int]
"""(colour, shape, place), by their numbers in the tables of `words`."""

_CLASSES = 14  # of combinations: one validates, one tests, the others are trained on
_LARGE, _SMALL = (7.6, 9.0), (4.8, 5.8)  # radii in pixels
_HALF = SIZE / 2


@dataclass(frozen=True)
class Scene:
    """The groups of a scene, and the shapes that are painted."""

    groups: tuple[Group, ...]
    place: int
    items: tuple[Item, ...]
    ground: float
    noise: tuple[int, ...]  # the seed of the noise

    @property
    def combination(self) -> Combination:
        return self.groups[0].colour, self.groups[0].shape, self.place

    @cached_property
    def picture(self) -> Picture:
        """[64, 64, 3]"""
        noise = 5.0 * np.random.default_rng(self.noise).standard_normal((SIZE, SIZE, 3), dtype=np.float32)
        return painted(self.items, self.ground, noise)

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """The box of each shape that is painted."""
        return tuple(map(box, self.items))

    def words(self, language: Language) -> tuple[Word, ...]:
        """The words of the caption."""
        return caption(self.groups, self.place, language)

    def caption(self, language: Language) -> str:
        """The gold caption."""
        return " ".join(word.text for word in self.words(language))

    def region(self, word: Word) -> tuple[Box, ...]:
        """The gold region of a word: the boxes of the shapes that it is about; of a position, that half of the picture."""
        if word.role != "position":
            return tuple(own for item, own in zip(self.items, self.boxes, strict=True) if item.group in word.groups)
        place, half = PLACES[self.place], SIZE // 2
        first, last = (0, half) if place.first else (half, SIZE)
        return ((first, 0, last, SIZE),) if place.axis == 0 else ((0, first, SIZE, last),)


def split_of(combination: Combination) -> Split:
    """The split of a combination. Every colour, every shape, every place and every pair of them is in the training split."""
    colour, shape, place = combination
    residue = (colour + 2 * shape + 3 * place) % _CLASSES
    return "test" if residue == 0 else "valid" if residue == 1 else "train"


def combinations(split: Split) -> list[Combination]:
    """All combinations of a split."""
    every = np.ndindex(len(COLOURS), len(SHAPES), len(PLACES))
    return [found for colour, shape, place in every if split_of(found := (colour, shape, place)) == split]


_COMBINATIONS: dict[Split, list[Combination]] = {split: combinations(split) for split in SPLITS}


def scene(split: Split, index: int, seed: int = 1) -> Scene:
    """The scene of a split with this number."""
    key = (seed, SPLITS.index(split), index)
    random = np.random.default_rng(key)
    colour, shape, place = _COMBINATIONS[split][random.integers(len(_COMBINATIONS[split]))]
    groups = [Group(int(random.integers(1, MOST + 1)), colour, shape)]
    if PLACES[place].relation:
        groups.append(_other_group(random, groups[0]))
    sizes = (_LARGE, _SMALL) if len(groups) == 2 else ((_LARGE, _SMALL)[random.integers(2)],)
    items = [
        item
        for number, (group, radii) in enumerate(zip(groups, sizes, strict=True))
        for item in _items(random, group, number, place, radii)
    ]
    ground = float(random.uniform(15.0, 75.0))
    return Scene(tuple(groups), place, tuple(items), ground, (*key, 1))


def scenes(split: Split, count: int, seed: int = 1) -> Iterator[Scene]:
    """The first scenes of a split."""
    return (scene(split, index, seed) for index in range(count))


def inside_grid(region: Sequence[Box], grid: tuple[int, int]) -> NDArray[np.bool_]:
    """[rows, columns] of a grid of patches: whether the centre of each patch lies in a box of the region."""
    rows = (np.arange(grid[0]) + 0.5) * SIZE / grid[0]
    columns = (np.arange(grid[1]) + 0.5) * SIZE / grid[1]
    inside = np.zeros(grid, dtype=np.bool_)
    for top, left, bottom, right in region:
        inside |= ((rows >= top) & (rows < bottom))[:, None] & ((columns >= left) & (columns < right))[None, :]
    return inside


def _other_group(random: np.random.Generator, first: Group) -> Group:
    """A second group, of another colour or another shape."""
    kinds = len(COLOURS) * len(SHAPES)
    kind = int(random.integers(kinds - 1))
    kind += kind >= first.colour * len(SHAPES) + first.shape
    return Group(int(random.integers(1, MOST + 1)), kind // len(SHAPES), kind % len(SHAPES))


def _items(
    random: np.random.Generator, group: Group, number: int, place: int, radii: tuple[float, float]
) -> Iterator[Item]:
    """The shapes of a group, in a row across the axis of its place, in the half where it belongs, none on another."""
    radius = float(random.uniform(*radii))
    first_half = PLACES[place].first == (number == 0)
    room = _HALF - 2 * radius - 2.0  # for the centres, along the axis
    slot = SIZE / group.count
    slack = min(slot - 2 * radius - 2.0, 12.0)  # for a centre in its slot; less than the distance of two groups
    light = random.uniform(0.85, 1.0)
    paint = COLOURS[group.colour].paint
    for index in range(group.count):
        along = radius + 1.0 + random.uniform(0.0, room) + (0.0 if first_half else _HALF)
        across = slot * (index + 0.5) + random.uniform(-0.5, 0.5) * slack
        top, left = (along, across) if PLACES[place].axis == 0 else (across, along)
        yield Item(
            SHAPES[group.shape].name,
            (paint[0] * light, paint[1] * light, paint[2] * light),
            float(top),
            float(left),
            radius,
            number,
        )
