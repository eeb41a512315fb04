"""`regard improve` on Multi30k, its own two directions, beside one run of the same recipe that trains for as many minutes.

    python benchmarks/improve.py --data path/to/multi30k            # on the validation set
    python benchmarks/improve.py --data path/to/multi30k --test     # and on test2016, once, at the end

Three runs of one seed: the quick recipe; `regard improve` of it; and the quick recipe with as many minutes as both of these took together,
every stage, translation and comparison included. BLEU is of beam 5 on the lowercased Moses tokens (`--tokenize none`), the significance
is of the paired bootstrap (Koehn 2004). Perplexities are per token of each run's own vocabulary; improve.json has comparable ones. Choose
on the validation set; nothing here is chosen on the test set. Every part can be interrupted: the same command goes on.
"""

import argparse
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multi30k import REGARD, corpus, score, train
from multi30k_files import HELP, file_of, language_of

RECIPE = Path("recipes/multi30k-quick.toml")
SYSTEMS = ("quick", "improved", "longer")
TRAINED = "train.minutes={minutes:.2f}"


def improved(run: Path, out: Path, options: Sequence[str]) -> dict[str, Any]:
    """improve.json of a run that `regard improve` has finished."""
    command = [*REGARD, "improve", str(run), "--out", str(out), "--tokenize", "none", *options]
    subprocess.run(command, check=True)
    record: dict[str, Any] = json.loads((out / "improve.json").read_text(encoding="utf-8"))
    return record


def significance(runs: dict[str, Path], source: Path, reference: Path, home: Path) -> str:
    """`regard evaluate --hyp` of the translations of all runs: differences from the first, with intervals and p."""
    files = []
    for name, run in runs.items():
        made = home / f"{reference.name}.{name}"
        if not made.exists():
            subprocess.run([*REGARD, "translate", str(run), "-i", str(source), "-o", str(made)], check=True)
        files.append(made)
    hyps = [part for file in files for part in ("--hyp", str(file))]
    command = [*REGARD, "evaluate", *hyps, "--ref", str(reference), "--tokenize", "none", "--metric", "bleu"]
    return subprocess.run([*command, "--metric", "chrf"], check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Print a table of three rows, and the significance of both differences from the longer run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help=HELP)
    parser.add_argument("--recipe", type=Path, default=RECIPE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE", help="of all runs")
    parser.add_argument(
        "--improve", dest="options", default="", help="options of `regard improve`, such as '--factor 3'"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/improve"))
    parser.add_argument("--test", action="store_true", help="read test2016 too")
    asked = parser.parse_args()

    files = corpus(asked.recipe, asked.data)
    runs = {name: asked.out / f"{name}-{asked.seed}" for name in SYSTEMS}
    quick = train(asked.recipe, files, asked.seed, asked.changes, runs["quick"])
    record = improved(runs["quick"], asked.out / f"stages-{asked.seed}", asked.options.split())
    runs["improved"] = asked.out / f"stages-{asked.seed}" / record["model"]
    minutes = quick["seconds"] / 60 + record["total_minutes"]
    limit = [TRAINED.format(minutes=minutes), "train.max_steps=1000000"]
    train(asked.recipe, files, asked.seed, [*asked.changes, *limit], runs["longer"])

    took = {"quick": quick["seconds"] / 60, "improved": minutes, "longer": minutes}
    print("| | minutes in all | steps | parameters | set | BLEU | chrF | perplexity |\n|" + " --- |" * 8)
    sets = ("val", "test2016") if asked.test else ("val",)
    for which in sets:
        sides = [file_of(files[name].parent, which, language_of(files[name])) for name in ("valid_src", "valid_tgt")]
        for name, run in runs.items():
            metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
            scores = score(run, *sides, "none", 5, 1.0)
            size = f"{took[name]:.1f} | {metrics['steps']:,} | {metrics['parameters']:,}"
            values = f"{scores['bleu']:.2f} | {scores['chrf']:.2f} | {scores['perplexity']:.3f}"
            print(f"| {name} | {size} | {which} | {values} |", flush=True)
        against = {name: runs[name] for name in ("longer", "improved", "quick")}
        print(significance(against, *sides, asked.out), flush=True)


if __name__ == "__main__":
    main()
