"""Byte-pair merging by the ranks of a table of merges, as Sennrich et al. 2016 apply what was learned.

The merge of the lowest rank is done first, of several the leftmost, until none is left. A heap makes that n log n in the length of a word,
whatever the table. It knows no text: symbols are numbers.
"""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

Merges = Mapping[tuple[int, int], tuple[int, int]]
"""(left, right) -> (rank, what they become)."""


def merged(symbols: Sequence[int], merges: Merges) -> list[int]:
    """The symbols after all merges."""
    parts: list[int] = list(symbols)
    size = len(parts)
    if size < 2:
        return parts
    following = [*range(1, size), -1]
    before = [*range(-1, size - 1)]
    heap = []
    for place in range(size - 1):
        found = merges.get((parts[place], parts[place + 1]))
        if found is not None:
            heap.append((found[0], place, found[1]))
    heapify(heap)
    gone = [False] * size
    while heap:
        _, place, result = heappop(heap)
        right = following[place]
        if gone[place] or right < 0:
            continue
        now = merges.get((parts[place], parts[right]))
        if now is None or now[1] != result:  # one of the two was merged meanwhile
            continue
        parts[place], gone[right] = result, True
        after = following[place] = following[right]
        if after >= 0:
            before[after] = place
        for first in (before[place], place):
            second = following[first] if first >= 0 else -1
            if second >= 0:
                found = merges.get((parts[first], parts[second]))
                if found is not None:
                    heappush(heap, (found[0], first, found[1]))
    return [part for part, away in zip(parts, gone, strict=True) if not away]
