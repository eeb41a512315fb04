"""Four directions in one model of the size of the quick recipe, beside four models of one direction each, on Multi30k.

    python benchmarks/languages.py --data path/to/multi30k/tok --out languages
    python benchmarks/languages.py --data path/to/multi30k/tok --out languages --cells four-sum --seeds 1
    python benchmarks/languages.py --out languages --table

| cell | model | steps |
| --- | --- | --- |
| en-de, de-en, en-fr, fr-en | one direction, `recipes/multi30k-quick.toml` | N |
| four-one | all four directions, `recipes/multi30k-four.toml` | N: the processor budget of one single model |
| four-sum | all four directions | 4 N: the processor budget of the four single models together |

N is `--steps`, 1,000 by default. Every model has the same network, the same batches of 2,048 tokens and a vocabulary of 8,000 pieces. A
budget is in steps, so that a busy machine changes no result; the minutes of processor time of each cell are recorded. Scores: BLEU,
chrF and perplexity of the validation text with beam 5, as the run ends with; then BLEU and chrF of test2016, read once; and of the
models of four directions the same of de-fr and fr-de, which were never trained.

A run goes on where it was cut off, and the result of a cell is one JSON file in `--out`. `--table` trains nothing and prints all cells as
Markdown, the mean over the seeds.
"""

import argparse
import json
import resource
import warnings
from pathlib import Path
from statistics import mean
from typing import Any

import regard
from regard.metrics.translation import bleu, chrf
from regard.settings import read_toml
from regard.tasks.load import load_translator
from regard.tasks.translate.directions import DirectionWarning
from regard.tasks.translate.translator import Translator

RECIPES = Path(__file__).parent.parent / "recipes"
SINGLE = ("en-de", "de-en", "en-fr", "fr-en")
UNSEEN = ("de-fr", "fr-de")
FOUR = {"four-one": 1, "four-sum": 4}
CELLS = (*SINGLE, *FOUR)
BEAM = 5

Values = dict[str, Any]


def settings(cell: str, data: Path, steps: int, seed: int) -> Values:
    """The settings of a cell: those of its recipe, with the files, the steps and the seed."""
    if cell in FOUR:
        values = read_toml(RECIPES / "multi30k-four.toml")
        for row in values["data"]["corpora"]:
            row |= {key: str(data / Path(row[key]).name) for key in ("src", "tgt", "valid_src", "valid_tgt")}
        steps *= FOUR[cell]
    else:
        values = read_toml(RECIPES / "multi30k-quick.toml")
        source, target = cell.split("-")
        sides = {"src": f"train.{source}", "tgt": f"train.{target}"}
        sides |= {"valid_src": f"val.{source}", "valid_tgt": f"val.{target}"}
        values["data"] = {key: str(data / name) for key, name in sides.items()}
    every = {"validate_every": max(1, steps // 4), "save_every": max(1, min(100, steps // 8))}
    values["train"] |= {"max_steps": steps, "seed": seed, "samples": 0, **every}
    return values


def processor_seconds() -> float:
    """The processor time of this process and of those that it has waited for."""
    return sum(
        own.ru_utime + own.ru_stime for own in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def trained(values: Values, run: Path) -> tuple[Values, float]:
    """Train a run, or go on with it: its metrics, and the minutes of processor time of all sessions together."""
    record, began = run.with_name(f"{run.name}.processor.json"), processor_seconds()
    before = json.loads(record.read_text("utf-8")) if record.exists() else 0.0
    try:
        result = regard.train(values, run, progress=True)
    finally:
        run.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(before + processor_seconds() - began), encoding="utf-8")
    if result.metrics is None:
        raise SystemExit("interrupted: the same command goes on with it")
    return result.metrics, json.loads(record.read_text("utf-8")) / 60


def scores_on(model: Translator, data: Path, part: str, direction: str) -> Values:
    """BLEU and chrF of a part of the corpus in a direction."""
    source, target = direction.split("-")
    sources, references = ((data / f"{part}.{side}").read_text("utf-8").splitlines() for side in (source, target))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DirectionWarning)  # of de-fr and fr-de, which are looked at for that
        directed = model.towards(target, source)
    texts = [one.text for one in directed.translate(sources, beam=BEAM, scores=False)]
    return {"bleu": bleu(texts, references).value, "chrf": chrf(texts, references).value}


def cell(name: str, data: Path, out: Path, steps: int, seed: int) -> Values:
    """Train and score one cell."""
    values = settings(name, data, steps, seed)
    run = out / "runs" / f"{name}-{steps}-{seed}"
    metrics, minutes = trained(values, run)
    own = metrics.get("directions") or {name: metrics}
    valid = {direction: {key: own[direction][key] for key in ("bleu", "chrf", "perplexity")} for direction in own}
    model = load_translator(run)
    test = {direction: scores_on(model, data, "test2016", direction) for direction in own}
    unseen = UNSEEN if name in FOUR else ()
    return {
        "cell": name,
        "seed": seed,
        "steps": values["train"]["max_steps"],
        "single_steps": steps,
        "parameters": metrics["parameters"],
        "processor_minutes": minutes,
        "validation": valid | {direction: scores_on(model, data, "val", direction) for direction in unseen},
        "test2016": test | {direction: scores_on(model, data, "test2016", direction) for direction in unseen},
    }


def table(cells: list[Values]) -> str:
    """Markdown: a row a direction, the BLEU of validation and of test2016 of the single model and of those of four."""
    lines = []
    for steps in sorted({row["single_steps"] for row in cells}):
        own = [row for row in cells if row["single_steps"] == steps]
        lines += [
            "",
            f"N = {steps:,} steps, BLEU of validation / test2016, {len({row['seed'] for row in own})} seeds:",
            "",
            f"| direction | single | {' | '.join(FOUR)} |",
            f"| --- |{' --- |' * (1 + len(FOUR))}",
        ]
        for direction in (*SINGLE, *UNSEEN):
            columns = [_bleu([row for row in own if row["cell"] == name], direction) for name in (direction, *FOUR)]
            lines.append(f"| {direction} | {' | '.join(columns)} |")
        groups = (SINGLE, *((name,) for name in FOUR))
        lines.append(f"| mean of the four | {' | '.join(_mean(own, group) for group in groups)} |")
        lines.append(f"| processor minutes | {' | '.join(_minutes(own, group) for group in groups)} |")
    return "\n".join(lines).lstrip("\n")


def _bleu(rows: list[Values], direction: str) -> str:
    """The mean over seeds of a direction's scores; a dash where there are none."""
    if not rows:
        return "-"
    return " / ".join(
        f"{mean(row[part][direction]['bleu'] for row in rows):.2f}" for part in ("validation", "test2016")
    )


def _mean(rows: list[Values], group: tuple[str, ...]) -> str:
    """The mean over the four trained directions, where all of them are there."""
    own = [row for row in rows if row["cell"] in group]
    parts = []
    for part in ("validation", "test2016"):
        means = [
            mean(values)
            for direction in SINGLE
            if (values := [row[part][direction]["bleu"] for row in own if direction in row[part]])
        ]
        if len(means) < len(SINGLE):
            return "-"
        parts.append(f"{mean(means):.2f}")
    return " / ".join(parts)


def _minutes(rows: list[Values], group: tuple[str, ...]) -> str:
    """The processor minutes of a group of cells together, the mean over seeds."""
    found = [[row["processor_minutes"] for row in rows if row["cell"] == name] for name in group]
    return f"{sum(map(mean, found)):.1f}" if all(found) else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a directory with one JSON file a cell, and the runs")
    parser.add_argument("--data", type=Path, help="the directory of train.en, train.de, train.fr, val.* and test2016.*")
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--steps", type=int, default=1000, help="of each single model")
    parser.add_argument("--table", action="store_true", help="train nothing; print the cells of --out")
    arguments = parser.parse_args()
    if arguments.table:
        print(table([json.loads(path.read_text("utf-8")) for path in sorted(arguments.out.glob("*.json"))]))
        return
    if arguments.data is None:
        parser.error("--data: give the directory of Multi30k's tokenised files")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        for name in arguments.cells:
            path = arguments.out / f"{name}-{arguments.steps}-{seed}.json"
            if path.exists():
                continue
            result = cell(name, arguments.data, arguments.out, arguments.steps, seed)
            path.write_text(json.dumps(result), encoding="utf-8")
            scores = ", ".join(f"{direction} {own['bleu']:.2f}" for direction, own in result["validation"].items())
            print(f"{name}, seed {seed}: {scores}", flush=True)


if __name__ == "__main__":
    main()
