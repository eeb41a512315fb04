"""The windows in which long documents are scored. They overlap by half, so that every token but the first has at least half a context."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

WINDOWS_TOKENS = 8192  # read at once, when scoring


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens start .. end of a document, of which those from `first` on are scored."""

    document: int
    start: int
    first: int
    end: int


def windows(documents: Sequence[NDArray[Any]], size: int) -> Iterator[Window]:
    """Overlapping windows over all documents; every token is scored once."""
    for number, ids in enumerate(documents):
        if not len(ids):
            continue
        yield Window(number, 0, 0, min(size, len(ids)))
        stride = max(1, size // 2)
        for first in range(size, len(ids), stride):
            end = min(first + stride, len(ids))
            yield Window(number, end - size, first, end)


def window_batches(windows: Iterator[Window]) -> Iterator[list[Window]]:
    """Batches of consecutive windows, at most `WINDOWS_TOKENS` tokens with padding."""
    batch: list[Window] = []
    width = 0
    for window in windows:
        width = max(width, window.end - window.start)
        if batch and (len(batch) + 1) * width > WINDOWS_TOKENS:
            yield batch
            batch, width = [], window.end - window.start
        batch.append(window)
    if batch:
        yield batch
