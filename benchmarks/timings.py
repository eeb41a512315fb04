"""What the processes of a benchmark use: memory, processor time, the time of calls, and the wait of training steps for their batches."""

import statistics
import time
from pathlib import Path
from typing import Any


def memory(process: int) -> float:
    """The proportional set size of a process and its descendants, in megabytes."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        mine = next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (OSError, StopIteration):  # it has just ended
        return 0.0
    return mine + sum(memory(int(child)) for child in children)


def processor_time(process: int) -> float:
    """The seconds that a process and its descendants have had a core."""
    home = Path(f"/proc/{process}/task")
    tasks = [int((task / "schedstat").read_text().split()[0]) for task in home.iterdir()]
    children = (home / str(process) / "children").read_text().split()
    return sum(tasks) / 1e9 + sum(processor_time(int(child)) for child in children)


def time_calls(owner: Any, method: str, parts: dict[str, float], part: str) -> None:
    """Add the seconds of each call of a method to `parts`."""
    original = getattr(owner, method)

    def timed(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return original(*arguments)
        finally:
            parts[part] += time.perf_counter() - began

    setattr(owner, method, timed)


def time_waits(workers: int, most: int = 10_000) -> Any:
    """[workers, steps] in shared memory: the seconds from asking for the batch of a step to having it. Before the workers are forked."""
    import torch

    from regard.training.shared import shared
    from regard.training.worker import Worker

    [waited] = shared([torch.zeros(workers, most, dtype=torch.float64)])
    original = Worker._batch

    def timed(worker: Any, info: Any, numbers: Any) -> Any:
        began = time.perf_counter()
        batch = original(worker, info, numbers)
        waited[worker.number, info.step] += time.perf_counter() - began
        return batch

    Worker._batch = timed  # type: ignore[method-assign]
    return waited


def report_waits(waits: dict[str, list[tuple[int, float, float]]], parts: dict[str, dict[str, float]]) -> None:
    """How long the steps waited for their batches: the mean, the longest, and the share of the time."""
    print("\n| wait for data | steps | mean (ms) | longest (ms) | share of the time | batches made ahead |")
    print("|" + " --- |" * 6)
    for name, steps in waits.items():
        seconds, waited = [step[1] for step in steps], [step[2] for step in steps]
        print(
            f"| {name} | {len(steps)} | {1e3 * statistics.mean(waited):.2f} | {1e3 * max(waited):.2f} | "
            f"{sum(waited) / sum(seconds):.2%} | {parts[name]['ahead']:.1%} |"
        )
