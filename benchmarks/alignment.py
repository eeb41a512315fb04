"""Word alignment by every method beside each other, and beside the statistical aligner eflomal where it is installed.

    python benchmarks/alignment.py runs/en-fr --src test.en --tgt test.fr --gold test.gold --dev 100 [--text-src F --text-tgt F]

The first lines (--dev) choose the heads, the row and the links of each method; all numbers are of the rest. eflomal may see all of the
text, the test's and that of --text-src and --text-tgt, but no gold link. Gold links between words that white space separates, in
Pharaoh's format.
"""

import argparse
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from regard.cli.pairs import gold_links, sides
from regard.engine.load import load
from regard.explain.picking import Gold, pick_alignment
from regard.metrics.alignment import Links, alignment_error_rate, parse_pharaoh

NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    for name in ("--src", "--tgt", "--gold"):
        parser.add_argument(name, required=True)
    parser.add_argument("--dev", type=int, default=100, help="lines that choose")
    parser.add_argument("--text-src", help="more text for eflomal")
    parser.add_argument("--text-tgt")
    asked = parser.parse_args()

    sources, targets = sides(asked.src, asked.tgt)
    gold = gold_links(asked.gold, sources, targets)
    model = load(asked.bundle, engine="torch")
    dev, test = slice(None, asked.dev), slice(asked.dev, None)
    print(f"{'method':10} {'choice':12} {'dev AER':>8} {'AER':>7} {'precision':>10} {'recall':>7}  settings")
    for one in pick_alignment(model, sources[dev], targets[dev], gold[dev]):
        found = model.align(sources[test], targets[test], settings=one.settings)
        settings = one.settings.model_dump(exclude_defaults=True, exclude={"method"})
        show(one.settings.method, one.choice, [frozenset(a.links) for a in found], gold[test], one.score.aer, settings)
    if find_spec("eflomal") is None:
        print("eflomal is not installed: pip install eflomal")
        return
    more = sides(asked.text_src, asked.text_tgt) if asked.text_src else ([], [])
    forward, backward = eflomal_links([*sources, *more[0]], [*targets, *more[1]])
    for name, links in {
        "forward": forward,
        "backward": backward,
        "both": [one & other for one, other in zip(forward, backward, strict=True)],
        "grow-diag": [grow_diag(one, other) for one, other in zip(forward, backward, strict=True)],
    }.items():
        show("eflomal", name, links[asked.dev : len(sources)], gold[test], None, {})


def show(
    method: str, choice: str, found: Sequence[Links], gold: Gold, dev: float | None, settings: dict[str, object]
) -> None:
    """One line of the table."""
    score = alignment_error_rate(found, [sure for sure, _ in gold], [possible for _, possible in gold])
    told = " ".join(f"{name}={value}" for name, value in settings.items())
    known = "-" if dev is None else f"{dev:.4f}"
    print(f"{method:10} {choice:12} {known:>8} {score.aer:7.4f} {score.precision:10.4f} {score.recall:7.4f}  {told}")


def eflomal_links(sources: list[str], targets: list[str]) -> tuple[list[Links], list[Links]]:
    """What eflomal finds from source to target and from target to source, both as (source, target)."""
    import eflomal

    with tempfile.TemporaryDirectory() as directory:
        names = [Path(directory) / name for name in ("forward", "backward")]
        eflomal.Aligner().align(sources, targets, links_filename_fwd=str(names[0]), links_filename_rev=str(names[1]))
        read = [[parse_pharaoh(line)[0] for line in name.read_text().splitlines()] for name in names]
    return read[0], read[1]


def grow_diag(forward: Links, backward: Links) -> Links:
    """From the links of both on, those of either that touch one and join a word that has none (Koehn et al. 2003)."""
    links, either = set(forward & backward), forward | backward
    while True:
        sources, targets = {source for source, _ in links}, {target for _, target in links}
        beside = {(source + x, target + y) for source, target in links for x, y in NEIGHBOURS}
        new = {link for link in (beside & either) - links if link[0] not in sources or link[1] not in targets}
        if not new:
            return frozenset(links)
        links |= {min(new)}


if __name__ == "__main__":
    main()
