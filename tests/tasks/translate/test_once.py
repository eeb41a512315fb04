"""Alignments are computed once a translation, and those of two translations do not wait for each other."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from regard.search.hypothesis import Hypothesis
from regard.tasks.translate.answers import LinksOfCall
from regard.tasks.translate.once import Once
from regard.tasks.translate.translation import Links, Translation

WAIT = 5.0
"""Seconds until a thread that waits for another gives up; a passing test does not wait."""


def test_threads_share_one_computation() -> None:
    calls = []
    start = Barrier(4)

    def compute() -> int:
        calls.append(1)
        return len(calls)

    value = Once(compute)

    def ask() -> int:
        start.wait(WAIT)
        return value()

    with ThreadPoolExecutor(4) as pool:
        assert [one.result() for one in [pool.submit(ask) for _ in range(4)]] == [1] * 4


def test_a_computation_that_failed_is_tried_again() -> None:
    answers = iter([ZeroDivisionError("first"), 7])

    def compute() -> int:
        match next(answers):
            case int(number):
                return number
            case error:
                raise error

    value = Once(compute)
    with pytest.raises(ZeroDivisionError):
        value()
    assert [value(), value()] == [7, 7]


def test_alignments_of_two_translations_are_computed_at_the_same_time() -> None:
    """Each computation ends only when the other runs too."""
    both = Barrier(2)

    def links() -> Links:
        both.wait(WAIT)
        return [(0, 0)]

    translations = [Translation("un", "one", 0.0, ["one"], 0.0, links=links) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda one: one.alignment, translations)) == [[(0, 0)]] * 2


def test_alignments_of_two_calls_are_computed_at_the_same_time() -> None:
    both = Barrier(2)

    def compute(sources: object, hypotheses: object) -> list[list[Links]]:
        both.wait(WAIT)
        return [[[(0, 0)]]]

    calls = [LinksOfCall(compute, [[1]], [[Hypothesis((1,), 0.0, 0.0, True)]]) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda call: call.of(0, 0), calls)) == [[(0, 0)]] * 2
