"""How many hostile cases are handled: bundles, weights, tokenizers, manifests, configs, corpora, options, streams, signals.

    python benchmarks/hostile.py --rounds 2000

The families of `tests/hostile/families.py` take turns. Each case is a command in a forked child with a limit on its memory and
time, in a directory of its own. It is handled if it ends with code 0, 1 or 2, without a traceback, in at most 6 lines and 2,000
characters, without a control character, and writes nothing outside. A case is drawn from its family and seed alone:
`--family weights --seed 17 --rounds 1` plays one again. The exit code is 1 if a case fell short.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT / "tests")  # in place of this folder, where `hostile` is this file

from hostile.families import FAMILIES, Round, play  # noqa: E402
from hostile.verbs import Materials, Server, make_materials  # noqa: E402

EXAMPLES = 10


def main() -> int:
    """Play the rounds and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="of the first round; the next ones count on")
    parser.add_argument("--family", choices=sorted(FAMILIES), action="append", help="only this family; may be repeated")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="cases played at once")
    parser.add_argument(
        "--verbose", action="store_true", help="print every case that fell short or was not foreseen, with its message"
    )
    options = parser.parse_args()
    families = options.family or list(FAMILIES)
    cases = [(families[n % len(families)], options.seed + n // len(families)) for n in range(options.rounds)]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hostile-") as home:
        rounds = _play(cases, Path(home), options.jobs)
    short = [played for played in rounds if played.problems]
    _print_counts(rounds, families)
    unforeseen = [played for played in rounds if played.outcome.unexpected and not played.problems]
    for played in [*short, *unforeseen] if options.verbose else short[:EXAMPLES]:
        _print_example(played, verbose=options.verbose)
    handled = len(rounds) - len(short)
    slowest = max(rounds, key=lambda played: played.outcome.seconds)
    largest = max(rounds, key=lambda played: played.outcome.peak_mb)
    print(f"{handled:,} of {len(rounds):,} handled, in {time.monotonic() - began:.0f} s")
    print(f"slowest {slowest.outcome.seconds:.1f} s ({slowest.family} {slowest.seed}), ", end="")
    print(f"largest {largest.outcome.peak_mb:,} MB ({largest.family} {largest.seed})")
    return 1 if short else 0


def _play(cases: list[tuple[str, int]], home: Path, jobs: int) -> list[Round]:
    """All rounds in order, several at once, each job with a warm process of its own."""
    servers = [Server() for _ in range(max(1, jobs))]
    try:
        materials = make_materials(home / "materials", servers[0])
        with ThreadPoolExecutor(len(servers)) as pool:
            parts = [cases[number :: len(servers)] for number in range(len(servers))]
            played = list(
                pool.map(lambda pair: _share(pair[0], pair[1], materials, home), zip(servers, parts, strict=True))
            )
    finally:
        for server in servers:
            server.close()
    return sorted((r for part in played for r in part), key=lambda r: (r.seed, list(FAMILIES).index(r.family)))


def _share(server: Server, cases: list[tuple[str, int]], materials: Materials, home: Path) -> list[Round]:
    return [play(family, seed, materials, server, home) for family, seed in cases]


def _print_counts(rounds: list[Round], families: list[str]) -> None:
    print(f"{'family':<14}{'rounds':>8}{'handled':>9}{'fell short':>12}{'unforeseen':>12}  exit codes")
    for family in families:
        own = [played for played in rounds if played.family == family]
        short = sum(bool(played.problems) for played in own)
        unforeseen = sum(played.outcome.unexpected for played in own)
        codes = " ".join(f"{code}:{n}" for code, n in sorted(Counter(played.outcome.code for played in own).items()))
        print(f"{family:<14}{len(own):>8}{len(own) - short:>9}{short:>12}{unforeseen:>12}  {codes}")


def _print_example(played: Round, *, verbose: bool) -> None:
    words = " ".join(repr(word[:60]) for word in played.command.arguments)
    what = "; ".join(played.problems) or "not foreseen"
    print(f"--family {played.family} --seed {played.seed} --rounds 1: {what}")
    print(f"    regard {words[:400]}")
    if verbose:
        print(f"    {played.outcome.err[-1500:]!r}")


if __name__ == "__main__":
    sys.exit(main())
