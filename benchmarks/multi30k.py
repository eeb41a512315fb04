"""Recipes on Multi30k: trains what is not trained yet and scores it as the papers do.

    python benchmarks/multi30k.py recipes/multi30k-long.toml --data path/to/multi30k --seeds 1 2 3   # on the validation set
    python benchmarks/multi30k.py recipes/compare-multi30k-*.toml --data path/to/multi30k --test         # and on test2016
    regard compare runs/multi30k/compare-* --tokenize none --by-length                                   # the same runs, as a table

The corpus is that of https://github.com/multi30k/dataset, as it is cloned: path/to/multi30k is the clone.

Every run is `regard train` in a process of its own and can be interrupted: the same command goes on. BLEU is of beam 5 on the
lowercased Moses tokens of the corpus (`--tokenize none`), or, for a recipe on raw text, sacrebleu's default. Choose on the validation set;
read the test set once, at the end. A recipe that names the test set is one that nothing is chosen by: its runs are judged by it.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from multi30k_files import HELP, file_of, folder_of, language_of

REGARD = [sys.executable, "-c", "from regard.cli.main import run; run()"]
FILES = ("src", "tgt", "valid_src", "valid_tgt", "test_src", "test_tgt")


def corpus(recipe: Path, home: Path) -> dict[str, Path]:
    """The files that a recipe names, such as `data/multi30k/tok/train.en`, where they are."""
    named = tomllib.loads(recipe.read_text(encoding="utf-8"))["data"]
    paths = {name: Path(named[name]) for name in FILES if name in named}
    return {
        name: file_of(folder_of(home, path.parent.name), path.stem, path.suffix[1:]) for name, path in paths.items()
    }


def train(recipe: Path, files: dict[str, Path], seed: int, changes: list[str], out: Path) -> dict[str, Any]:
    """Train unless it is done; returns what the run says of itself."""
    if not (out / "metrics.json").exists():
        options = [part for name, path in files.items() for part in (f"--{name.replace('_', '-')}", str(path))]
        sets = [part for change in (f"train.seed={seed}", *changes) for part in ("--set", change)]
        subprocess.run([*REGARD, "train", str(recipe), *options, *sets, "--out", str(out)], check=True)
    metrics: dict[str, Any] = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    return metrics


def score(run: Path, source: Path, reference: Path, tokenize: str, beam: int, alpha: float) -> dict[str, Any]:
    """`regard evaluate`, remembered beside the run."""
    kept = run / f"{reference.name}.{tokenize}.beam{beam}.alpha{alpha:g}.json"
    if not kept.exists():
        options = ["--src", source, "--ref", reference, "--tokenize", tokenize, "--beam", beam, "--alpha", alpha]
        command = [*REGARD, "evaluate", str(run), *map(str, options), "--json"]
        kept.write_text(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout, encoding="utf-8")
    values: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return values


def bleu(run: Path, files: dict[str, Path], which: str, beam: int, alpha: float) -> float:
    """Of the validation or test set that lies beside the recipe's validation files."""
    source, reference = (
        file_of(files[name].parent, which, language_of(files[name])) for name in ("valid_src", "valid_tgt")
    )
    tokenize = "none" if source.parent.name == "tok" else "13a"
    return float(score(run, source, reference, tokenize, beam, alpha)["bleu"])


def shortened(change: str) -> str:
    """`train.weight_decay=0.1` as `weight_decay=0.1`: no two changes of one recipe may share a run."""
    key, _, value = change.partition("=")
    return f"{key.rpartition('.')[2]}={value}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", type=Path, nargs="+", help="such as recipes/multi30k-long.toml")
    parser.add_argument("--data", type=Path, required=True, help=HELP)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--test", action="store_true", help="read test2016 too")
    arguments = parser.parse_args()
    sets = ("val", "test2016") if arguments.test else ("val",)
    found: dict[tuple[str, str], list[float]] = {}
    print(f"| recipe | seed | steps | minutes | parameters | {' | '.join(sets)} |\n|{' --- |' * (5 + len(sets))}")
    for seed in arguments.seeds:
        for recipe in arguments.recipes:
            short = recipe.stem.removeprefix("multi30k-")
            name = "-".join([short, *map(shortened, arguments.changes)])
            run, files = arguments.out / f"{name}-{seed}", corpus(recipe, arguments.data)
            metrics = train(recipe, files, seed, arguments.changes, run)
            row = {which: bleu(run, files, which, arguments.beam, arguments.alpha) for which in sets}
            for which, value in row.items():
                found.setdefault((name, which), []).append(value)
            size = f"{metrics['steps']:,} | {metrics['seconds'] / 60:.1f} | {metrics['parameters']:,}"
            print(f"| {name} | {seed} | {size} | {' | '.join(f'{row[which]:.2f}' for which in sets)} |", flush=True)
    for (name, which), values in found.items():
        spread = f", standard deviation {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        print(f"{name}, {which}: mean {statistics.mean(values):.2f}{spread}")


if __name__ == "__main__":
    main()
