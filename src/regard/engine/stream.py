"""Items without end, worked on in several threads: windows go in and come out in order, and memory holds two of them.

Inside a window items of like width go together, and while some are worked on, the next window is read. It knows no model and no files.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

from regard.engine.batching import length_batches

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[int, list[int], list[Item]], list[Result]]

SMALLEST_WINDOW, LARGEST_WINDOW = 256, 4096  # lines


def windows(items: Iterable[Item], first: int = 0, largest: int = LARGEST_WINDOW) -> Iterator[list[Item]]:
    """Items `first`, `first` + 1, .. in windows: small ones at the start, so that results come soon, then as large as is good for sorting.

    Where a window ends depends only on where it begins, so that whoever goes on at such a place makes the same ones.
    """
    iterator = iter(items)
    while window := list(islice(iterator, min(max(first, SMALLEST_WINDOW), largest))):
        yield window
        first += len(window)


def streamed(
    items: Iterable[tuple[int, Sequence[Item]]],
    work: Work[Item, Result],
    *,
    threads: int,
    width: Callable[[Item], int],
    together: int | None,
    ahead: int = 1,
) -> Generator[list[Result], None, None]:
    """What `work` makes of each item of each window, in order.

    A window is the number of its first item, and its items. `work` gets that number, and some of the items with their places in the window:
    those of like width, a batch of at most `together` (`length_batches`), or all if that is None. `ahead`: windows that are begun before
    the results of the first are asked for.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="stream")
    begun: deque[_Begun[Result]] = deque()
    try:
        failures: list[Exception] = []
        for first, window in _until_failure(items, failures):
            whole = [list(range(len(window)))]
            parts = whole if together is None else length_batches([*map(width, window)], together)
            begun.append(_Begun.of(pool, partial(work, first), window, parts))
            if len(begun) > ahead:
                yield begun.popleft().results()
        while begun:
            yield begun.popleft().results()
        for failure in failures:
            raise failure
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _until_failure(items: Iterable[Item], failures: list[Exception]) -> Iterator[Item]:
    """The items; where no more can be had, the reason goes into `failures`, so that what was had before is not lost to it."""
    try:
        yield from items
    except Exception as error:
        failures.append(error)


@dataclass(frozen=True)
class _Begun(Generic[Result]):
    """A window whose parts are being worked on."""

    size: int
    parts: list[tuple[list[int], Future[list[Result]]]]

    @staticmethod
    def of(
        pool: ThreadPoolExecutor,
        work: Callable[[list[int], list[Item]], list[Result]],
        window: Sequence[Item],
        parts: Iterable[list[int]],
    ) -> "_Begun[Result]":
        return _Begun(
            len(window),
            [(numbers, pool.submit(work, numbers, [window[number] for number in numbers])) for numbers in parts],
        )

    def results(self) -> list[Result]:
        found: dict[int, Result] = {}
        for numbers, future in self.parts:
            found.update(zip(numbers, future.result(), strict=True))
        return [found[number] for number in range(self.size)]
