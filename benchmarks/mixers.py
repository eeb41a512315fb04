"""Every mixer on real tasks, at equal parameters and equal steps or minutes: language models, translation, and long texts.

    python benchmarks/mixers.py --out mixers --task shakespeare --text path/to/tinyshakespeare.txt.gz --mixers attention hyena
    python benchmarks/mixers.py --out mixers --task wikitext2 --text path/to/wikitext2.train.raw.gz --valid-text wikitext2.valid.raw.gz
    python benchmarks/mixers.py --out mixers --task multi30k --text path/to/multi30k/tok
    python benchmarks/mixers.py --out mixers --task questions
    python benchmarks/mixers.py --out mixers --table

A cell is a run of `regard.train` with the settings of the task's recipe, another `model.mixer`, and as many steps, or with `--minutes` as
many minutes of training: processor minutes, so that cells are equal on a busy machine too. Give them one thread
(`OMP_NUM_THREADS=1 taskset -c 0 python benchmarks/mixers.py ..`). The inner width of the
feed-forward networks makes up for mixers with more or fewer weights than attention, except in translation. A run goes on where it was cut
off, and its result is one JSON file in `--out`. Scores are those of validation data: nothing here reads a test set. In translation the
mixer is that of the encoder; the decoder keeps attention. `questions` are generated: texts of 8,192 words that begin with two statements
and end with a question about one of them. Training texts have 64, 128 .. 8,192 words, as many words of each length. `--table` trains
nothing and prints all cells as Markdown.
"""

import argparse
import json
import math
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import regard
from regard.data.recall import far_lines
from regard.models.shapes import Shapes, classifier_shapes, language_model_shapes, translator_shapes
from regard.settings import read_toml
from regard.tasks.settings import parse_settings

RECIPES = Path(__file__).parent.parent / "recipes"
HYBRID = "hybrid"
MIXERS = ("attention", "hyena", "delta", HYBRID, "linear", "performer", "window", "block_sparse", "linformer")
NOT_CAUSAL = ("linformer",)
LENGTHS = [
    2**power for power in range(6, 14)
]  # of the questions that are learned, in words; the longest is validated on
WORDS, VALID = 2**20, 100  # learned questions: words of each length; the number of validation texts
SCORES = {"shakespeare": "nats_per_token", "wikitext2": "nats_per_token", "multi30k": "bleu", "questions": "accuracy"}
EQUAL = {"precision": "float32", "samples": 0}  # bfloat16 was not tried with every mixer
STEPS = {"shakespeare": 3000, "wikitext2": 2000, "multi30k": 1250, "questions": 500}

Values = dict[str, Any]


def _shakespeare(files: dict[str, Path]) -> Values:
    values = read_toml(RECIPES / "shakespeare-hyena.toml")
    values["data"]["text"] = str(files["text"])
    return values


def _wikitext2(files: dict[str, Path]) -> Values:
    values = read_toml(RECIPES / "wikitext2.toml")
    del values["data"]["test_text"]
    values["data"] |= {"text": str(files["text"]), "valid_text": str(files["valid_text"]), "max_length": 512}
    values["model"]["max_positions"] = 513
    return values


def _multi30k(files: dict[str, Path]) -> Values:
    values = read_toml(RECIPES / "multi30k-quick.toml")
    sides = {"src": "train.en", "tgt": "train.de", "valid_src": "val.en", "valid_tgt": "val.de"}
    values["data"] |= {key: str(files["text"] / name) for key, name in sides.items()}
    values["model"]["max_positions"] = 512
    return values


def _questions(files: dict[str, Path]) -> Values:
    parts = {"train": (LENGTHS, WORDS), "valid": (LENGTHS[-1:], VALID * LENGTHS[-1])}
    for seed, (part, (lengths, words)) in enumerate(parts.items(), 1):
        path = files["out"] / f"questions.{part}.tsv"
        if not path.exists():
            path.write_text("".join(f"{line}\n" for line in far_lines(lengths, words, seed)), encoding="utf-8")
    values = read_toml(RECIPES / "long-questions.toml")
    values["data"] |= {"labelled": str(files["out"] / "questions.train.tsv")}
    values["data"] |= {"valid_labelled": str(files["out"] / "questions.valid.tsv")}
    return values


TASKS: dict[str, Callable[[dict[str, Path]], Values]] = {
    "shakespeare": _shakespeare,
    "wikitext2": _wikitext2,
    "multi30k": _multi30k,
    "questions": _questions,
}


def with_mixer(values: Values, mixer: str) -> Values:
    """The settings with another mixer: a hybrid has attention in its last block and the delta rule below."""
    task, model = values.get("task", "translate"), dict(values["model"])
    depth = int(model.get("layers", 4))
    names: Any = [*["delta"] * (depth - 1), "attention"] if mixer == HYBRID else mixer
    model.pop("mixer", None)
    model["encoder_mixer" if task == "translate" else "mixer"] = names
    if mixer == "linear":
        model["positions"] = "sinusoidal"
    return {**values, "model": model}


def parameters(values: Values) -> int:
    """The weights of the network but for those of its vocabulary, which no mixer changes."""
    settings = parse_settings(values, "benchmarks/mixers.py")
    config: Any = settings.model
    shapes: Shapes | None
    if settings.task == "generate":
        shapes = language_model_shapes(config, 2)
    elif settings.task == "classify":
        shapes = classifier_shapes(config, 2, 2)
    else:
        shapes = translator_shapes(config, 2, 2, True)
    assert shapes is not None
    return sum(math.prod(shape) for shape in shapes.values())


def equal_parameters(values: Values, mixer: str) -> Values:
    """The settings of a mixer, with the inner width that gives about as many weights as attention has."""
    wanted = parameters(with_mixer(values, "attention"))
    own = with_mixer(values, mixer)
    task = own.get("task", "translate")
    inner = int(parse_settings(own, "benchmarks/mixers.py").model.feed_forward)  # type: ignore[attr-defined]
    if task == "translate":  # the decoder has the same inner width: it is left as it is, and so are small differences
        return own
    candidates = [max(8, inner + 8 * step) for step in range(-inner // 8 + 1, inner // 8)]
    sized = [{**own, "model": {**own["model"], "feed_forward": size}} for size in candidates]
    return min(sized, key=lambda candidate: abs(parameters(candidate) - wanted))


def cell(task: str, mixer: str, budget: Values, directory: Path, files: dict[str, Path]) -> Values:
    """Train one cell, or go on with it. budget: `max_steps` or `minutes`."""
    values = equal_parameters(TASKS[task](files), mixer)
    quarter = max(1, STEPS[task] // 4)
    train = {**values["train"], "max_steps": None, "validate_every": quarter, "save_every": quarter}
    values = {**values, "train": train | budget | EQUAL}
    # the clock of the training loop is the processor's, so that another process on the core does not shorten a cell
    with patch.object(time, "perf_counter", time.process_time):
        run = regard.train(values, directory, progress=True)
    assert run.metrics is not None, "interrupted: the same command goes on with it"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {
        "task": task,
        "mixer": mixer,
        **budget,
        "score": run.metrics[SCORES[task]],
        "parameters": parameters(values),
        "steps": run.metrics["steps"],
        "seconds": run.metrics["seconds"],
        "megabytes": max(peak) / 1024,
        "metrics": run.metrics,
    }


def table(cells: list[Values]) -> str:
    """Markdown: a table a task, a row a mixer."""
    lines: list[str] = []
    for task in SCORES:
        rows = [row for row in cells if row["task"] == task]
        if not rows:
            continue
        lines += [
            "",
            f"{task}, {SCORES[task]}:",
            "",
            "| mixer | weights | steps | processor minutes | score |",
            "| --- | --- | --- | --- | --- |",
        ]
        rows.sort(key=lambda row: MIXERS.index(row["mixer"]))
        for row in rows:
            numbers = f"{row['parameters']:,} | {row['steps']:,} | {row['seconds'] / 60:.1f} | {row['score']:.4g}"
            lines.append(f"| {row['mixer']} | {numbers} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a directory with one JSON file a cell, and the runs")
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--mixers", nargs="+", choices=MIXERS, default=list(MIXERS))
    parser.add_argument("--steps", type=int, help="of every cell; by default those of the recipe")
    parser.add_argument("--minutes", type=float, help="of every cell, instead of steps")
    parser.add_argument("--text", type=Path, help="the text, or the directory of Multi30k")
    parser.add_argument("--valid-text", type=Path)
    parser.add_argument("--table", action="store_true", help="train nothing; print the cells of --out")
    arguments = parser.parse_args()
    if arguments.table:
        print(table([json.loads(path.read_text("utf-8")) for path in sorted(arguments.out.glob("*.json"))]))
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    files = {"out": arguments.out, "text": arguments.text, "valid_text": arguments.valid_text}
    steps = arguments.steps or STEPS[arguments.task]
    budget = {"max_steps": steps} if arguments.minutes is None else {"minutes": arguments.minutes}
    for mixer in arguments.mixers:
        name = f"{arguments.task}-{mixer}-" + "-".join(f"{value:g}-{unit}" for unit, value in budget.items())
        path = arguments.out / f"{name}.json"
        causal = arguments.task in ("shakespeare", "wikitext2")
        if not path.exists() and not (causal and mixer in NOT_CAUSAL):
            result = cell(arguments.task, mixer, budget, arguments.out / "runs" / name, files)
            path.write_text(json.dumps(result), encoding="utf-8")
            print(f"{name}: {result['score']:.4g}", flush=True)


if __name__ == "__main__":
    main()
