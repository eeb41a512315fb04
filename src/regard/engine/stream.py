"""Streaming: processes an unbounded stream of items in several threads, window by window and in order, in bounded memory.

Inside a window, items of similar width are batched. The next window is read while the current one is processed.
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
WINDOW_SIZE = 2 << 20  # bytes, after which a window has no further line


def windows(
    items: Iterable[Item],
    first: int = 0,
    largest: int = LARGEST_WINDOW,
    size: Callable[[Item], int] | None = None,
) -> Iterator[list[Item]]:
    """Items from number `first` on, in windows: small at the start, for quick first results, then larger, for better batches.

    The end of a window depends only on its beginning and its items, so a resumed stream has the same windows. size: bytes of an item; long
    items make windows of few, which bounds memory. An exception of the source is raised after the items before it.
    """
    failures: list[Exception] = []
    iterator = _until_failure(items, failures)
    while window := _until(WINDOW_SIZE, islice(iterator, min(max(first, SMALLEST_WINDOW), largest)), size):
        yield window
        first += len(window)
    for failure in failures:
        raise failure


def _until(most: int, items: Iterable[Item], size: Callable[[Item], int] | None) -> list[Item]:
    """The first items, until together they have `most` bytes or more."""
    if size is None:
        return list(items)
    taken: list[Item] = []
    total = 0
    for item in items:
        taken.append(item)
        total += size(item)
        if total >= most:
            break
    return taken


def streamed(
    items: Iterable[tuple[int, Sequence[Item]]],
    work: Work[Item, Result],
    *,
    threads: int,
    width: Callable[[Item], int],
    together: int | None,
    ahead: int = 1,
) -> Generator[list[Result], None, None]:
    """The results of `work` for the items of each window, in order.

    items: windows, each the number of its first item and its items. work: called with (that number, places in the window, items) for a
    batch of similar width. together: the size of a batch (`length_batches`); None: a window is one batch. ahead: windows that are submitted
    before the results of the first are awaited.
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
    """The items. An exception of the source ends them and goes to `failures`, so that earlier items are still processed."""
    try:
        yield from items
    except Exception as error:
        failures.append(error)


@dataclass(frozen=True)
class _Begun(Generic[Result]):
    """A window whose batches are submitted to the pool."""

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
        results: dict[int, Result] = {}
        for numbers, future in self.parts:
            results.update(zip(numbers, future.result(), strict=True))
        return [results[number] for number in range(self.size)]
