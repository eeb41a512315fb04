"""How the cost of preparing a corpus and of the first step on it grows with the corpus: time, cores and memory, on made-up pairs.

    python benchmarks/preparing.py --pairs 10000 100000 1000000

Each size has a process of its own, with torch imported as in the command, so that its peak memory is its own. The peak of
all its processes is their proportional set size, where shared pages are counted once.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BLOCK, WORDS, LONGEST = 10_000, 30_000, 11
POLL = 0.25  # seconds
COLUMNS = {
    "pairs": "{pairs:,}",
    "seconds to prepare": "{prepare:.1f}",
    "microseconds a pair": "{each:.1f}",
    "cores used": "{cores:.2f}",
    "seconds to reuse": "{reuse:.2f}",
    "seconds from prepared to the first step": "{step:.2f}",
    "peak memory (MB)": "{peak:.0f}",
    "of all processes": "{all:.0f}",
}


def make_corpus(home: Path, pairs: int) -> None:
    """Sentences of 5 to 11 words whose frequencies fall as Zipf's law has it."""
    generator = random.Random(1)
    words = ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=generator.randint(2, 9))) for _ in range(WORDS)]
    weights = [1.0 / (rank + 5) for rank in range(WORDS)]
    with (home / "a.xx").open("w") as source, (home / "a.yy").open("w") as target:
        for first in range(0, pairs, BLOCK):
            for file in (source, target):
                drawn = generator.choices(words, weights, k=BLOCK * LONGEST)
                for line in range(min(BLOCK, pairs - first)):
                    start = line * LONGEST
                    file.write(" ".join(drawn[start : start + 5 + line % 7]) + "\n")


def measure_here(home: Path) -> dict[str, float]:
    """Prepare, prepare once more, and train up to the first step."""
    from regard import api
    from regard.data.prepare import prepare
    from regard.files import cache_directory
    from regard.tasks.run import train_run
    from regard.training.events import Event, Step

    os.environ["REGARD_CACHE"] = str(home / "cache")
    files = {"src": str(home / "a.xx"), "tgt": str(home / "a.yy")}
    config = api.parse_settings({"data": files, "model": {"preset": "tiny"}})

    def seconds_to_prepare() -> float:
        began = time.perf_counter()
        prepare(config.data, config.text, cache_directory() / "corpora")
        return time.perf_counter() - began

    class SteppedError(Exception):
        """The first step is done, and no other is wanted."""

    def stop(event: Event) -> None:
        if isinstance(event, Step):
            raise SteppedError

    processors = _processor_seconds()
    first = seconds_to_prepare()
    processors = _processor_seconds() - processors
    again = seconds_to_prepare()
    began = time.perf_counter()
    try:
        train_run(config, home / "run", [stop])
    except SteppedError:
        step = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"prepare": first, "cores": processors / first, "reuse": again, "step": step, "peak": peak}


def _processor_seconds() -> float:
    """The processor seconds of this process and of its ended children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(home: Path, pairs: int) -> str:
    """One row of the table."""
    make_corpus(home, pairs)
    highest = 0.0
    with subprocess.Popen([sys.executable, __file__, "--here", str(home)], stdout=subprocess.PIPE) as process:
        while process.poll() is None:
            highest = max(highest, _memory(process.pid))
            time.sleep(POLL)
        assert process.stdout is not None
        told = process.stdout.read()
    if process.returncode:
        sys.exit(process.returncode)
    values: dict[str, Any] = json.loads(told)
    values |= {"pairs": pairs, "each": 1e6 * values["prepare"] / pairs, "all": highest}
    return " | ".join(COLUMNS.values()).format(**values)


def _memory(process: int) -> float:
    """The proportional set size of a process and its descendants, in megabytes."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        mine = next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (OSError, StopIteration):  # it has just ended
        return 0.0
    return mine + sum(_memory(int(child)) for child in children)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here is not None:
        print(json.dumps(measure_here(arguments.here)))
        return
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}", flush=True)
    for pairs in arguments.pairs:
        with tempfile.TemporaryDirectory() as home:
            print(f"| {measure(Path(home), pairs)} |", flush=True)


if __name__ == "__main__":
    main()
