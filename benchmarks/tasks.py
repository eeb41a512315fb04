"""SCAN, pronunciation, code and parsing: trains the recipes of docs/tasks/ and scores them.

    python benchmarks/tasks.py --data path/to/data --out tasks --cells scan-simple brackets
    python benchmarks/tasks.py --data path/to/data --out tasks --cells scan-simple brackets --test
    python benchmarks/tasks.py --out tasks --table

A cell is one run of `regard.train` with a recipe, bounded by its steps. It goes on where it was cut off. A finished cell is a JSON file
in `--out`/cells, and processor minutes are those of this process and its workers (in a run that was resumed, of all its parts). Without
`--test` only validation text is read. With it, the test set of a finished cell is scored, once: its scores are a further JSON file.
`--data` holds the folders scan, cmudict and django. `--scale 0.01` is for a trial: so many times as many steps,
with everything in `--out`/scale-0.01, so that a trial is never printed as the result.
"""

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cells import Values, evaluated, home_of, kept, stored, trained

import regard
from regard.data.bracketed import grammar_files
from regard.data.convert import convert_corpus
from regard.data.formats import PairFiles
from regard.data.readers import read_parallel
from regard.data.split import Order, split_corpus
from regard.data.task_formats import take_corpus
from regard.files import whole_directory
from regard.metrics.translation import exact_match
from regard.settings import merged, read_toml

RECIPES = Path(__file__).resolve().parent.parent / "recipes"


@dataclass(frozen=True)
class Corpora:
    """Where the corpora are; they are prepared in the working directory, below data/."""

    source: Path

    def split(
        self, kind: str, names: list[str], out: str, *, valid: int, test: int = 0, order: Order = "random"
    ) -> None:
        if not Path(out).exists():
            files, read, _ = take_corpus([*(str(self.source / name) for name in names), out], kind, "IN OUT")
            split_corpus(files, read, Path(out), valid=valid, test=test, order=order)

    def test_pairs(self, kind: str, name: str, stem: str) -> None:
        if not Path(f"{stem}.src").exists():
            files, read, _ = take_corpus([str(self.source / name), stem], kind, "IN OUT")
            convert_corpus(files, PairFiles("moses", (f"{stem}.src", f"{stem}.tgt")), read=read)

    def scan_simple(self) -> None:
        self.split("scan", ["scan/tasks_train_simple.txt.gz"], "data/scan-simple", valid=500)
        self.test_pairs("scan", "scan/tasks_test_simple.txt.gz", "data/scan-simple-test")

    def scan_length(self) -> None:
        self.split("scan", ["scan/tasks_train_length.txt.gz"], "data/scan-length", valid=1104, order="length")
        self.test_pairs("scan", "scan/tasks_test_length.txt.gz", "data/scan-length-test")

    def cmudict(self) -> None:
        self.split("cmudict-unstressed", ["cmudict/cmudict.dict.gz"], "data/cmudict", valid=2670, test=12000)

    def django(self) -> None:
        names = ["django/all.anno.gz", "django/all.code.gz"]
        self.split("code", names, "data/django", valid=1000, test=1805, order="given")

    def brackets(self) -> None:
        out = Path("data/brackets")
        if not out.exists():
            with whole_directory(out) as staging:
                for name, sentences in grammar_files(20_000, 1_000, 1_000, 500, 1).items():
                    rows = [f"{one.sentence}\t{one.brackets}\t{one.kind}\n" for one in sentences]
                    (staging / name).write_text("".join(rows), encoding="utf-8")
        for part in ("valid", "test", "gen"):
            if not Path(f"data/brackets-{part}.src").exists():
                sides = (f"data/brackets-{part}.src", f"data/brackets-{part}.tgt")
                convert_corpus(PairFiles("tsv", (str(out / f"{part}.tsv"),)), PairFiles("moses", sides))


@dataclass(frozen=True)
class Cell:
    """A recipe, its changes, its data and its test sets."""

    recipe: str
    prepare: Callable[[Corpora], None]
    valid: str
    """The stem of the validation text."""
    tests: tuple[str, ...]
    """The stems of the test sets."""
    metrics: tuple[str, ...] = ("exact_match",)
    values: Values = field(default_factory=dict)
    flags: Values = field(default_factory=dict)
    known_length: bool = False
    """Whether outputs of the length of the reference are scored, too."""


SINUSOIDAL, ROTARY = ({"model": {"positions": name}} for name in ("sinusoidal", "rotary"))
CELLS: dict[str, Cell] = {
    "scan-simple": Cell("scan-simple", Corpora.scan_simple, "data/scan-simple/valid", ("data/scan-simple-test",)),
    **{
        name: Cell(
            "scan-length",
            Corpora.scan_length,
            "data/scan-length/valid",
            ("data/scan-length-test",),
            values=values,
            flags={"max_length": 60},
            known_length=True,
        )
        for name, values in (
            ("scan-length", {}),
            ("scan-length-sinusoidal", SINUSOIDAL),
            ("scan-length-rotary", ROTARY),
        )
    },
    "brackets": Cell(
        "brackets",
        Corpora.brackets,
        "data/brackets-valid",
        ("data/brackets-test", "data/brackets-gen"),
        ("exact_match", "valid_brackets"),
        flags={"by_type": True},
    ),
    "django": Cell(
        "django",
        Corpora.django,
        "data/django/valid",
        ("data/django/test",),
        ("exact_match", "bleu"),
        flags={"tokenize": "none"},
    ),
    "django-no-copy": Cell(
        "django",
        Corpora.django,
        "data/django/valid",
        ("data/django/test",),
        ("exact_match", "bleu"),
        values={"model": {"copy": False}},
        flags={"tokenize": "none"},
    ),
    "cmudict": Cell(
        "cmudict",
        Corpora.cmudict,
        "data/cmudict/valid",
        ("data/cmudict/test",),
        ("wer", "per"),
        flags={"several": True},
    ),
}


def played(name: str, cell: Cell, corpora: Corpora, scale: float) -> Values:
    """Train a cell and score it on its validation text."""
    cell.prepare(corpora)
    values = merged(read_toml(RECIPES / f"{cell.recipe}.toml"), cell.values)
    if scale != 1.0:
        steps = max(4, round(values["train"]["max_steps"] * scale))
        values = merged(
            values, {"train": {"max_steps": steps, "validate_every": steps, "save_every": max(1, steps // 4)}}
        )
    run = Path("runs") / name
    began = time.monotonic()
    own = trained(values, run)
    metrics, clock = own["metrics"], (time.monotonic() - began) / 60
    print(f"{name}: trained in {own['minutes']:.1f} processor minutes, {clock:.1f} by the clock", flush=True)
    return {
        "minutes": own["minutes"],
        "steps": metrics["steps"],
        "parameters": metrics["parameters"],
        "valid": scored(cell, run, cell.valid),
    }


def scored(cell: Cell, run: Path, stem: str) -> Values:
    """The scores of a run on one set."""
    flags = dict(cell.flags)
    refs = [f"{stem}.tgt"]
    if flags.pop("several", False):
        refs += sorted(str(path) for path in Path(stem).parent.glob(f"{Path(stem).name}.tgt[0-9]*"))
    if flags.pop("by_type", False):
        flags["groups"] = f"{stem.replace('-', '/', 1)}.tsv"
    given = {
        **flags,
        "src": f"{stem}.src",
        "ref": refs[0],
        "refs": refs,
        "metric": list(cell.metrics),
        "resamples": 1000,
    }
    found = evaluated("translate", run, given)
    values: Values = {name: found["scores"][name] for name in cell.metrics}
    if "groups" in found:
        values["groups"] = found["groups"]
    if cell.known_length:
        values["known_length"] = exact_at_known_length(regard.load(run), f"{stem}.src", refs[0])
    return values


def exact_at_known_length(served: Any, source: str, reference: str) -> float:
    """Exact match where every output is made as long as its reference: no end mark has to be foreseen."""
    sources, references = read_parallel([source, reference])
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, line in enumerate(references):
        by_length[len(line.split())].append(place)
    outputs = [""] * len(sources)
    for length, places in by_length.items():
        found = served.translate([sources[place] for place in places], beam=1, min_length=length, max_length=length)
        for place, translation in zip(places, found, strict=True):
            outputs[place] = translation.text
    return exact_match(outputs, references)


def table(out: Path) -> str:
    """Markdown: a row a cell."""
    lines = ["| cell | steps | processor minutes | set | scores |", "| --- | --- | --- | --- | --- |"]
    for path in sorted((out / "cells").glob("*.json")):
        values = stored(path)
        if "minutes" in values:
            lines.append(
                f"| {path.stem} | {values['steps']} | {values['minutes']:.1f} | validation | {_shown(values['valid'])} |"
            )
        else:
            lines += [f"| {path.stem} | | | {stem} | {_shown(scores)} |" for stem, scores in values.items()]
    return "\n".join(lines)


def _shown(scores: Values) -> str:
    parts = []
    for name, score in scores.items():
        if name == "groups":
            parts += [
                f"{group}: {own.get('exact_match', 0.0):.3f}, valid {own.get('valid_brackets', 0.0):.3f}"
                for group, own in score.items()
            ]
        elif isinstance(score, float):
            parts.append(f"{name} {score:.4f}")
        else:
            parts.append(f"{name} {score['value']:.4f} ({score['interval'][0]:.4f} to {score['interval'][1]:.4f})")
    return "; ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a directory for the corpora, the cells and the runs")
    parser.add_argument("--data", type=Path, help="the folder with scan, cmudict and django")
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS), metavar="CELL", help=", ".join(CELLS))
    parser.add_argument("--test", action="store_true", help="score the test sets of the cells, once")
    parser.add_argument("--scale", type=float, default=1.0, help="so many times as many steps, for a trial")
    parser.add_argument("--table", action="store_true", help="train nothing; print the cells of --out")
    arguments = parser.parse_args()
    out = home_of(arguments.out.resolve(), arguments.scale)
    if arguments.table:
        print(table(out))
        return
    if arguments.data is None:
        parser.error("--data DIR is needed, or --table")
    corpora = Corpora(arguments.data.resolve())
    out.mkdir(parents=True, exist_ok=True)
    os.chdir(out)  # recipes name their corpora below data/
    for name in arguments.cells:
        cell = CELLS[name]
        values = kept(Path("cells") / f"{name}.json", lambda: played(name, cell, corpora, arguments.scale))  # noqa: B023
        print(f"{name}: validation {_shown(values['valid'])}", flush=True)
        if arguments.test:
            scores = kept(
                Path("cells") / f"{name}-test.json",
                lambda: {stem: scored(cell, Path("runs") / name, stem) for stem in cell.tests},  # noqa: B023
            )
            for stem, own in scores.items():
                print(f"{name}: {stem} {_shown(own)}", flush=True)


if __name__ == "__main__":
    main()
