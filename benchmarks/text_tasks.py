"""Summaries, replies, answers and labels: the runs behind docs/tasks/, cell by cell.

    python benchmarks/text_tasks.py --out text-tasks --data path/to/data --experiment pooling
    python benchmarks/text_tasks.py --out text-tasks --data path/to/data --experiment answering
    python benchmarks/text_tasks.py --out text-tasks --data path/to/data --experiment dialogue
    python benchmarks/text_tasks.py --out text-tasks --data path/to/data --experiment summaries
    python benchmarks/text_tasks.py --out text-tasks --table

A cell is one run of `regard.train`, bounded by steps, so that a busy machine changes its time and not its score. For each variant the
learning rate is chosen on validation data with the first seed; the test set is scored once, for the chosen rate, with each seed. A run
goes on where it was cut off, a finished cell is one JSON file in `--out`, and processor minutes are those of this process and its workers.
`--data` holds the folders classify, dialogue, scitldr and lm; answering generates its passages. `--scale 0.01` is for a trial: so many
times as many steps, with cells and runs in `--out`/scale-0.01, so that a trial is never printed as the result.

| experiment | variants |
| --- | --- |
| pooling | an LSTM on TREC's coarse labels with the pooling final, mean, max and attention; three seeds |
| answering | questions about generated passages: a bag of words, an LSTM with attention, the same with a copy head |
| dialogue | replies to turns: a bigram model of replies, a Transformer that reads the turn; perplexity per word |
| summaries | SciTLDR: lead-1, the most central sentence, pointer-generator from scratch, and after denoising |
"""

import argparse
import json
import random
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transfer import home_of, kept, lines_of, slug, trained

import regard
from regard.data.passages import PARTS, passage_files
from regard.data.readers import read_pairs
from regard.data.summaries import abstracts, central, lead, oracle, reference
from regard.metrics.systems import score_systems
from regard.tasks.forgetting import FLAGS
from regard.tasks.table import TASKS

Values = dict[str, Any]
QUESTIONS, JUDGED = 60_000, 1_000
"""Generated questions to learn from, and of each part that judges."""
HELD_OUT = 500
"""Training questions of TREC that validate, drawn with seed 1."""


@dataclass(frozen=True)
class Variant:
    """One row of a table: the settings of its runs, the rates to choose from, its seeds and its test set."""

    name: str
    values: Values
    rates: tuple[float | None, ...]
    test: Values
    """The flags of `regard evaluate`."""
    score: str
    """The score by which the rate is chosen, in metrics.json."""
    seeds: tuple[int, ...] = (1,)
    base: tuple[str, Values] | None = None
    """The name and the settings of the run that it starts from."""
    valid: Values | None = None
    """The same for validation, where the score is not in metrics.json."""


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


def pooling(place: Place) -> list[Variant]:
    parts = {}
    for part in ("train", "test"):
        rows = [line.partition(" ") for line in lines_of(place.data / "classify" / f"trec.{part}.txt")]
        parts[part] = [f"{text}\t{label.partition(':')[0]}" for label, _, text in rows]
    random.Random(1).shuffle(parts["train"])
    parts["valid"], parts["train"] = parts["train"][:HELD_OUT], parts["train"][HELD_OUT:]
    files = {part: place.write(f"trec.{part}.tsv", rows) for part, rows in parts.items()}
    data = {"labelled": files["train"], "valid_labelled": files["valid"]}
    text = {"kind": "word", "vocabulary": 10000, "lowercase": True}
    model = {"kind": "recurrent", "layers": 1, "width": 256, "embedding": 128, "dropout": 0.4}
    return [
        Variant(
            name,
            {
                "task": "classify",
                "data": data,
                "text": text,
                "model": {**model, "pooling": name},
                "train": place.train(800, batch_tokens=768, optimizer="adamw", label_smoothing=0.0),
            },
            (1e-3, 3e-3),
            {"data": files["test"]},
            "accuracy",
            (1, 2, 3),
        )
        for name in ("final", "mean", "max", "attention")
    ]


def answering(place: Place) -> list[Variant]:
    home = place.made / "passages"
    if not home.exists():
        home.mkdir()
        for part in PARTS:
            for name, lines in passage_files(part, QUESTIONS if part == "train" else JUDGED, 1).items():
                (home / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = {name: str(home / name) for name in ("train.src", "train.tgt", "valid.src", "valid.tgt")}
    data = dict(zip(("src", "tgt", "valid_src", "valid_tgt"), files.values(), strict=True))
    sizes = {"kind": "recurrent", "width": 128, "layers": 1, "dropout": 0.0, "score": "scaled_dot"}
    text = {"vocabulary": 1200, "joint": True}
    train = place.train(3000, batch_tokens=2400, label_smoothing=0.0, select="exact_match")
    networks: dict[str, Values] = {"plain": sizes, "copying": {**sizes, "copy": True}}
    labelled = {"labelled": str(home / "train.tsv"), "valid_labelled": str(home / "valid.tsv"), "max_length": 256}
    bag = {
        "task": "classify",
        "data": labelled,
        "text": {"kind": "word", "vocabulary": 20000},
        "model": {"kind": "bag", "ngrams": 2, "binary": True, "dropout": 0.2},
        "train": place.train(2000, batch_tokens=4096, label_smoothing=0.0),
    }
    test = parallel(home, "test") | {"gold_align": str(home / "test.align")}
    return [
        Variant("bag", bag, (0.01, 0.03), {"data": str(home / "test.tsv")}, "accuracy"),
        *(
            Variant(name, {"data": data, "text": text, "model": model, "train": train}, (3e-3,), test, "exact_match")
            for name, model in networks.items()
        ),
    ]


def dialogue(place: Place) -> list[Variant]:
    home = place.data / "dialogue"
    pairs = {part: str(home / f"{part}.tsv.gz") for part in ("train", "val", "test")}
    replies = {
        part: place.write(f"replies.{part}", (reply for _, reply in read_pairs(pairs=path)))
        for part, path in pairs.items()
    }
    turns = {
        part: place.write(f"turns.{part}", (turn for turn, _ in read_pairs(pairs=path))) for part, path in pairs.items()
    }
    counted = {
        "task": "generate",
        "data": {"text": replies["train"], "valid_text": replies["val"], "documents": "line"},
        "text": {"vocabulary": 8000, "lowercase": True},
        "model": {"kind": "markov", "order": 1},
    }
    read = {
        "data": {"pairs": pairs["train"], "valid_pairs": pairs["val"], "max_length": 64},
        "text": {"vocabulary": 8000, "joint": True, "lowercase": True},
        "model": {"preset": "tiny", "positions": "rotary", "dropout": 0.2},
        "train": place.train(4000, batch_tokens=2048, select="loss"),
    }
    test = {"src": turns["test"], "ref": replies["test"], "refs": [replies["test"]]}
    return [
        Variant("bigrams", counted, (None,), {"text": replies["test"]}, "perplexity_word"),
        Variant("transformer", read, (3e-3,), test, "perplexity"),
    ]


def summaries(place: Place) -> list[Variant]:
    home, files = place.data / "scitldr", {}
    for part in ("train", "dev", "test"):
        rows = list(abstracts(str(home / f"{part}.jsonl.gz")))
        files[f"{part}.src"] = place.write(f"scitldr.{part}.src", (row.text for row in rows))
        for number in range(1 if part == "train" else 4):
            lines = [reference(row, number) for row in rows]
            files[f"{part}.{number}"] = place.write(f"scitldr.{part}.{number}", lines)
        if part == "train":
            files["oracle"] = place.write("scitldr.oracle", map(oracle, rows))
        for name, chosen in (("lead", lead), ("central", central)):
            files[f"{part}.{name}"] = place.write(f"scitldr.{part}.{name}", map(chosen, rows))
    size = {"preset": "tiny", "positions": "rotary", "copy": True}
    data = {
        "corpora": [{"src": files["train.src"], "tgt": files[name]} for name in ("train.0", "oracle")],
        "valid_src": files["dev.src"],
        "valid_tgt": files["dev.0"],
        "max_length": 400,
    }
    tuned = {"data": data, "train": place.train(3000, batch_tokens=4096)}
    pretraining: Values = {
        "task": "pretrain",
        "data": {
            "text": [files["train.src"], str(place.data / "lm" / "wikitext2.train.raw.gz")],
            "valid_text": files["dev.src"],
            "max_length": 256,
        },
        "text": {"vocabulary": 8000},
        "objective": {"kind": "denoise"},
        "model": {"kind": "transformer", **size},
        "train": {**place.train(6000, batch_tokens=4096), "learning_rate": 5e-3},
    }
    judged = {
        part: {
            "src": files[f"{part}.src"],
            "ref": files[f"{part}.0"],
            "refs": [files[f"{part}.{number}"] for number in range(4)],
            "metric": ["rouge1", "rouge2", "rougeL"],
        }
        for part in ("dev", "test")
    }
    scratch = {**tuned, "text": {"vocabulary": 8000, "joint": True}, "model": {**size, "dropout": 0.3}}
    started = {**tuned, "model": {"dropout": 0.3}}
    rates = (1e-3, 3e-3)
    for part in ("dev", "test"):
        refs = [lines_of(Path(path)) for path in judged[part]["refs"]]
        for name in ("lead", "central"):
            own = lines_of(Path(files[f"{part}.{name}"]))
            [scores] = score_systems([own], refs, judged[part]["metric"], resamples=0)
            print(
                f"{part}, {name}: {', '.join(f'{key} {score.value:.1f}' for key, score in scores.items())}", flush=True
            )
    return [
        Variant("scratch", scratch, rates, judged["test"], "rouge1", valid=judged["dev"]),
        Variant(
            "denoised",
            started,
            rates,
            judged["test"],
            "rouge1",
            valid=judged["dev"],
            base=("scitldr-denoise", pretraining),
        ),
    ]


def parallel(home: Path, part: str) -> Values:
    """The flags of `regard evaluate` for a part of a corpus."""
    source, target = str(home / f"{part}.src"), str(home / f"{part}.tgt")
    return {"src": source, "ref": target, "refs": [target]}


EXPERIMENTS: dict[str, Callable[[Place], list[Variant]]] = {
    "pooling": pooling,
    "answering": answering,
    "dialogue": dialogue,
    "summaries": summaries,
}


def run_of(experiment: str, variant: Variant, rate: float | None, seed: int, place: Place) -> Path:
    return place.out / "runs" / f"{experiment}-{slug(variant.name)}-{_rate(rate)}-{seed}"


def _rate(rate: float | None) -> str:
    """The rate in names; of a counted model, which has none, `counted`."""
    return "counted" if rate is None else f"{rate:g}"


def cell(experiment: str, variant: Variant, rate: float | None, seed: int, place: Place) -> Values:
    """One run of a variant."""
    values = variant.values
    train = {**values.get("train", {}), "seed": seed} | ({} if rate is None else {"learning_rate": rate})
    if variant.base is not None:
        name, values = variant.base
        kept(place.out / "bases" / f"{name}.json", lambda: trained(values, place.out / "runs" / name))
        train["start"] = str(place.out / "runs" / name)
    run = run_of(experiment, variant, rate, seed, place)
    own = trained({**values, "train": train}, run)
    judged = own["metrics"] if variant.valid is None else evaluated(variant, run, variant.valid)
    return {"rate": rate, "seed": seed, "score": judged[variant.score], **own}


def evaluated(variant: Variant, run: Path, flags: Values) -> Values:
    """The scores of a run on a test set."""
    task = TASKS[variant.values.get("task", "translate")]
    served = regard.load(run)
    metrics = task.evaluate(served, task.test_set(served, {**FLAGS, **flags})).metrics
    return {name: value for name, value in metrics.items() if isinstance(value, int | float)}


def play(experiment: str, variant: Variant, place: Place) -> None:
    """All cells of a variant: its rates with the first seed, then the best of them with every seed, and the test."""
    home = place.out / "cells" / experiment / slug(variant.name)

    def at(rate: float | None, seed: int) -> Values:
        return kept(home / f"{_rate(rate)}-{seed}.json", lambda: cell(experiment, variant, rate, seed, place))

    lower = variant.score.startswith("perplexity")
    best = min(variant.rates, key=lambda rate: (1 if lower else -1) * at(rate, variant.seeds[0])["score"])
    for seed in variant.seeds:
        at(best, seed)
        run = run_of(experiment, variant, best, seed, place)
        result = kept(home / f"test-{seed}.json", lambda run=run: evaluated(variant, run, variant.test))  # type: ignore[misc]
        print(
            f"{experiment} {variant.name}, rate {_rate(best)}, seed {seed}: test {result[variant.score]:.4g}",
            flush=True,
        )
    kept(home / "chosen.json", lambda: {"variant": variant.name, "rate": best, "score": variant.score})


def table(out: Path) -> str:
    """Markdown: a table an experiment, a row a variant, with the mean and the spread over the seeds."""
    lines: list[str] = []
    for home in sorted((out / "cells").iterdir()):
        rows = [_row(chosen) for chosen in sorted(home.glob("*/chosen.json"))]
        heading = "| variant | rate | score | validation | test | weights | processor minutes |"
        lines += ["", f"{home.name}:", "", heading, "| --- | --- | --- | --- | --- | --- | --- |", *rows]
    bases = [(path.stem, json.loads(path.read_text("utf-8"))) for path in sorted((out / "bases").glob("*.json"))]
    lines += ["", *(f"base {name}: {base['minutes']:.1f} processor minutes" for name, base in bases)]
    return "\n".join(lines)


def _row(path: Path) -> str:
    chosen, home = json.loads(path.read_text("utf-8")), path.parent
    cells = [json.loads(one.read_text("utf-8")) for one in sorted(home.glob("*-[0-9].json")) if "test" not in one.name]
    best = [one for one in cells if one["rate"] == chosen["rate"]]
    tests = [json.loads(one.read_text("utf-8"))[chosen["score"]] for one in sorted(home.glob("test-*.json"))]
    minutes = sum(one["minutes"] for one in cells)
    weights = best[0]["metrics"]["parameters"]
    return (
        f"| {chosen['variant']} | {_rate(chosen['rate'])} | {chosen['score']} | {_spread([one['score'] for one in best])} | "
        f"{_spread(tests)} | {weights:,} | {minutes:.1f} |"
    )


def _spread(values: list[float]) -> str:
    """The mean, and of several the smallest and largest value."""
    digits = 2 if max(values) > 1 else 4
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a directory for the cells and the runs")
    parser.add_argument("--data", type=Path, help="the folder with classify, dialogue, scitldr and lm")
    parser.add_argument("--experiment", choices=EXPERIMENTS)
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
    variants = EXPERIMENTS[arguments.experiment](place)
    unknown = set(arguments.variants or ()) - {variant.name for variant in variants}
    if unknown:
        parser.error(f"--variants {', '.join(sorted(unknown))}: there is {'; '.join(one.name for one in variants)}")
    for variant in variants:
        if arguments.variants is None or variant.name in arguments.variants:
            play(arguments.experiment, variant, place)


if __name__ == "__main__":
    main()
