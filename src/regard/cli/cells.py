"""Trains the cells of a sweep, each in a process of its own and several at once. It knows no settings.

Every process has its own process group: Ctrl-C in the terminal must not reach it directly, because a second signal would end it unsaved.
"""

import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType


@dataclass(frozen=True)
class Ended:
    """A process that ended: the number of its command, its exit code and the last line of its stderr."""

    number: int
    code: int
    last_line: str


@dataclass
class _Child:
    number: int
    process: "subprocess.Popen[str]"
    last_line: str = ""
    forwarded: int = 0  # signals that it was sent


class Processes:
    """Runs commands, at most `jobs` at once, and forwards SIGINT and SIGTERM to all that run. Only the main thread may use it."""

    def __init__(self, jobs: int = 1) -> None:
        self.signals: list[int] = []
        self._jobs = jobs
        self._children: dict[int, _Child] = {}
        self._lines: queue.SimpleQueue[tuple[int, str | None]] = queue.SimpleQueue()  # None: the end of a stderr

    def __enter__(self) -> "Processes":
        self._before = {
            number: signal.signal(number, self._handle_signal) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children.values():  # only after an error: a sweep leaves nothing running
            child.process.send_signal(signal.SIGINT)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def run(self, commands: Mapping[int, Sequence[str]], names: Mapping[int, str]) -> "Iterator[Ended]":
        """Run the commands in order, print their stderr and yield each as it ends. After a signal no further one is started.

        `names`: what is printed before the lines of a command where several run at once; its start is announced by it.
        """
        from regard.cli.streams import print_status

        waiting = deque(commands.items())
        while (waiting and not self.signals) or self._children:
            while waiting and not self.signals and len(self._children) < self._jobs:
                number, command = waiting.popleft()
                print_status(names[number])
                self._start(number, command)
            if not self._children:
                return
            number, line = self._lines.get()
            child = self._children[number]
            if line is not None:
                child.last_line = line.strip() or child.last_line
                print_status(line if self._jobs == 1 else f"[{number}] {line}")
                continue
            code = child.process.wait()
            del self._children[number]
            yield Ended(number, code, child.last_line)

    def _start(self, number: int, command: Sequence[str]) -> None:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,
            env={**os.environ, **thread_limit(self._jobs)},
        )
        self._children[number] = _Child(number, process)
        self._forward_signals()
        threading.Thread(target=self._read, args=(number, process), daemon=True).start()

    def _read(self, number: int, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                self._lines.put((number, line.rstrip("\n")))
        self._lines.put((number, None))

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        self.signals.append(number)
        self._forward_signals()

    def _forward_signals(self) -> None:
        for child in list(self._children.values()):
            while child.forwarded < len(self.signals):
                child.forwarded += 1
                child.process.send_signal(self.signals[child.forwarded - 1])


def thread_limit(jobs: int) -> dict[str, str]:
    """The environment of each of `jobs` processes that share this machine: an equal share of its threads. Alone: all, as without it."""
    if jobs == 1:
        return {}
    from regard.data.processes import WORKERS_VARIABLE
    from regard.machine import usable_cores

    given = os.environ.get("OMP_NUM_THREADS", "")
    threads = int(given) if given.isdecimal() and int(given) else usable_cores()
    share = str(max(1, threads // jobs))
    return {WORKERS_VARIABLE: os.environ.get(WORKERS_VARIABLE, share), "OMP_NUM_THREADS": share}
