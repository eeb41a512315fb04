"""Several processes give what one gives, in order; they end with their work, with its failure, and with us."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from regard.data.processes import MOST, WORKERS_VARIABLE, default_workers, ordered_map
from regard.errors import ConfigError, DataError

MODULE = """
import os, time
from regard.errors import TextError

print("printed by a library")  # on the standard output, which carries the answers

def slow_first(item):
    time.sleep(0.2 if item == 1 else 0.0)
    return item, os.getpid()

def fail_at_five(item):
    if item == 5:
        raise TextError("line 5: cannot be cut")
    return item

def die_at_five(item):
    if item == 5:
        os.kill(os.getpid(), 9)
    return item

def no_function():
    raise TextError("nothing to work with")
"""


@pytest.fixture
def functions(tmp_path, monkeypatch):
    """A module that both sides can import."""
    (tmp_path / "functions_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import functions_of_a_test

    yield functions_of_a_test
    del sys.modules["functions_of_a_test"]


def is_gone(process: int) -> bool:
    """Whether a process has ended, even if whoever has inherited it has not taken note yet."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text() if sys.platform == "linux" else ""
    except (ProcessLookupError, FileNotFoundError):
        return True
    return ") Z " in state


def wait_until(condition) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to be")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 30])
@pytest.mark.parametrize(("workers", "alone"), [(1, 0), (1, 2), (2, 0), (3, 2)])
def test_the_results_are_those_of_a_plain_map(count, workers, alone):
    make = partial(partial, pow, 3)
    assert list(ordered_map(make, range(count), workers, alone)) == [3**item for item in range(count)]


def test_results_come_in_order_from_other_processes_that_end(functions):
    results = list(ordered_map(partial(partial, functions.slow_first), range(20), workers=2, alone=1))
    assert [item for item, _ in results] == list(range(20))
    assert results[0][1] == os.getpid()
    others = {process for _, process in results[1:]}
    assert len(others) == 2
    assert os.getpid() not in others
    assert all(map(is_gone, others))


def test_few_items_start_no_process(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    assert list(ordered_map(partial(partial, abs), [-1, -2], workers=2, alone=2)) == [1, 2]
    monkeypatch.setattr(sys, "executable", "")  # and without an interpreter there is none to start
    assert list(ordered_map(partial(partial, abs), [-1, -2, -3], workers=2, alone=0)) == [1, 2, 3]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_the_same_from_another_process(functions, workers):
    from regard.errors import TextError

    seen = []
    with pytest.raises(TextError) as caught:
        seen.extend(ordered_map(partial(partial, functions.fail_at_five), range(20), workers, alone=0))
    assert str(caught.value) == "line 5: cannot be cut"
    assert seen == list(range(5))
    with pytest.raises(TextError) as caught:
        list(ordered_map(functions.no_function, range(20), workers, alone=0))
    assert str(caught.value) == "nothing to work with"


def test_a_process_that_is_killed_is_told(functions):
    with pytest.raises(DataError, match=r"exit code -9.*REGARD_WORKERS=1") as caught:
        list(ordered_map(partial(partial, functions.die_at_five), range(20), workers=2, alone=0))
    assert "\n" not in str(caught.value)


def test_closing_ends_the_processes_at_once(functions):
    with closing(ordered_map(partial(partial, functions.slow_first), iter(int, 1), workers=2, alone=0)) as results:
        process = next(results)[1]
        assert not is_gone(process)
    assert is_gone(process)


def test_an_error_in_the_items_ends_the_processes(functions):
    def items():
        yield from range(10)
        raise KeyboardInterrupt

    results = []
    with pytest.raises(KeyboardInterrupt):
        results.extend(ordered_map(partial(partial, functions.slow_first), items(), workers=2, alone=0))
    assert results
    assert all(is_gone(process) for _, process in results)


def test_no_more_is_read_than_is_worked_on():
    read = []

    def items():
        for item in range(100):
            read.append(item)
            yield item

    with closing(ordered_map(partial(partial, abs), items(), workers=2, alone=3)) as results:
        for done, _ in enumerate(results, 1):
            assert len(read) <= done + 2 * 2 + 1


# No main guard, and a thread of its own: a start by import of the main module or by fork would fail or hang.
SCRIPT = """
import sys, threading
from functools import partial
from regard.data.processes import ordered_map

threading.Thread(target=threading.Event().wait, daemon=True).start()
sys.path.insert(0, sys.argv[1])
import functions_of_a_test

for item, process in ordered_map(partial(partial, functions_of_a_test.slow_first), iter(int, 1), workers=2, alone=0):
    print("worker", process, flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_none_survives_us(functions, tmp_path, ending):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as parent:
        others = set()
        while len(others) < 2:
            word, *process = parent.stdout.readline().split()
            if word == b"worker":
                others.add(int(process[0]))
                parent.stdin.write(b"\n")
                parent.stdin.flush()
        assert not any(map(is_gone, others))
        os.killpg(parent.pid, ending)  # as Ctrl-C does: to all that run in the terminal
        told = parent.stderr.read().decode()  # until the last that can write to it has ended
    wait_until(lambda: all(map(is_gone, others)))
    assert "BrokenPipe" not in told
    assert told.count("Traceback") == (ending == signal.SIGINT)  # of the script, which does not catch it


def test_the_number_of_processes_follows_the_processors_and_the_variable(monkeypatch):
    monkeypatch.delenv(WORKERS_VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 4}, raising=False)
    assert default_workers() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert default_workers() == MOST
    monkeypatch.setenv(WORKERS_VARIABLE, "12")
    assert default_workers() == 12
    for bad in ("0", "-1", "two", "", "1.5"):
        monkeypatch.setenv(WORKERS_VARIABLE, bad)
        with pytest.raises(ConfigError, match=f"REGARD_WORKERS = '{bad}'"):
            default_workers()
