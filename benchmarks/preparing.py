"""How the cost of preparing a corpus grows with it: seconds, microseconds a pair and peak memory, on made-up pairs.

    python benchmarks/preparing.py --pairs 10000 100000 1000000

Each size is prepared in a process of its own, so that its peak memory is its own.
"""

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK, WORDS, LONGEST = 10_000, 30_000, 11


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


def prepare_here(home: Path) -> None:
    """Prepare once and once more, and print one row of the table."""
    from regard.data.config import DataConfig
    from regard.data.prepare import prepare
    from regard.text.config import TextConfig

    data = DataConfig(src=str(home / "a.xx"), tgt=str(home / "a.yy"))
    began = time.perf_counter()
    prepared = prepare(data, TextConfig(), home / "cache")
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    prepare(data, TextConfig(), home / "cache")
    again = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pairs = prepared.counts.read
    print(f"| {pairs:,} | {seconds:.1f} | {1e6 * seconds / pairs:.0f} | {peak:.0f} | {again:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here is not None:
        prepare_here(arguments.here)
        return
    print("| pairs | seconds | microseconds a pair | peak memory (MB) | seconds to reuse |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    for pairs in arguments.pairs:
        with tempfile.TemporaryDirectory() as home:
            make_corpus(Path(home), pairs)
            subprocess.run([sys.executable, __file__, "--here", home], check=True)


if __name__ == "__main__":
    main()
