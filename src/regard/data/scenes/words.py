"""The words of the scenes corpus, and the captions that they make in English and in French.

A caption has one form for a scene: the group that is named first is that of the larger shapes. Each word knows what it is about,
so that its region in the picture is known. This file draws nothing at random and paints nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "fr"]
LANGUAGES: tuple[Language, ...] = ("en", "fr")

Role = Literal["count", "colour", "shape", "relation", "position"]

MOST = 3
"""Shapes of a group."""


@dataclass(frozen=True, slots=True)
class ShapeWord:
    """A shape: its nouns."""

    name: str
    english_plural: str
    french: tuple[str, str]  # singular and plural
    feminine: bool


@dataclass(frozen=True, slots=True)
class ColourWord:
    """A colour: its adjectives and its paint."""

    name: str
    french: tuple[str, str, str, str]  # masculine, feminine, masculine plural, feminine plural
    paint: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PlaceWord:
    """A relation of the first group to a second one, or a position of the only group in the picture."""

    english: tuple[str, ...]
    french: tuple[str, ...]  # of a relation without "de", which is elided before "un"
    axis: int  # 0: along the height, 1: along the width
    first: bool  # whether the first group lies in the first half of that axis
    relation: bool


SHAPES = (
    ShapeWord("circle", "circles", ("cercle", "cercles"), feminine=False),
    ShapeWord("square", "squares", ("carré", "carrés"), feminine=False),
    ShapeWord("triangle", "triangles", ("triangle", "triangles"), feminine=False),
    ShapeWord("diamond", "diamonds", ("losange", "losanges"), feminine=False),
    ShapeWord("star", "stars", ("étoile", "étoiles"), feminine=True),
    ShapeWord("cross", "crosses", ("croix", "croix"), feminine=True),
)

COLOURS = (
    ColourWord("red", ("rouge", "rouge", "rouges", "rouges"), (220, 40, 40)),
    ColourWord("green", ("vert", "verte", "verts", "vertes"), (50, 175, 70)),
    ColourWord("blue", ("bleu", "bleue", "bleus", "bleues"), (55, 95, 235)),
    ColourWord("yellow", ("jaune", "jaune", "jaunes", "jaunes"), (240, 225, 60)),
    ColourWord("purple", ("violet", "violette", "violets", "violettes"), (155, 65, 195)),
    ColourWord("orange", ("orange", "orange", "orange", "orange"), (245, 140, 30)),  # a noun as adjective: invariable
    ColourWord("white", ("blanc", "blanche", "blancs", "blanches"), (240, 240, 240)),
)

PLACES = (
    PlaceWord(("above",), ("au-dessus",), axis=0, first=True, relation=True),
    PlaceWord(("below",), ("en", "dessous"), axis=0, first=False, relation=True),
    PlaceWord(("to", "the", "left", "of"), ("à", "gauche"), axis=1, first=True, relation=True),
    PlaceWord(("to", "the", "right", "of"), ("à", "droite"), axis=1, first=False, relation=True),
    PlaceWord(("at", "the", "top"), ("en", "haut"), axis=0, first=True, relation=False),
    PlaceWord(("at", "the", "bottom"), ("en", "bas"), axis=0, first=False, relation=False),
    PlaceWord(("on", "the", "left"), ("à", "gauche"), axis=1, first=True, relation=False),
    PlaceWord(("on", "the", "right"), ("à", "droite"), axis=1, first=False, relation=False),
)

_ENGLISH_NUMBERS, _FRENCH_NUMBERS = ("two", "three"), ("deux", "trois")


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes of one kind and colour, by their places in the tables."""

    count: int
    colour: int
    shape: int


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a caption: what it is about, and the groups of the scene that it names."""

    text: str
    role: Role
    groups: tuple[int, ...]


def caption(groups: tuple[Group, ...], place: int, language: Language) -> tuple[Word, ...]:
    """The words of a scene's caption. `place`: in `PLACES`."""
    return tuple((_english if language == "en" else _french)(groups, PLACES[place]))


def _english(groups: tuple[Group, ...], place: PlaceWord) -> Iterator[Word]:
    yield from _english_group(groups[0], 0)
    yield from _place_words(place, place.english)
    if place.relation:
        yield from _english_group(groups[1], 1)


def _english_group(group: Group, number: int) -> Iterator[Word]:
    colour, shape = COLOURS[group.colour], SHAPES[group.shape]
    one = "an" if colour.name[0] in "aeiou" else "a"
    yield Word(one if group.count == 1 else _ENGLISH_NUMBERS[group.count - 2], "count", (number,))
    yield Word(colour.name, "colour", (number,))
    yield Word(shape.name if group.count == 1 else shape.english_plural, "shape", (number,))


def _french(groups: tuple[Group, ...], place: PlaceWord) -> Iterator[Word]:
    yield from _french_group(groups[0], 0)
    yield from _place_words(place, place.french)
    if place.relation:
        of, *others = _french_group(groups[1], 1)
        if of.text.startswith("u"):  # "d'un", "d'une"
            yield Word(f"d'{of.text}", "count", (1,))
        else:
            yield from (Word("de", "relation", (0, 1)), of)
        yield from others


def _french_group(group: Group, number: int) -> Iterator[Word]:
    colour, shape, plural = COLOURS[group.colour], SHAPES[group.shape], group.count > 1
    one = "une" if shape.feminine else "un"
    yield Word(_FRENCH_NUMBERS[group.count - 2] if plural else one, "count", (number,))
    yield Word(shape.french[plural], "shape", (number,))
    yield Word(colour.french[2 * plural + shape.feminine], "colour", (number,))


def _place_words(place: PlaceWord, words: tuple[str, ...]) -> Iterator[Word]:
    groups = (0, 1) if place.relation else (0,)
    return (Word(word, "relation" if place.relation else "position", groups) for word in words)
