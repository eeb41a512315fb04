"""Gold regions: where in the picture each word of a caption belongs, stored beside the captions, and the attention that they ask for.

    regions.ids       word, top, left, bottom and right of every box of every caption, concatenated
    regions.offsets   the offset of each caption, and the total

Boxes are in pixels of the fitted picture. They are stored between words, since some tokenizers cut a word in several tokens.

Shapes: B captions, T tokens with the end mark, S = r c patches in r rows and c columns, K boxes of all captions of a batch.
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import OFFSET, MappedFiles, RowWriter
from regard.data.pictures import Box
from regard.text.packed import Ids, pack, take

FILES = ("regions.ids", "regions.offsets")
COLUMNS = 5
NAMED, OTHER = "named", "other"
"""The roles of words of own captions: with a region, and without."""

_NUMBER = np.dtype("<i4")


class WordRegion(NamedTuple):
    """A word of a gold caption: what it is about (`colour`, `shape`, ..), and its boxes in the picture."""

    text: str
    role: str
    boxes: tuple[Box, ...]


def write_regions(directory: Path, captions: Iterable[Sequence[WordRegion]]) -> None:
    """Write the boxes of the words of every caption into `directory`."""
    rows = [
        [
            number
            for word, region in enumerate(regions)
            for top, left, bottom, right in region.boxes
            for number in (word, top, left, bottom, right)
        ]
        for regions in captions
    ]
    with ExitStack() as files:
        RowWriter(files, directory / "regions", _NUMBER).add(pack(rows))


class CaptionRegions:
    """The boxes that `write_regions` has written."""

    def __init__(self, directory: Path) -> None:
        self._files = MappedFiles()
        self._numbers = self._files.map(directory / "regions.ids", _NUMBER)
        self._offsets = self._files.map(directory / "regions.offsets", OFFSET)

    def of(self, captions: NDArray[np.int64]) -> list[Ids]:
        """[boxes, 5] of each caption: word, top, left, bottom, right."""
        self._files.check()
        starts, ends = self._offsets[captions], self._offsets[captions + 1]
        return [row.reshape(-1, COLUMNS) for row in take(self._numbers, starts, ends - starts).rows()]


def region_attention(
    regions: Sequence[NDArray[np.integer[Any]]],  # [boxes, 5] of each caption
    words: Sequence[Sequence[int]],  # the word of each of its tokens
    grid: tuple[int, int],  # rows and columns of patches
    size: tuple[int, int],  # height and width of the picture in pixels
) -> NDArray[np.float32]:
    """[B, T, S]: the attention that each token should pay to each patch, in proportion to the area of its boxes in the patch.

    A row sums to 1, or to 0 where a word has no region, as for end marks and padding.
    """
    counts = [len(boxes) for boxes in regions]
    caption = np.repeat(np.arange(len(regions)), counts)  # [K]
    boxes = np.concatenate([np.zeros((0, COLUMNS)), *regions])  # [K, 5]
    down = _overlaps(boxes[:, 1], boxes[:, 3], grid[0], size[0])
    across = _overlaps(boxes[:, 2], boxes[:, 4], grid[1], size[1])
    areas = (down[:, :, None] * across[:, None, :]).reshape(len(boxes), grid[0] * grid[1])  # [K, S]
    most = max((max(own, default=-1) + 1 for own in words), default=0)
    word = boxes[:, 0].astype(np.int64)
    kept = word < most  # without boxes of words that were cut off
    by_word = np.zeros((len(regions), most + 1, grid[0] * grid[1]))
    np.add.at(by_word, (caption[kept], word[kept]), areas[kept])
    by_word /= np.maximum(by_word.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
    longest = max(map(len, words)) + 1
    own_word = np.full((len(words), longest), most)  # the last row of `by_word` is zero
    for row, own in zip(own_word, words, strict=True):
        row[: len(own)] = own
    table: NDArray[np.float32] = by_word[np.arange(len(words))[:, None], own_word].astype(np.float32)
    return table


def _overlaps(first: NDArray[Any], last: NDArray[Any], parts: int, size: int) -> NDArray[np.float64]:
    """[K, parts]: how much of each of `parts` equal parts of a side lies between first [K] and last [K]."""
    edges = np.arange(parts + 1) * size / parts
    low, high = np.maximum(first[:, None], edges[:-1]), np.minimum(last[:, None], edges[1:])
    overlaps: NDArray[np.float64] = np.maximum(high - low, 0.0)
    return overlaps
