"""Experiments made of cells: runs of `regard.train` whose results are files, chosen on validation data, tested once.

`transfer.py` and `text_tasks.py` are tables of such experiments; `tasks.py` and `replies.py` share the files. A cell is one run, bounded
by steps, so that a busy machine changes its time and not its score. For each variant the learning rate is chosen on validation data
with the first seed; the test set is scored once, for the chosen rate, with each seed. A run goes on where it was cut off, a finished
cell is one JSON file in `--out`, and processor minutes are those of this process and its workers. `--scale 0.01` is for a trial: so many
times as many steps, with cells and runs in `--out`/scale-0.01, so that a trial is never printed as the result.
"""

import argparse
import json
import resource
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import regard
from regard.tasks.forgetting import FLAGS
from regard.tasks.table import TASKS

Values = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """One row of a table: the settings of its runs, the rates to choose from, its seeds and its test set."""

    name: str
    values: Values
    rates: tuple[float | None, ...]
    """None: a counted model, which has none."""
    test: Values
    """The flags of `regard evaluate`."""
    score: str
    """The score by which the rate is chosen, in metrics.json."""
    seeds: tuple[int, ...] = (1,)
    base: tuple[str, Values] | None = None
    """The name and the settings of the run that it starts from."""
    valid: Values | None = None
    """The flags of `regard evaluate` for validation, where the score is not in metrics.json."""

    @property
    def best(self) -> Callable[..., float | None]:
        """`min` of scores that are better when lower."""
        return min if self.score.startswith("perplexity") else max


@dataclass(frozen=True)
class Place:
    """Where the corpora are, where cells are kept, and how many steps are made."""

    data: Path
    out: Path
    scale: float = 1.0
    made: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "made", self.out / "texts")
        self.made.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, lines: Iterable[str]) -> str:
        """A text that is made of the corpora."""
        path = self.made / name
        if not path.exists():
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(path)

    def train(self, steps: int, **more: Any) -> Values:
        """The table `train` of a run of so many steps."""
        count = max(4, round(steps * self.scale))
        part = max(1, count // 10)
        return {"max_steps": count, "validate_every": part, "save_every": part, "keep": 1, "samples": 0, **more}


Experiments = Mapping[str, Callable[[Place], list[Variant]]]


def home_of(out: Path, scale: float) -> Path:
    """Where the cells and runs are: those of a trial in a folder of their own."""
    return out if scale == 1.0 else out / f"scale-{scale:g}"


def lines_of(path: Path) -> list[str]:
    """The lines of a text."""
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def processor_minutes() -> float:
    """The time that the processors have worked for this process and its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) / 60.0


def kept(path: Path, make: Callable[[], Values]) -> Values:
    """The JSON object in a file; made where there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(make()), encoding="utf-8")
    return stored(path)


def stored(path: Path) -> Values:
    """The JSON object in a file."""
    values: Values = json.loads(path.read_text(encoding="utf-8"))
    return values


def trained(values: Values, run: Path) -> Values:
    """The metrics of a run, and its processor minutes: those of an interrupted part are kept beside the run."""
    spent = run.with_name(f"{run.name}.minutes")
    before = float(spent.read_text(encoding="utf-8")) if spent.exists() else 0.0
    began = processor_minutes()
    result = regard.train(values, run, progress=True)
    minutes = before + processor_minutes() - began
    if result.metrics is None:
        spent.write_text(str(minutes), encoding="utf-8")
        raise SystemExit(f"{run}: interrupted; the same command goes on with it")
    return {"metrics": result.metrics, "minutes": minutes}


def evaluated(task_name: str, run: Path, flags: Values) -> Values:
    """The metrics of `regard evaluate` for a run with these flags."""
    task, served = TASKS[task_name], regard.load(run)
    return task.evaluate(served, task.test_set(served, {**FLAGS, **flags})).metrics


def parallel(home: Path, part: str, source: str, target: str, end: str = "") -> Values:
    """The flags of `regard evaluate` for a part of a parallel corpus."""
    src, ref = (str(home / f"{part}.{side}{end}") for side in (source, target))
    return {"src": src, "ref": ref, "refs": [ref]}


def slug(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")


def run_of(experiment: str, variant: Variant, rate: float | None, seed: int, place: Place) -> Path:
    """The directory of a run."""
    return place.out / "runs" / f"{experiment}-{slug(variant.name)}-{_rate(rate)}-{seed}"


def play(experiment: str, variant: Variant, place: Place) -> None:
    """All cells of a variant: its rates with the first seed, then the best of them with every seed, and the test."""
    home = place.out / "cells" / experiment / slug(variant.name)

    def at(rate: float | None, seed: int) -> Values:
        return kept(home / f"{_rate(rate)}-{seed}.json", lambda: _cell(experiment, variant, rate, seed, place))

    best = variant.best(variant.rates, key=lambda rate: at(rate, variant.seeds[0])["score"])
    for seed in variant.seeds:
        at(best, seed)
        run = run_of(experiment, variant, best, seed, place)
        result = kept(home / f"test-{_rate(best)}-{seed}.json", lambda run=run: _scores(variant, run, variant.test))  # type: ignore[misc]
        print(
            f"{experiment} {variant.name}, rate {_rate(best)}, seed {seed}: test {result[variant.score]:.4g}",
            flush=True,
        )
    chosen = {"variant": variant.name, "rate": best, "score": variant.score}
    (home / "chosen.json").write_text(json.dumps(chosen), encoding="utf-8")


def _cell(experiment: str, variant: Variant, rate: float | None, seed: int, place: Place) -> Values:
    """One run of a variant."""
    train = {**variant.values.get("train", {}), "seed": seed} | ({} if rate is None else {"learning_rate": rate})
    if variant.base is not None:
        name, values = variant.base
        kept(place.out / "bases" / f"{name}.json", lambda: trained(values, place.out / "runs" / name))
        train["start"] = str(place.out / "runs" / name)
    run = run_of(experiment, variant, rate, seed, place)
    own = trained({**variant.values, "train": train}, run)
    judged = own["metrics"] if variant.valid is None else _scores(variant, run, variant.valid)
    return {"rate": rate, "seed": seed, "score": judged[variant.score], **own}


def _scores(variant: Variant, run: Path, flags: Values) -> Values:
    metrics = evaluated(variant.values.get("task", "translate"), run, flags)
    return {name: value for name, value in metrics.items() if isinstance(value, int | float)}


def table(out: Path) -> str:
    """Markdown: a table an experiment, a row a variant, with the mean and the spread over the seeds."""
    heads = "| variant | rate | score | validation | test | trained weights | old test before -> after | processor minutes |"
    lines: list[str] = []
    for home in sorted((out / "cells").iterdir()):
        rows = [_row(chosen) for chosen in sorted(home.glob("*/chosen.json"))]
        lines += ["", f"{home.name}:", "", heads, "| --- " * heads.count(" | ") + "| --- |", *rows]
    bases = [(path.stem, stored(path)) for path in sorted((out / "bases").glob("*.json"))]
    lines += ["", *(f"base {name}: {base['minutes']:.1f} processor minutes" for name, base in bases)]
    return "\n".join(lines)


def _row(path: Path) -> str:
    chosen, home = stored(path), path.parent
    cells = [stored(one) for one in sorted(home.glob("*-[0-9].json")) if "test" not in one.name]
    best = [one for one in cells if one["rate"] == chosen["rate"]]
    tests = [stored(one)[chosen["score"]] for one in sorted(home.glob(f"test-{_rate(chosen['rate'])}-*.json"))]
    metrics = [one["metrics"] for one in best]
    whole = metrics[0]["parameters"]
    share = f"{100 * metrics[0].get('trained_parameters', whole) / whole:.2f} % of {whole:,}"
    old = [one["forgetting"] for one in metrics if "forgetting" in one]
    before, after = ([one[when][chosen["score"]] for one in old] for when in ("before", "after"))
    forgot = f"{statistics.mean(before):.2f} -> {_spread(after)}" if old else "-"
    return (
        f"| {chosen['variant']} | {_rate(chosen['rate'])} | {chosen['score']} | {_spread([one['score'] for one in best])} | "
        f"{_spread(tests)} | {share} | {forgot} | {sum(one['minutes'] for one in cells):.1f} |"
    )


def _rate(rate: float | None) -> str:
    """The rate in names; of a counted model, which has none, `counted`."""
    return "counted" if rate is None else f"{rate:g}"


def _spread(values: list[float]) -> str:
    """The mean, and of several the smallest and largest value."""
    digits = 2 if max(values) > 1 else 4
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def command(description: str | None, experiments: Experiments, corpora: str) -> None:
    """The command line of a table of experiments."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a directory for the cells and the runs")
    parser.add_argument("--data", type=Path, help=f"the folder with {corpora}")
    parser.add_argument("--experiment", choices=experiments)
    parser.add_argument("--variants", nargs="+", help="only these; by default all of the experiment")
    parser.add_argument("--scale", type=float, default=1.0, help="so many times as many steps, for a trial")
    parser.add_argument("--table", action="store_true", help="train nothing; print the cells of --out")
    arguments = parser.parse_args()
    out = home_of(arguments.out, arguments.scale)
    if arguments.table:
        print(table(out))
        return
    if arguments.data is None or arguments.experiment is None:
        parser.error("--data DIR and --experiment NAME are needed, or --table")
    place = Place(arguments.data, out, arguments.scale)
    variants = experiments[arguments.experiment](place)
    unknown = set(arguments.variants or ()) - {variant.name for variant in variants}
    if unknown:
        parser.error(f"--variants {', '.join(sorted(unknown))}: there is {'; '.join(one.name for one in variants)}")
    for variant in variants:
        if arguments.variants is None or variant.name in arguments.variants:
            play(arguments.experiment, variant, place)
