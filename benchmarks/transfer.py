"""Transfer: pretraining against scratch on few examples, LoRA against full fine-tuning, and how much is forgotten with and without replay.

    python benchmarks/transfer.py --out transfer --data path/to/data --experiment classify --labelled trec
    python benchmarks/transfer.py --out transfer --data path/to/data --experiment denoise
    python benchmarks/transfer.py --out transfer --data path/to/data --experiment lora
    python benchmarks/transfer.py --out transfer --data path/to/data --experiment forgetting
    python benchmarks/transfer.py --out transfer --table

A cell is one run of `regard.train`, bounded by steps, so that a busy machine changes its time and not its score. For each variant the
learning rate is chosen on validation data with seed 1; the test set is scored once, for the chosen rate, with each seed. A run goes on
where it was cut off, a finished cell is one JSON file in `--out`, and processor minutes are those of this process and its workers.
`--data` holds the folders classify, multi30k and tatoeba-en-fr. `--scale 0.01` is for a trial: so many times as many steps,
with cells and runs in `--out`/scale-0.01, so that a trial is never printed as the result.

| experiment | base | variants |
| --- | --- | --- |
| classify | masked tokens of Tatoeba's English side | 500 labelled texts: pretrained, scratch, bag of words |
| denoise | infilling, on the other 27,000 sentences of each side of Multi30k, shuffled apart | 2,000 pairs: pretrained, scratch |
| lora | a translator of Tatoeba, English to French | 2,000 pairs of Multi30k: full, lora |
| forgetting | the same | the same, with replay: three in ten pairs are Tatoeba's |
"""

import argparse
import json
import random
import resource
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import regard
from regard.tasks.forgetting import FLAGS
from regard.tasks.table import TASKS

Values = dict[str, Any]
SIZES = {"width": 256, "heads": 4, "layers": 3, "feed_forward": 1024}
LABELLED, PAIRS = 500, 2_000
SHARE = 0.3
RANK = 6  # 4.7 % of the weights of the default model
SCORES = {"classify": "accuracy", "denoise": "bleu", "lora": "bleu", "forgetting": "bleu"}
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Variant:
    """One row of a table: the settings of its runs, the rates to choose from, and its test set."""

    name: str
    values: Values
    rates: tuple[float, ...]
    test: Values
    """The flags of `regard evaluate`."""
    base: tuple[str, Values] | None = None
    """The name and the settings of the run that it starts from."""


@dataclass(frozen=True)
class Place:
    """Where the corpora are, where cells are kept, and how many steps are made."""

    data: Path
    out: Path
    labelled: str = "sst2"
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


def home_of(out: Path, scale: float) -> Path:
    """Where the cells and runs are: those of a trial in a folder of their own."""
    return out if scale == 1.0 else out / f"scale-{scale:g}"


def lines_of(path: Path) -> list[str]:
    """The lines of a text."""
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def labelled_texts(place: Place) -> dict[str, str]:
    """Files of labelled texts: 500 to learn from, some to validate on, and the test set."""
    home = place.data / "classify"
    if place.labelled == "sst2":
        parts = {part: lines_of(home / f"sst2.{part}.tsv") for part in ("train", "dev", "test")}
    else:
        parts = {}
        for part in ("train", "test"):
            rows = [line.partition(" ") for line in lines_of(home / f"trec.{part}.txt")]
            parts[part] = [f"{text}\t{label.partition(':')[0]}" for label, _, text in rows]
    random.Random(1).shuffle(parts["train"])
    parts.setdefault("dev", parts["train"][LABELLED : LABELLED + 1000])
    parts["train"] = parts["train"][:LABELLED]
    return {part: place.write(f"{place.labelled}.{part}.tsv", rows) for part, rows in parts.items()}


def classify(place: Place) -> list[Variant]:
    files, tatoeba = labelled_texts(place), place.data / "tatoeba-en-fr"
    data = {"labelled": files["train"], "valid_labelled": files["dev"], "tgt_lang": "en", "max_length": 128}
    test = {"data": files["test"]}
    train = place.train(300, batch_tokens=512, optimizer="adamw")
    pretraining: Values = {
        "task": "pretrain",
        "data": {
            "text": str(tatoeba / "train.en.gz"),
            "valid_text": str(tatoeba / "val.en.gz"),
            "documents": "line",
            "tgt_lang": "en",
            "max_length": 128,
        },
        "text": {"vocabulary": 8000, "lowercase": True},
        "objective": {"kind": "mask"},
        "model": SIZES,
        "train": place.train(1500, batch_tokens=4096),
    }
    scratch = {"task": "classify", "data": data, "train": train}
    bag = {"kind": "bag", "ngrams": 2, "weighting": "bayes", "binary": True, "dropout": 0.2}
    words = {"kind": "word", "vocabulary": 10000, "lowercase": True}
    rates = (1e-4, 3e-4, 1e-3)
    return [
        Variant("pretrained", {**scratch, "model": {"dropout": 0.2}}, rates, test, ("tatoeba-mask", pretraining)),
        Variant(
            "scratch",
            {**scratch, "text": {"vocabulary": 2000, "lowercase": True}, "model": {**SIZES, "dropout": 0.2}},
            rates,
            test,
        ),
        Variant(
            "bag",
            {**scratch, "text": words, "model": bag, "train": place.train(200, batch_tokens=384, label_smoothing=0.0)},
            (0.01, 0.02, 0.05),
            test,
        ),
    ]


def denoise(place: Place) -> list[Variant]:
    home = place.data / "multi30k" / "tok"
    files: dict[str, str] = {}
    for seed, side in enumerate(("en", "de"), 1):
        lines = lines_of(home / f"train.{side}")
        files[side] = place.write(f"pairs.{side}", lines[:PAIRS])
        others = lines[PAIRS:]
        random.Random(seed).shuffle(others)  # each side in an order of its own: no pair is seen
        files[f"alone.{side}"] = place.write(f"alone.{side}", others)
    data = {
        "src": files["en"],
        "tgt": files["de"],
        "valid_src": str(home / "val.en"),
        "valid_tgt": str(home / "val.de"),
        "max_length": 128,
    }
    test = sides(home, "test2016", "en", "de")
    train = place.train(400, batch_tokens=2048)
    model = {**SIZES, "positions": "rotary"}
    pretraining: Values = {
        "task": "pretrain",
        "data": {"text": [files["alone.en"], files["alone.de"]], "max_length": 128},
        "text": {"vocabulary": 8000},
        "objective": {"kind": "denoise"},
        "model": model,
        "train": place.train(2500, batch_tokens=2048),
    }
    rates = (2e-3, 5e-3)
    tuned = {"task": "translate", "data": data, "train": train}
    own = {**tuned, "text": {"vocabulary": 4000}, "model": {**model, "dropout": 0.3}}
    return [
        Variant("pretrained", {**tuned, "model": {"dropout": 0.3}}, rates, test, ("multi30k-denoise", pretraining)),
        Variant("scratch", own, rates, test),
    ]


def sides(home: Path, part: str, source: str, target: str, end: str = "") -> Values:
    """The flags of `regard evaluate` for a part of a corpus."""
    src, ref = (str(home / f"{part}.{side}{end}") for side in (source, target))
    return {"src": src, "ref": ref, "refs": [ref]}


def captions_after_tatoeba(place: Place) -> tuple[Values, Values, tuple[str, Values], Values]:
    """(settings of fine-tuning, test set, base, replay)."""
    home, tatoeba = place.data / "multi30k" / "raw", place.data / "tatoeba-en-fr"
    few = {side: place.write(f"captions.{side}", lines_of(home / f"train.{side}")[:PAIRS]) for side in ("en", "fr")}
    old = {side: str(tatoeba / f"train.{side}.gz") for side in ("en", "fr")}
    base: Values = {
        "data": {
            "src": old["en"],
            "tgt": old["fr"],
            "valid_src": str(tatoeba / "val.en.gz"),
            "valid_tgt": str(tatoeba / "val.fr.gz"),
        },
        "train": place.train(2500, batch_tokens=2048),
    }
    old_test = {"test_src": str(tatoeba / "test.en.gz"), "test_tgt": str(tatoeba / "test.fr.gz")}
    data = {
        "src": few["en"],
        "tgt": few["fr"],
        "valid_src": str(home / "val.en"),
        "valid_tgt": str(home / "val.fr"),
        "replay": old_test,
    }
    tuned = {"data": data, "train": place.train(300, batch_tokens=2048)}
    replay = {**old_test, "src": old["en"], "tgt": old["fr"]}
    return tuned, sides(home, "test2016", "en", "fr"), ("tatoeba", base), replay


FULL, LOW = (1e-3, 3e-3), (3e-3, 1e-2)


def lora(place: Place) -> list[Variant]:
    tuned, test, base, _ = captions_after_tatoeba(place)
    low = {**tuned, "train": {**tuned["train"], "lora": {"rank": RANK}}}
    return [Variant("full", tuned, FULL, test, base), Variant("lora", low, LOW, test, base)]


def forgetting(place: Place) -> list[Variant]:
    tuned, test, base, replay = captions_after_tatoeba(place)
    data = {**tuned["data"], "replay": {**replay, "share": SHARE}}
    full: Values = {**tuned, "data": data}
    low = {**full, "train": {**tuned["train"], "lora": {"rank": RANK}}}
    return [Variant("full, replay", full, FULL, test, base), Variant("lora, replay", low, LOW, test, base)]


EXPERIMENTS: dict[str, Callable[[Place], list[Variant]]] = {
    "classify": classify,
    "denoise": denoise,
    "lora": lora,
    "forgetting": forgetting,
}


def processor_minutes() -> float:
    """The time that the processors have worked for this process and its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) / 60.0


def kept(path: Path, make: Callable[[], Values]) -> Values:
    """The JSON object in a file; made where there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(make()), encoding="utf-8")
    values: Values = json.loads(path.read_text(encoding="utf-8"))
    return values


def trained(values: Values, run: Path) -> Values:
    """The metrics of a run, and the processor minutes that it took now."""
    began = processor_minutes()
    result = regard.train(values, run, progress=True)
    if result.metrics is None:
        raise SystemExit(f"{run}: interrupted; the same command goes on with it")
    return {"metrics": result.metrics, "minutes": processor_minutes() - began}


def cell(experiment: str, variant: Variant, rate: float, seed: int, place: Place) -> Values:
    """One run of a variant."""
    train = {**variant.values["train"], "learning_rate": rate, "seed": seed}
    if variant.base is not None:
        name, values = variant.base
        kept(place.out / "bases" / f"{name}.json", lambda: trained(values, place.out / "runs" / name))
        train["start"] = str(place.out / "runs" / name)
    values = {**variant.values, "train": train}
    own = trained(values, run_of(experiment, variant, rate, seed, place))
    return {"rate": rate, "seed": seed, "score": own["metrics"][SCORES[experiment]], **own}


def run_of(experiment: str, variant: Variant, rate: float, seed: int, place: Place) -> Path:
    return place.out / "runs" / f"{experiment_name(experiment, place)}-{slug(variant.name)}-{rate:g}-{seed}"


def experiment_name(experiment: str, place: Place) -> str:
    return f"{experiment}-{place.labelled}" if experiment == "classify" else experiment


def slug(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")


def tested(experiment: str, variant: Variant, run: Path) -> Values:
    """The score of a run on the test set."""
    task = TASKS[variant.values.get("task", "translate")]
    served = regard.load(run)
    metrics = task.evaluate(served, task.test_set(served, {**FLAGS, **variant.test})).metrics
    return {"score": metrics[SCORES[experiment]]}


def play(experiment: str, variant: Variant, place: Place) -> None:
    """All cells of a variant: its rates with the first seed, then the best of them with every seed, and the test."""
    home = place.out / "cells" / experiment_name(experiment, place) / slug(variant.name)

    def at(rate: float, seed: int) -> Values:
        return kept(home / f"{rate:g}-{seed}.json", lambda: cell(experiment, variant, rate, seed, place))

    best = max(variant.rates, key=lambda rate: at(rate, SEEDS[0])["score"])
    for seed in SEEDS:
        at(best, seed)
        run = run_of(experiment, variant, best, seed, place)
        result = kept(home / f"test-{seed}.json", lambda run=run: tested(experiment, variant, run))  # type: ignore[misc]
        print(f"{experiment} {variant.name}, rate {best:g}, seed {seed}: test {result['score']:.4g}", flush=True)
    chosen = {"experiment": experiment, "variant": variant.name, "rate": best}
    kept(home / "chosen.json", lambda: chosen)


def table(out: Path) -> str:
    """Markdown: a table an experiment, a row a variant, with the mean and the spread over the seeds."""
    lines: list[str] = []
    for home in sorted((out / "cells").iterdir()):
        rows = [row for chosen in sorted(home.glob("*/chosen.json")) if (row := _row(chosen)) is not None]
        lines += [
            "",
            f"{home.name}:",
            "",
            "| variant | rate | validation | test | trained weights | old test before -> after | processor minutes |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *rows,
        ]
    bases = [(path.stem, json.loads(path.read_text("utf-8"))) for path in sorted((out / "bases").glob("*.json"))]
    lines += ["", *(f"base {name}: {base['minutes']:.1f} processor minutes" for name, base in bases)]
    return "\n".join(lines)


def _row(path: Path) -> str:
    chosen, home = json.loads(path.read_text("utf-8")), path.parent
    cells = [json.loads((home / f"{chosen['rate']:g}-{seed}.json").read_text("utf-8")) for seed in SEEDS]
    tests = [json.loads((home / f"test-{seed}.json").read_text("utf-8"))["score"] for seed in SEEDS]
    minutes = sum(
        json.loads(cell.read_text("utf-8"))["minutes"] for cell in home.glob("*-[0-9].json") if "test" not in cell.name
    )
    metrics = [one["metrics"] for one in cells]
    whole = metrics[0]["parameters"]
    share = f"{100 * metrics[0].get('trained_parameters', whole) / whole:.2f} % of {whole:,}"
    old = [one["forgetting"] for one in metrics if "forgetting" in one]
    name = SCORES[chosen["experiment"]]
    before, after = ([one[when][name] for one in old] for when in ("before", "after"))
    forgot = f"{statistics.mean(before):.2f} -> {_spread(after)}" if old else "-"
    return (
        f"| {chosen['variant']} | {chosen['rate']:g} | {_spread([one['score'] for one in cells])} | {_spread(tests)} | {share} | "
        f"{forgot} | {minutes:.1f} |"
    )


def _spread(values: list[float]) -> str:
    """The mean, and the smallest and largest value."""
    digits = 2 if max(values) > 1 else 4
    return f"{statistics.mean(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a directory for the cells and the runs")
    parser.add_argument("--data", type=Path, help="the folder with classify, multi30k and tatoeba-en-fr")
    parser.add_argument("--experiment", choices=EXPERIMENTS)
    parser.add_argument("--variants", nargs="+", help="only these; by default all of the experiment")
    parser.add_argument("--labelled", choices=("sst2", "trec"), default="trec", help="of classify")
    parser.add_argument("--scale", type=float, default=1.0, help="so many times as many steps, for a trial")
    parser.add_argument("--table", action="store_true", help="train nothing; print the cells of --out")
    arguments = parser.parse_args()
    out = home_of(arguments.out, arguments.scale)
    if arguments.table:
        print(table(out))
        return
    if arguments.data is None or arguments.experiment is None:
        parser.error("--data DIR and --experiment NAME are needed, or --table")
    place = Place(arguments.data, out, arguments.labelled, arguments.scale)
    variants = EXPERIMENTS[arguments.experiment](place)
    unknown = set(arguments.variants or ()) - {variant.name for variant in variants}
    if unknown:
        parser.error(f"--variants {', '.join(sorted(unknown))}: there is {'; '.join(one.name for one in variants)}")
    for variant in variants:
        if arguments.variants is None or variant.name in arguments.variants:
            play(arguments.experiment, variant, place)


if __name__ == "__main__":
    main()
