"""Work of torch in several threads."""

import threading

import pytest
import torch

from regard.engine.parallel import in_threads

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_results_are_in_order_and_each_thread_has_one_core() -> None:
    both = threading.Barrier(2, timeout=20)

    def work(item: int, stopped: object) -> tuple[int, int, str]:
        if item < 2:
            both.wait()  # two at a time
        return item * item, torch.get_num_threads(), threading.current_thread().name

    found = list(in_threads(work, range(5), CPU))
    assert [(square, threads) for square, threads, _ in found] == [(n * n, 1) for n in range(5)]
    assert len({name for _, _, name in found}) == 2
    assert torch.get_num_threads() == 2
    inside: list[int] = []
    other = threading.Thread(target=lambda: inside.append(torch.get_num_threads()))
    other.start()
    other.join()
    assert inside == [2]


def test_a_failure_stops_the_others() -> None:
    was_stopped, both = threading.Event(), threading.Barrier(2, timeout=20)

    def work(item: int, stopped: object) -> None:
        both.wait()
        if item == 0:
            raise ValueError("the first")
        while not stopped():
            pass
        was_stopped.set()

    with pytest.raises(ValueError, match="the first"):
        list(in_threads(work, range(2), CPU))
    assert was_stopped.is_set()
    assert torch.get_num_threads() == 2


def test_one_item_keeps_all_cores_of_this_thread() -> None:
    assert list(in_threads(lambda item, stopped: (torch.get_num_threads(), stopped), [1], CPU)) == [(2, None)]
