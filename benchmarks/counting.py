"""How long a counting model takes to learn, and how much memory: n-grams counted and smoothed, on made-up tokens.

    python benchmarks/counting.py --tokens 1000000 10000000 --orders 1 2 4

Tokens are drawn one by one, with frequencies that fall as Zipf's law has it: most of the longer sequences then occur once, which is harder
than any real text, where sequences repeat. They lie in a memory-mapped file, as those of a prepared corpus do. Each row has a process of
its own, so that its peak memory is its own; what importing takes is told beside it.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

VOCABULARY, DOCUMENT, BLOCK = 8_000, 1_000, 1_000_000
COLUMNS = {
    "tokens": "{tokens:,}",
    "order": "{order}",
    "different sequences": "{different:,}",
    "seconds": "{seconds:.1f}",
    "tokens/s": "{rate:,.0f}",
    "peak memory (MB)": "{peak:.0f}",
    "of it before counting": "{imported:.0f}",
    "model (MB)": "{model:.0f}",
}


def make_tokens(file: Path, tokens: int) -> None:
    """Ids of independent tokens."""
    generator = np.random.default_rng(1)
    weights = 1.0 / (np.arange(VOCABULARY) + 5)
    with file.open("wb") as stream:
        for first in range(0, tokens, BLOCK):
            drawn = generator.choice(VOCABULARY, size=min(BLOCK, tokens - first), p=weights / weights.sum())
            stream.write(drawn.astype(np.uint16).tobytes())


def measure_here(file: Path, order: int) -> dict[str, float]:
    """Learn from it, in this process."""
    from regard.models.markov import Markov

    imported = _peak()
    ids = np.memmap(file, np.uint16, "r")
    began = time.perf_counter()
    model = Markov.fit(ids, np.arange(0, len(ids), DOCUMENT), VOCABULARY + 1, order, "kneser_ney")
    seconds = time.perf_counter() - began
    tables = model.tables()
    return {
        "tokens": len(ids),
        "order": order,
        "different": sum(len(table) for name, table in tables.items() if "keys" in name),
        "seconds": seconds,
        "rate": len(ids) / seconds,
        "peak": _peak(),
        "imported": imported,
        "model": sum(table.nbytes for table in tables.values()) / 1e6,
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here is not None:
        print(json.dumps(measure_here(asked.here, *asked.orders)))
        return
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}", flush=True)
    for tokens in asked.tokens:
        with tempfile.TemporaryDirectory() as home:
            make_tokens(file := Path(home) / "ids", tokens)
            for order in asked.orders:
                command = [sys.executable, __file__, "--here", str(file), "--orders", str(order)]
                told = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
                print(f"| {' | '.join(COLUMNS.values()).format(**json.loads(told))} |", flush=True)


if __name__ == "__main__":
    main()
