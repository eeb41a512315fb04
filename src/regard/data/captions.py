"""Files of captions: which pictures there are, and what is said of each.

| form | a line |
| --- | --- |
| `.tsv` | picture, tab, caption; a further line with the same picture is a further caption of it |
| `.jsonl` | `{"image": "a.png", "caption": ".."}`, or `"captions": ["..", ".."]` |

A line of JSON with one caption may have the regions of its words, `"regions": [{"word": 1, "box": [left, top, right, bottom]}, ..]`:
words are separated by spaces and count from 0, boxes are in pixels of the file. Paths are relative to the folder of the pictures.
It opens no picture.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from regard.data.pictures import Box
from regard.data.readers import display_name, read_lines
from regard.errors import DataError

FORMS = "each line must be picture<TAB>caption"
JSON_FORMS = """each line must be {"image": "a.png", "caption": ".."}, or have "captions", a list"""
REGION_FORMS = (
    """regions are a list of {"word": 1, "box": [left, top, right, bottom]}: words count from 0, boxes are in pixels"""
)
SHOWN = 3  # pictures that a note names
LARGEST = 2**20  # pixels

WordBoxes = dict[int, tuple[Box, ...]]
"""The boxes of the words of a caption, by the number of the word."""


@dataclass(frozen=True)
class CaptionedPicture:
    """A picture file, what is said of it, and the line that names it first."""

    path: Path
    captions: tuple[str, ...]
    line: int
    regions: tuple[WordBoxes, ...]
    """The regions of the words of each caption, in pixels of the file; empty where they are not known."""


@dataclass(frozen=True)
class CaptionFile:
    """The pictures of a file of captions, in the order in which it names them."""

    name: str
    pictures: tuple[CaptionedPicture, ...]


def read_captions(path: str | Path, images: str | Path | None = None) -> CaptionFile:
    """The captioned pictures of a file. `images`: the folder of the pictures; None: that of the file."""
    name = display_name(path)
    folder = Path(path).parent if images is None else Path(images)
    if images is not None and not folder.is_dir():
        raise DataError(f"{images}: no such folder; give the folder that the paths in {name} are relative to")
    found: dict[Path, tuple[int, list[str], list[WordBoxes]]] = {}
    jsonl = PurePath(str(path).removesuffix(".gz")).suffix in (".jsonl", ".ndjson")
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        file, captions, regions = _of_json(line, where) if jsonl else _of_columns(line, where)
        picture = folder / file
        if picture not in found and not picture.is_file():
            raise DataError(f"{where}: no such picture as {picture}; paths are relative to {folder}")
        _, own_captions, own_regions = found.setdefault(picture, (number, [], []))
        own_captions.extend(captions)
        own_regions.extend(regions)
    if not found:
        raise DataError(f"{name}: no captions in it; {JSON_FORMS if jsonl else FORMS}")
    pictures = (
        CaptionedPicture(picture, tuple(captions), line, tuple(regions))
        for picture, (line, captions, regions) in found.items()
    )
    return CaptionFile(name, tuple(pictures))


def without_caption(images: str | Path, captioned: Sequence[CaptionFile], suffixes: Sequence[str]) -> list[str]:
    """The names of the pictures in a folder that no file of captions names."""
    named = {picture.path.resolve() for file in captioned for picture in file.pictures}
    return [
        str(path.relative_to(images))
        for path in sorted(Path(images).rglob("*"))
        if path.suffix.lower() in suffixes and path.resolve() not in named and path.is_file()
    ]


def _of_columns(line: str, where: str) -> tuple[str, list[str], list[WordBoxes]]:
    columns = line.removesuffix("\r").split("\t")
    if len(columns) != 2:
        raise DataError(f"{where}: {len(columns)} column{'s' * (len(columns) != 1)}; {FORMS}")
    file, caption = (column.strip() for column in columns)
    return *_checked(file, [caption], where, FORMS), [{}]


def _of_json(line: str, where: str) -> tuple[str, list[str], list[WordBoxes]]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON ({str(error).splitlines()[0]}); {JSON_FORMS}") from None
    if not isinstance(value, dict) or not isinstance(value.get("image"), str):
        raise DataError(f"{where}: no text under 'image'; {JSON_FORMS}")
    captions = [value["caption"]] if "caption" in value else value.get("captions", [])
    if not isinstance(captions, list) or not all(isinstance(caption, str) for caption in captions):
        raise DataError(f"{where}: captions that are no texts; {JSON_FORMS}")
    file, captions = _checked(value["image"], [" ".join(caption.split()) for caption in captions], where, JSON_FORMS)
    if "regions" not in value:
        return file, captions, [{}] * len(captions)
    if len(captions) != 1:
        raise DataError(f"{where}: regions of {len(captions)} captions; write a line for each caption")
    return file, captions, [_regions(value["regions"], len(captions[0].split()), where)]


def _regions(value: Any, words: int, where: str) -> WordBoxes:
    """The checked regions of the words of a caption."""
    if not isinstance(value, list) or not all(isinstance(region, dict) for region in value):
        raise DataError(f"{where}: {REGION_FORMS}")
    regions: WordBoxes = {}
    for region in value:
        word, sides = region.get("word"), region.get("box")
        if type(word) is not int or not 0 <= word < words:
            raise DataError(
                f"{where}: word {word!r} of a region is not among the {words} words, from 0; {REGION_FORMS}"
            )
        whole = isinstance(sides, list) and len(sides) == 4 and all(type(side) in (int, float) for side in sides)
        if not whole or not all(-LARGEST <= side <= LARGEST for side in sides):
            raise DataError(f"{where}: a box of {sides!r}; {REGION_FORMS}")
        left, top, right, bottom = (round(side) for side in sides)
        if left >= right or top >= bottom:
            raise DataError(f"{where}: an empty box, {sides!r}; {REGION_FORMS}")
        regions[word] = (*regions.get(word, ()), (top, left, bottom, right))
    return regions


def _checked(file: str, captions: list[str], where: str, forms: str) -> tuple[str, list[str]]:
    if not file:
        raise DataError(f"{where}: no picture; {forms}")
    if "\0" in file:
        raise DataError(f"{where}: a path with a zero byte, {file!r}; {forms}")
    if not captions:
        raise DataError(f"{where}: {file!r} has no caption; write one, or leave the line out")
    if not all(captions):
        raise DataError(f"{where}: an empty caption of {file!r}; write one, or leave the line out")
    return file, captions
