"""Windows of texts through threads: order, memory, and what happens when the input or the reader fails."""

import threading
from collections.abc import Iterator
from itertools import islice

import pytest

from regard.engine.stream import LARGEST_WINDOW, SMALLEST_WINDOW, WINDOW_SIZE, streamed, windows


def shouted(first: int, numbers: list[int], texts: list[str]) -> list[str]:
    return [f"{first + number}{text.upper()}" for number, text in zip(numbers, texts, strict=True)]


def numbered(texts: list[list[str]]) -> Iterator[tuple[int, list[str]]]:
    first = 0
    for window in texts:
        yield first, window
        first += len(window)


@pytest.mark.parametrize("together", [None, 1, 40, 10_000])
@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_results_come_in_the_order_of_the_texts(together: int | None, ahead: int) -> None:
    texts = [["b" * (7 * number % 11) for number in range(size)] for size in (30, 1, 12)]
    found = list(streamed(numbered(texts), shouted, threads=4, width=len, together=together, ahead=ahead))
    whole = [text for window in texts for text in window]
    assert [len(window) for window in found] == [30, 1, 12]
    assert [one for window in found for one in window] == [f"{n}{text.upper()}" for n, text in enumerate(whole)]


def test_texts_of_like_length_go_together() -> None:
    seen: list[list[int]] = []

    def work(first: int, numbers: list[int], texts: list[str]) -> list[str]:
        seen.append([len(text) for text in texts])
        return texts

    list(streamed([(0, ["a" * (n % 10) for n in range(100)])], work, threads=1, width=len, together=60))
    assert len(seen) > 3
    assert all(len(group) * (max(group) + 1) <= 60 for group in seen)
    assert all(max(group) - min(group) <= 1 for group in seen if max(group) > 3)


def test_no_more_is_read_than_two_windows() -> None:
    read = 0

    def endless() -> Iterator[tuple[int, list[str]]]:
        nonlocal read
        while True:
            read += 1
            yield read, ["text"] * 10

    results = streamed(endless(), shouted, threads=2, width=len, together=100)
    for place, _ in enumerate(islice(results, 20), start=1):
        assert read <= place + 1
    results.close()


def test_what_was_read_before_a_failure_comes_out() -> None:
    def broken() -> Iterator[tuple[int, list[str]]]:
        yield 0, ["a", "b"]
        yield 2, ["c"]
        raise OSError("unplugged")

    results = streamed(broken(), shouted, threads=2, width=len, together=100)
    assert [next(results), next(results)] == [["0A", "1B"], ["2C"]]
    with pytest.raises(OSError, match="unplugged"):
        next(results)


def test_a_failure_of_the_work_is_raised() -> None:
    def work(first: int, numbers: list[int], texts: list[str]) -> list[str]:
        raise ValueError("no such beam")

    with pytest.raises(ValueError, match="no such beam"):
        list(streamed([(0, ["a"])], work, threads=2, width=len, together=100))


def test_who_stops_reading_does_not_wait_for_the_rest() -> None:
    begun, gate = [], threading.Event()

    def work(first: int, numbers: list[int], texts: list[str]) -> list[str]:
        begun.append(first)
        if first:
            gate.wait(30.0)
        return texts

    results = streamed(numbered([["a"], ["b"] * 50]), work, threads=2, width=len, together=1)
    next(results)
    gate.set()
    results.close()
    assert len(begun) < 51
    assert threading.active_count() == 1 or not any(
        thread.name.startswith("stream") for thread in threading.enumerate()
    )


def test_windows_depend_only_on_where_they_begin() -> None:
    items = list(range(30_000))
    found = list(windows(items))
    assert [item for window in found for item in window] == items
    assert len(found[0]) == SMALLEST_WINDOW
    assert max(map(len, found)) == LARGEST_WINDOW
    for place in (1, 3, len(found) - 1):
        first = found[place][0]
        assert list(windows(items[first:], first)) == found[place:]


def test_windows_of_long_items_are_short() -> None:
    items = ["x"] * 300 + ["y" * WINDOW_SIZE] * 3 + ["z" * (WINDOW_SIZE // 2)] * 4 + ["x"] * 10
    found = list(windows(items, size=len))
    assert [item for window in found for item in window] == items
    assert [len(window) for window in found] == [SMALLEST_WINDOW, 45, 1, 1, 2, 2, 10]
    assert list(windows(items[256:], 256, size=len)) == found[1:]


def test_items_before_a_failure_of_the_source_are_in_a_window() -> None:
    def failing() -> Iterator[int]:
        yield from range(3)
        raise ValueError("damaged")

    found = windows(failing())
    assert next(found) == [0, 1, 2]
    with pytest.raises(ValueError, match="damaged"):
        next(found)
