"""Runs work of torch in several Python threads, each with one core.

On a CPU that is faster than one thread with all cores, if the tensors are large: the products of a decoding step are shared badly by
cores, and the rest of it is not. With small tensors it is slower: the threads wait for each other after every operation, because only
one of them runs Python (docs/experiments.md).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from regard.search.interruption import StopSignal

_ONE_CALL = threading.Lock()  # more threads than cores would wait for each other

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(
    work: Callable[[Item, StopSignal | None], Result], items: Sequence[Item], device: torch.device
) -> Iterator[Result]:
    """`work` of each item, in order, with as many threads as torch uses. The work gets a signal that is set if nobody waits any more."""
    threads = min(torch.get_num_threads(), len(items)) if device.type == "cpu" else 1
    if threads <= 1:
        yield from (work(item, None) for item in items)
        return
    with _ONE_CALL:
        yield from _in_pool(work, items, threads)


def _in_pool(
    work: Callable[[Item, StopSignal | None], Result], items: Sequence[Item], threads: int
) -> Iterator[Result]:
    cores, stopped = torch.get_num_threads(), threading.Event()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="torch", initializer=torch.set_num_threads, initargs=(1,))
    try:
        for result in [pool.submit(work, item, stopped.is_set) for item in items]:
            yield result.result()
    finally:
        stopped.set()
        pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(cores)  # what threads begin with that are made later
