"""What a probe costs where there is none, and where there is one.

    python benchmarks/probing.py runs/demo [--sentences 200]

Without a probe, a layer asks `probe is None` and goes on. Those questions are counted in one forced pass and in one search, timed by
themselves, and set against the time of the whole.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from regard.data.pocket.corpus import pocket_split
from regard.layers import transformer as blocks
from regard.models import transformer as network
from regard.ops.probe import Probe, within
from regard.tasks.load import load_served

ROUNDS = 5


def main() -> None:
    """Print three lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--sentences", type=int, default=200)
    asked = parser.parse_args()
    model = load_served(asked.bundle, engine="torch")
    pairs = pocket_split(1, 1, asked.sentences).test
    texts = [pair.french for pair in pairs]
    source = [model.tokenizers.source.encode(pair.french) for pair in pairs]
    target = [model.tokenizers.target.encode(pair.english) for pair in pairs]

    searching = seconds(lambda: model.translate(texts, beam=5))
    calls = counted(lambda: model.translate(texts, beam=5))
    asking = seconds(lambda: [within(None, "decoder") for _ in range(100_000)]) / 100_000
    print(
        f"search: {searching:.3f} s, {calls} questions of {1e9 * asking:.0f} ns: {100 * calls * asking / searching:.4f} %"
    )
    plain = seconds(lambda: model.forced(source, target))
    print(f"forced pass: {plain:.4f} s")
    for name, patterns in {"cross weights": ["decoder.*.cross.weights"], "everything": ["*"]}.items():
        probed = seconds(lambda patterns=patterns: model.forced(source, target, Probe(*patterns)))
        print(f"forced pass, a probe on {name}: {probed:.4f} s, {probed / plain:.2f} times")


def seconds(work: Callable[[], object]) -> float:
    """The least of a few rounds."""
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def counted(work: Callable[[], object]) -> int:
    """How often a Transformer asks for a deeper probe; each time it asks twice more whether there is one."""
    calls = 0

    def asked(probe: Probe | None, name: str) -> Probe | None:
        nonlocal calls
        calls += 1
        return within(probe, name)

    with patch.object(blocks, "within", asked), patch.object(network, "within", asked):
        work()
    return 3 * calls


if __name__ == "__main__":
    main()
