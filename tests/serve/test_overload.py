"""Who may wait. One worker, batches of 10 texts of 10 characters, 1,000 characters a second: a full batch takes 0.1 seconds."""

import random

import pytest

from regard.serve.overload import Overload
from regard.serve.settings import BatchSettings, LimitSettings


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def overload(clock: Clock, workers: int = 1) -> Overload:
    limits = LimitSettings(wait_seconds=5.0, burst_seconds=0.5)
    found = Overload(BatchSettings(texts=10, slice=5), limits, workers, clock)
    found.learn(10, 100, 0.1)
    return found


def test_a_short_request_waits_for_a_turn_of_each_other(clock: Clock) -> None:
    # a turn is 5 texts of 10 characters; of a list of 1,000 characters only that goes before a short request
    assert overload(clock).wait(10, [1000, 30]) == pytest.approx(0.05 + 0.03)
    assert overload(clock).wait(400, [1000, 30]) == pytest.approx(0.4 + 0.03)
    assert overload(clock, workers=2).wait(10, [1000, 30]) == pytest.approx(0.04)


def test_a_burst_waits_and_a_queue_that_stays_long_is_refused(clock: Clock) -> None:
    found, queue = overload(clock), [10] * 300  # three seconds of work
    assert found.refusal(10, queue) is None
    clock.now = 0.4
    assert found.refusal(10, queue) is None
    clock.now = 0.6
    refused = found.refusal(10, queue)
    assert refused is not None
    assert refused.retry_after == 3
    assert found.refusal(10, queue[:20]) is None  # two batches
    clock.now = 0.7
    assert found.refusal(10, queue) is None  # it was short in between: a new burst


def test_a_list_may_wait_longer(clock: Clock) -> None:
    found, queue = overload(clock), [800] * 6  # others' lists
    for now in (0.0, 1.0):
        clock.now = now
        assert found.refusal(2000, queue) is None
    assert found.refusal(10, queue) is not None
    assert found.refusal(2000, [1000] * 6) is not None  # beyond `wait_seconds`


def test_before_the_first_batch_nobody_is_refused(clock: Clock) -> None:
    found = Overload(BatchSettings(), LimitSettings(), 1, clock)
    assert found.refusal(10, [10] * 10_000) is None
    assert found.seconds(100) is None


def test_at_twice_the_speed_those_who_are_let_in_are_answered_in_time(clock: Clock) -> None:
    """A simulation: 200 texts a second arrive, and 100 are answered."""
    draw, found = random.Random(3), overload(clock)
    queue: list[float] = []  # the arrivals of those that wait
    waits: list[tuple[float, float]] = []
    refused, free, due = 0, 0.0, 0.0
    while due < 60.0:
        due += draw.expovariate(200.0)
        while queue and free <= due:
            start = max(free, queue[0])
            batch = [arrived for arrived in queue if arrived <= start][:10]
            queue = queue[len(batch) :]
            free = start + 0.01 * len(batch)
            waits += [(arrived, free - arrived) for arrived in batch]
        clock.now = due
        if found.refusal(10, [10] * len(queue)) is None:
            queue.append(due)
        else:
            refused += 1
    late = sorted(wait for arrived, wait in waits)
    assert 0.4 < refused / (refused + len(waits)) < 0.6
    assert late[int(0.95 * len(late))] < 0.9  # two batches, a burst of half a second, and its own batch
    assert len(waits) > 0.97 * 100 * 60  # and no capacity is lost
