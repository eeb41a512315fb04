"""Texts without end, worked on in several threads: windows go in and come out in order, and memory holds two of them.

Inside a window texts of like length go together, and while some are decoded others are cut into tokens or put together again. It
knows no model and no files.
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
Work = Callable[[int, list[int], list[str]], list[Result]]

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
    texts: Iterable[tuple[int, Sequence[str]]],
    work: Work[Result],
    *,
    threads: int,
    characters: int | None,
    ahead: int = 1,
) -> Generator[list[Result], None, None]:
    """What `work` makes of each text of each window, in order.

    A window is the number of its first text, and its texts. `work` gets that number, and some of the texts with their places in the window:
    those of like length, about `characters` together, or all if that is None. `ahead`: windows that are begun before the results of the
    first are asked for.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="translate")
    begun: deque[_Begun[Result]] = deque()
    try:
        failures: list[Exception] = []
        for first, window in _until_failure(texts, failures):
            begun.append(_Begun.of(pool, partial(work, first), window, characters))
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
        work: Callable[[list[int], list[str]], list[Result]],
        window: Sequence[str],
        characters: int | None,
    ) -> "_Begun[Result]":
        parts = (
            [list(range(len(window)))] if characters is None else list(length_batches([*map(len, window)], characters))
        )
        return _Begun(
            len(window),
            [(numbers, pool.submit(work, numbers, [window[number] for number in numbers])) for numbers in parts],
        )

    def results(self) -> list[Result]:
        found: dict[int, Result] = {}
        for numbers, future in self.parts:
            found.update(zip(numbers, future.result(), strict=True))
        return [found[number] for number in range(self.size)]
