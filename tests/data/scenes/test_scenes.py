"""The scenes corpus: captions true to the pixels, regions around the shapes, splits without a common combination."""

import re
from itertools import product

import numpy as np
import pytest

from regard.data.scenes.corpus import SPLITS, Scene, combinations, inside_grid, scene, scenes, split_of
from regard.data.scenes.painting import SIZE, coverage
from regard.data.scenes.words import COLOURS, PLACES, SHAPES

NUMBERS = {"a": 1, "an": 1, "two": 2, "three": 3}
DIRECTIONS = {
    "above": (-1, 0),
    "below": (1, 0),
    "to the left of": (0, -1),
    "to the right of": (0, 1),
    "at the top": (-1, 0),
    "at the bottom": (1, 0),
    "on the left": (0, -1),
    "on the right": (0, 1),
}
CAPTION = re.compile(
    r"(an?|two|three) (\w+) (\w+) (above|below|to the left of|to the right of|at the top|at the bottom|on the left|on the right)"
    r"(?: (an?|two|three) (\w+) (\w+))?"
)


@pytest.fixture(scope="module")
def some() -> list[Scene]:
    return [found for split in SPLITS for found in scenes(split, 60)]


def blobs(picture: np.ndarray, ground: float) -> list[np.ndarray]:
    """The connected coloured areas of a picture, found by flooding: it knows nothing of how the picture was painted."""
    left = (np.abs(picture.astype(float) - ground).max(axis=2) > 60.0).copy()
    found = []
    while left.any():
        area = np.zeros_like(left)
        area[tuple(np.argwhere(left)[0])] = True
        while True:
            wider = area.copy()
            for shift, axis in product((-1, 1), (0, 1)):
                wider |= np.roll(area, shift, axis)
            wider &= left
            if (wider == area).all():
                break
            area = wider
        left &= ~area
        if area.sum() > 8:
            found.append(area)
    return found


def nearest_colour(paint: np.ndarray) -> str:
    """The colour of a mean paint, by the angle between the two: it is lighter or darker by chance."""
    table = np.array([colour.paint for colour in COLOURS], dtype=float)
    return COLOURS[int((table @ paint / np.linalg.norm(table, axis=1)).argmax())].name


def test_captions_are_true_of_the_pixels(some: list[Scene]) -> None:
    """Counts, colours and places are read off the pixels and compared with what the caption says."""
    for found in some:
        first_count, first_colour, _, place, second_count, second_colour, _ = CAPTION.fullmatch(
            found.caption("en")
        ).groups()  # type: ignore[union-attr]
        areas = blobs(found.picture, found.ground)
        assert len(areas) == NUMBERS[first_count] + (NUMBERS[second_count] if second_count else 0)
        by_size = sorted(areas, key=lambda area: -float(np.ptp(np.argwhere(area), axis=0).max()))
        groups = [by_size[: NUMBERS[first_count]], by_size[NUMBERS[first_count] :]]
        for areas_of_group, colour in zip(groups, (first_colour, second_colour), strict=True):
            for area in areas_of_group:
                assert nearest_colour(found.picture[area].mean(axis=0)) == colour
        centres = [np.mean([np.argwhere(area).mean(axis=0) for area in group], axis=0) for group in groups if group]
        offset = centres[0] - (centres[1] if len(centres) == 2 else np.full(2, SIZE / 2))
        axis = int(np.abs(offset).argmax())
        assert DIRECTIONS[place][axis] == np.sign(offset[axis]), found.caption("en")


def test_shapes_are_what_they_are_called(some: list[Scene]) -> None:
    """The share of its box that each shape fills, from geometry: a full square, a circle's pi / 4, half of a diamond's and triangle's."""
    arm = 0.34
    tenth = 0.5 * 0.42 * np.sin(np.pi / 5)  # of a star: a triangle of the centre, a tip and a corner
    star = 10 * tenth / ((1 + np.cos(np.pi / 5)) * 2 * np.sin(2 * np.pi / 5))
    filled = {"square": 1.0, "circle": np.pi / 4, "diamond": 0.5, "triangle": 0.5, "star": star}
    filled["cross"] = (4 * arm * 2 - 4 * arm * arm) / 4
    for found in some:
        for item in found.items:
            share = coverage(item)
            area = share.sum() / item.radius**2
            boxes = {"square": (2 * 0.84) ** 2, "triangle": 2 * 1.62**2 / np.sqrt(3)}
            boxes["star"] = (1 + np.cos(np.pi / 5)) * 2 * np.sin(2 * np.pi / 5)
            assert area == pytest.approx(filled[item.shape] * boxes.get(item.shape, 4.0), rel=0.08), item.shape


def test_regions_hold_the_shapes_and_nothing_of_others(some: list[Scene]) -> None:
    for found in some:
        for word in found.words("fr"):
            if word.role not in ("colour", "shape", "count"):
                continue
            region = np.zeros((SIZE, SIZE), dtype=bool)
            for top, left, bottom, right in found.region(word):
                region[top:bottom, left:right] = True
            for item in found.items:
                covered = coverage(item) >= 0.5
                assert region[covered].all() == (item.group in word.groups)
                assert item.group in word.groups or not region[covered].any()


def test_the_region_of_a_position_is_its_half() -> None:
    found = next(one for one in scenes("train", 200) if PLACES[one.place].english == ("on", "the", "right"))
    assert {found.region(word) for word in found.words("en") if word.role == "position"} == {((0, 32, 64, 64),)}


def test_patches_inside_a_region() -> None:
    """A grid of 8 x 8 patches of 8 pixels has centres at 4, 12, ..: a box of rows 4 to 13 has the centres 4 and 12."""
    inside = inside_grid([(4, 12, 13, 13)], (8, 8))
    assert np.argwhere(inside).tolist() == [[0, 1], [1, 1]]


def test_combinations_belong_to_one_split(some: list[Scene]) -> None:
    parts = {split: set(combinations(split)) for split in SPLITS}
    assert sum(map(len, parts.values())) == len(set().union(*parts.values())) == 7 * 6 * 8
    for split, found in zip(np.repeat(SPLITS, 60), some, strict=True):
        assert split_of(found.combination) == split
    held_out = parts["valid"] | parts["test"]
    for one, other in ((0, 1), (0, 2), (1, 2)):  # every part of a held-out combination, and every pair, is trained on
        trained = {(combination[one], combination[other]) for combination in parts["train"]}
        assert {(combination[one], combination[other]) for combination in held_out} <= trained


def test_scenes_are_a_function_of_split_seed_and_index() -> None:
    assert (scene("test", 7).picture == scene("test", 7).picture).all()
    pictures = [scene(*key).picture for key in (("test", 7), ("test", 8), ("valid", 7), ("test", 7, 2))]
    assert all((pictures[0] != other).any() for other in pictures[1:])


def test_grammar_by_hand() -> None:
    """Agreement, elision, the invariable "orange", "croix" without a plural mark, "an" before a vowel."""
    every = {(one.caption("en"), one.caption("fr")) for one in scenes("train", 4_000)}
    known = {
        "an orange star": "une étoile orange",
        "two orange stars": "deux étoiles orange",
        "three white crosses": "trois croix blanches",
        "a purple cross": "une croix violette",
        "two green squares": "deux carrés verts",
        "three yellow triangles": "trois triangles jaunes",
        "a blue star": "une étoile bleue",
    }
    seconds = {
        " above a": " au-dessus d'un",
        " to the left of two ": " à gauche de deux ",
        " below three ": " en dessous de trois ",
    }
    for english, french in known.items():
        assert all(there.startswith(f"{french} ") for here, there in every if here.startswith(f"{english} ")), english
        assert any(here.startswith(f"{english} ") for here, _ in every)
    for english, french in seconds.items():
        assert all(french in there for here, there in every if english in here), english
    assert not any(re.search(r"de une?\b|d'deux", there) for _, there in every)
    assert not any(re.search(r"\ba [aeio]|\ban [^o]", here) for here, _ in every)
    assert {shape.name for shape in SHAPES} == {item.shape for one in scenes("train", 100) for item in one.items}
