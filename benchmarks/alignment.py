"""Word alignment by every method beside each other, and beside the statistical aligner eflomal where it is installed.

    python benchmarks/alignment.py runs/en-fr --src test.en --tgt test.fr --gold test.gold --dev 100 [--lower]
        [--reverse runs/fr-en] [--text-src F --text-tgt F]

The first lines (--dev) choose the heads, the row and the links of each method; all other numbers are of the rest. --reverse is a model
of the other direction, whose links are joined with the first one's. eflomal may see all of the text, the test's and that of --text-src
and --text-tgt, but no gold link. Gold links are between words that white space separates, in Pharaoh's format.
"""

import argparse
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

from regard.cli.pairs import gold_links, read_sides
from regard.explain.picking import METHODS, Gold, pick_alignment
from regard.metrics.alignment import Joint, Links, alignment_error_rate, flipped, joined, parse_pharaoh
from regard.tasks.load import load_served
from regard.tasks.translate.alignment import AlignmentConfig, AlignmentMethod
from regard.tasks.translate.translator import Translator

Sides = tuple[list[str], list[str]]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    for name in ("--src", "--tgt", "--gold"):
        parser.add_argument(name, required=True)
    parser.add_argument("--dev", type=int, default=100, help="lines that choose")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS, help="zeroing takes minutes")
    parser.add_argument("--lower", action="store_true", help="the text in lower case")
    parser.add_argument("--reverse", type=Path, help="a model from target to source")
    parser.add_argument("--text-src", help="more text for eflomal")
    parser.add_argument("--text-tgt")
    asked = parser.parse_args()

    text = read_sides(asked.src, asked.tgt)
    gold = gold_links(asked.gold, *text)
    more = read_sides(asked.text_src, asked.text_tgt) if asked.text_src else ([], [])
    if asked.lower:
        text, more = (([*map(str.lower, one)], [*map(str.lower, other)]) for one, other in (text, more))
    if asked.dev >= len(gold):
        parser.error(f"--dev {asked.dev}: {len(gold)} lines leave none to judge by")
    judge = Judge(gold, asked.dev, asked.methods)
    print(f"{'method':10} {'choice':12} {'dev AER':>8} {'AER':>7} {'precision':>10} {'recall':>7}  settings")
    forward = judge.ways(load_served(asked.bundle, engine="torch"), *text)
    if asked.reverse:
        print("from target to source:")
        other = Judge([(flipped(sure), flipped(possible)) for sure, possible in gold], asked.dev, asked.methods)
        backward = [flipped(links) for links in other.ways(load_served(asked.reverse, engine="torch"), *text[::-1])]
        judge.joints("joined", forward, backward)
    if find_spec("eflomal") is None:
        print("eflomal is not installed: pip install eflomal")
        return
    for name, links in zip(("forward", "backward"), found := eflomal_links(text, more), strict=True):
        judge.show("eflomal", name, links)
    judge.joints("eflomal", *found)


class Judge:
    """Gold links, of which the first lines choose and the rest judge."""

    def __init__(self, gold: Gold, dev: int, methods: Sequence[AlignmentMethod]) -> None:
        self._gold, self._dev, self._methods = gold, dev, methods

    def ways(self, model: Translator, sources: list[str], targets: list[str]) -> list[Links]:
        """Print a line for each method's mean of heads, best head and best way of all; return the links of the best."""
        dev = slice(self._dev)
        candidates = pick_alignment(model, sources[dev], targets[dev], self._gold[dev], self._methods)
        found = {}
        for method in self._methods:
            ours = {one.choice: one for one in reversed(candidates) if one.settings.method == method}
            for one in (ours["mean"], ours["head"], [*ours.values()][-1]):
                found[one] = links_of(model, sources, targets, one.settings)
                self.show(method, one.choice, found[one], one.settings)
        return found[candidates[0]]

    def joints(self, name: str, forward: list[Links], backward: list[Links]) -> None:
        """A line for each way to join the links of two directions."""
        for rule in get_args(Joint):
            self.show(name, rule, [joined(*both, rule) for both in zip(forward, backward, strict=True)])

    def show(self, method: str, choice: str, found: list[Links], settings: AlignmentConfig | None = None) -> None:
        """One line of the table."""
        changed = {} if settings is None else settings.model_dump(exclude_defaults=True, exclude={"method"})
        sure, possible = zip(*self._gold, strict=True)
        dev, rest = (
            alignment_error_rate(found[part], sure[part], possible[part])
            for part in (slice(self._dev), slice(self._dev, None))
        )
        told = " ".join(f"{name}={value}" for name, value in changed.items())
        numbers = f"{dev.aer:8.4f} {rest.aer:7.4f} {rest.precision:10.4f} {rest.recall:7.4f}"
        print(f"{method:10} {choice:12} {numbers}  {told}", flush=True)


def links_of(model: Translator, sources: list[str], targets: list[str], how: AlignmentConfig) -> list[Links]:
    """The links that a model finds, one set for each pair."""
    return [frozenset(one.links) for one in model.align(sources, targets, settings=how)]


def eflomal_links(text: Sides, more: Sides) -> list[list[Links]]:
    """The links of eflomal from source to target and from target to source, both as (source, target)."""
    import eflomal

    with tempfile.TemporaryDirectory() as directory:
        names = [Path(directory) / name for name in ("forward", "backward")]
        everything = ([*some, *others] for some, others in zip(text, more, strict=True))
        eflomal.Aligner().align(*everything, links_filename_fwd=str(names[0]), links_filename_rev=str(names[1]))
        read = [[parse_pharaoh(line)[0] for line in name.read_text().splitlines()] for name in names]
    return [links[: len(text[0])] for links in read]


if __name__ == "__main__":
    main()
