"""What each classifier can know of a text, measured: the lectures' table of order and context, on texts that are made to need them.

    python benchmarks/awareness.py

Every text is of two labels, as many of the one as of the other, so that who knows nothing is right in half of the cases:

    words        a word of one list or of another occurs; the words alone tell
    neighbours   of two words side by side, which is the first
    far order    of two words with three to nine others between, which is the first
    context      one of two words means the one or the other by one of two words that stands up to nine words before
    far context  the same, with a hundred words between

In all but the first, every word is equally frequent under both labels. Fillers are drawn at random.
"""

import argparse
import json
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILLERS = [f"filler{number}" for number in range(30)]
Text = tuple[list[str], str]


def _fill(draw: random.Random, count: int) -> list[str]:
    return draw.choices(FILLERS, k=count)


def words(draw: random.Random) -> Text:
    label = draw.choice(("good", "bad"))
    told = f"{label}{draw.randrange(5)}"
    return [*_fill(draw, draw.randrange(2, 10)), told, *_fill(draw, draw.randrange(2, 10))], label


def _in_order(draw: random.Random, between: int) -> Text:
    first, second = draw.sample(("one", "two"), 2)
    before, behind = _fill(draw, draw.randrange(2, 6)), _fill(draw, draw.randrange(2, 6))
    return [*before, first, *_fill(draw, between), second, *behind], first


def neighbours(draw: random.Random) -> Text:
    return _in_order(draw, 0)


def far_order(draw: random.Random) -> Text:
    return _in_order(draw, draw.randrange(3, 10))


def _in_context(draw: random.Random, between: int) -> Text:
    place, word = draw.randrange(2), draw.randrange(2)
    told = [("river", "money")[place], *_fill(draw, between), ("bank", "branch")[word]]
    return [*_fill(draw, draw.randrange(2)), *told, *_fill(draw, draw.randrange(2))], ("same", "other")[place ^ word]


def context(draw: random.Random) -> Text:
    return _in_context(draw, draw.randrange(1, 10))


def far_context(draw: random.Random) -> Text:
    return _in_context(draw, 100)


KINDS: dict[str, Callable[[random.Random], Text]] = {
    "words": words,
    "neighbours": neighbours,
    "far order": far_order,
    "context": context,
    "far context": far_context,
}
BAG = {"kind": "bag", "dropout": 0.0}
RECURRENT = {"kind": "recurrent", "layers": 1, "width": 32, "bidirectional": False, "dropout": 0.0}
TRANSFORMER = {"kind": "transformer", "layers": 2, "width": 32, "heads": 2, "feed_forward": 64, "dropout": 0.0}
MODELS: dict[str, tuple[dict[str, Any], float]] = {  # the network, and its learning rate
    "bag of unigrams": (BAG, 0.05),
    "bag of bigrams": ({**BAG, "ngrams": 2}, 0.05),
    "RNN (tanh)": ({**RECURRENT, "cell": "rnn"}, 0.004),
    "RNN (LSTM)": ({**RECURRENT, "cell": "lstm"}, 0.01),
    "Transformer": ({**TRANSFORMER, "pooling": "max"}, 0.01),
}
TRAIN, VALID, TEST = 4000, 400, 1000
EPOCHS = 8


def write_texts(make: Callable[[random.Random], Text], home: Path) -> dict[str, str]:
    """Training, validation and test texts, drawn one after the other."""
    draw, files = random.Random(1), {}
    for role, count in (("labelled", TRAIN), ("valid_labelled", VALID), ("test_labelled", TEST)):
        rows = [make(draw) for _ in range(count)]
        (home / f"{role}.tsv").write_text("".join(f"{' '.join(text)}\t{label}\n" for text, label in rows))
        files[role] = str(home / f"{role}.tsv")
    return files


def accuracy(files: dict[str, str], model: dict[str, Any], rate: float, seed: int, out: Path) -> float:
    """The accuracy on the test texts of a model trained on these texts."""
    from regard.tasks.run import train_run
    from regard.tasks.settings import parse_settings

    train = {"seed": seed, "batch_tokens": 1024, "max_epochs": EPOCHS, "learning_rate": rate, "warmup": 50}
    config = {
        "task": "classify",
        "data": files,
        "text": {"kind": "word"},
        "model": model,
        "train": {**train, "label_smoothing": 0.0, "validate_every": 100, "save_every": 10_000, "samples": 0},
    }
    run = train_run(parse_settings(config), out)
    assert run.metrics is not None
    return float(run.metrics["accuracy"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="trainings of each; the table shows all")
    parser.add_argument("--only", help="a model whose name holds this")
    arguments = parser.parse_args()
    print(f"| | {' | '.join(KINDS)} |\n| --- |{' ---: |' * len(KINDS)}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        os.environ["REGARD_CACHE"] = str(home / "cache")
        made = {}
        for kind, make in KINDS.items():
            (home / kind).mkdir()
            made[kind] = write_texts(make, home / kind)
        for label, (model, rate) in MODELS.items():
            if arguments.only and arguments.only not in label:
                continue
            cells = []
            for kind, files in made.items():
                found = [
                    accuracy(files, model, rate, seed, home / f"{json.dumps([label, kind, seed])}")
                    for seed in range(1, arguments.seeds + 1)
                ]
                cells.append(", ".join(f"{100 * one:.1f}" for one in found))
            print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
