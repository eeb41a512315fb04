"""The Multi30k recipes: trains what is not trained yet and scores it as the papers do.

    python benchmarks/multi30k.py quick --data path/to/multi30k --seeds 1 2 3           # on the validation set
    python benchmarks/multi30k.py quick --data path/to/multi30k --seeds 1 2 3 --test    # and on test2016

A recipe is recipes/multi30k-NAME.toml. Every run is `regard train` in a process of its own and can be interrupted: the same command goes
on. BLEU is of beam 5 on the lowercased Moses tokens of the corpus (`--tokenize none`), or, for a recipe on raw text, sacrebleu's default.
Choose on the validation set; read the test set once, at the end.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
REGARD = [sys.executable, "-c", "from regard.cli.main import run; run()"]
HOME = "data/multi30k"  # where the recipes look for the corpus


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", help="NAME of recipes/multi30k-NAME.toml")
    parser.add_argument("--data", type=Path, required=True, help="the corpus, with its folders tok and raw")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--test", action="store_true", help="read test2016 too")
    arguments = parser.parse_args()
    recipe = ROOT / "recipes" / f"multi30k-{arguments.recipe}.toml"
    settings = tomllib.loads(recipe.read_text(encoding="utf-8"))["data"]
    names = ("src", "tgt", "valid_src", "valid_tgt")
    files = {name: Path(settings[name].replace(HOME, str(arguments.data))) for name in names}
    folder, source, target = files["valid_src"].parent, files["valid_src"].suffix, files["valid_tgt"].suffix
    tokenize = "none" if folder.name == "tok" else "13a"
    sets = ("val", "test2016") if arguments.test else ("val",)
    name = "-".join([arguments.recipe, *(change.rpartition(".")[2] for change in arguments.changes)])
    found: dict[str, list[float]] = {which: [] for which in sets}
    print(f"| seed | steps | minutes | parameters | {' | '.join(sets)} |\n|{' --- |' * (4 + len(sets))}")
    for seed in arguments.seeds:
        run = arguments.out / f"{name}-{seed}"
        metrics = train(recipe, files, seed, arguments.changes, run)
        for which in sets:
            values = score(
                run,
                folder / f"{which}{source}",
                folder / f"{which}{target}",
                tokenize,
                arguments.beam,
                arguments.alpha,
            )
            found[which].append(values["bleu"])
        scores = " | ".join(f"{found[which][-1]:.2f}" for which in sets)
        size = f"{metrics['steps']:,} | {metrics['seconds'] / 60:.1f} | {metrics['parameters']:,}"
        print(f"| {seed} | {size} | {scores} |", flush=True)
    for which, values in found.items():
        spread = f", standard deviation {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        print(f"{which}: mean {statistics.mean(values):.2f}{spread}")


if __name__ == "__main__":
    main()
