"""What mixers remember: associative recall by mixer, form, length and number of pairs, from sequences that are generated.

    python benchmarks/recall.py --out recall --mixers attention linear
    python benchmarks/recall.py --out recall --forms single --mixers hyena --steps 20000
    python benchmarks/recall.py --out recall --table

Each cell trains one small language model (2 blocks of width 64, 2 heads, feed-forward 128, sinusoidal positions) from nothing on
sequences that never repeat, with the loss at the queries only. Lengths are a curriculum: it begins with 64 tokens, and whenever nine in
ten answers of the last steps at the present length are right, twice as long sequences join in, up to the longest. Half of the batches
have the present length, the others a shorter one. Forms take turns, and the number of pairs is drawn for each batch, small ones more
often. The rule is the same for all mixers. The model is then tested at each form, length and number of pairs, on sequences of another
seed. A cell is one JSON file in `--out`: a cell that is there is not trained again, so that a run may be cut off and continued. Its
budget is a number of steps; training ends before it where the longest validation sequences of a third seed are all answered right twice
in a row. `--table` trains nothing and prints the cells as Markdown.
"""

import argparse
import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from regard.data.recall import SYMBOLS, UNASKED, Recall
from regard.models.build import build_language_model
from regard.models.config import LanguageTransformerConfig
from regard.training.config import TrainConfig
from regard.training.optimizer import Optimizer
from regard.training.schedule import learning_rate

MIXERS = {
    "attention": "attention",
    "hybrid": ["delta", "attention"],
    "hyena": "hyena",
    "delta": "delta",
    "linear": "linear",
    "performer": "performer",
    "window": "window",
    "block_sparse": "block_sparse",
}
FORMS = ("single", "multi", "repeated")
TRAIN, VALID, TEST = 1, 2, 3  # seeds
SHORTEST = 64
LEARNED, MEMORY = 0.9, 0.98  # the mean accuracy that lengthens sequences, and the share of it that a step keeps
TESTED, VALIDATED = 256, 64  # sequences of a test, and of a validation
SOLVED = 0.999
PART = 8192  # tokens that are answered together


@dataclass(frozen=True)
class Cell:
    """One cell: a mixer, the forms and the longest sequences that it learns, and its budget."""

    mixer: str
    forms: tuple[str, ...]
    length: int
    pairs: int
    steps: int
    batch_tokens: int
    learning_rate: float
    optimizer: str = "muon"
    seed: int = 1
    symbols: int = SYMBOLS
    width: int = 64

    @property
    def name(self) -> str:
        others = [f"{self.symbols}-symbols"] * (self.symbols != SYMBOLS) + [f"width-{self.width}"] * (self.width != 64)
        return "-".join(["+".join(self.forms), str(self.length), str(self.pairs), *others, self.mixer, str(self.seed)])

    def test(self, form: str, length: int, pairs: int) -> Recall:
        """Sequences of one form, length and number of pairs."""
        return Recall(form, length, pairs, self.symbols)  # type: ignore[arg-type]

    def task(self, step: int, present: int) -> Recall:
        """The sequences of a step: their form, length and pairs. present: the present length of the curriculum."""
        generator = np.random.default_rng([self.seed, step])
        form = self.forms[step % len(self.forms)]
        shorter = int(generator.integers(max(1, int(math.log2(present // SHORTEST)))))
        length = present if generator.random() < 0.5 else SHORTEST * 2**shorter
        most = min(self.pairs, self.test(form, length, 1).most_pairs)
        pairs = round(math.exp(generator.uniform(math.log(2), math.log(most))))
        return self.test(form, length, pairs)


def network_of(cell: Cell) -> Any:
    """The network of a cell. A window is an eighth of the length, so that two blocks of it do not reach all of it.

    The shortest filter of hyena falls to a hundredth within three tenths of the length, as Poli et al. (2023) have it.
    """
    config = LanguageTransformerConfig.parse(
        {
            "mixer": MIXERS[cell.mixer],
            "layers": 2,
            "width": cell.width,
            "heads": 2,
            "feed_forward": 2 * cell.width,
            "dropout": 0.0,
            "activation": "gelu",
            "max_positions": cell.length,
            "positions": "sinusoidal",
            "window": cell.length // 8 + 1,
            "block": 16,
            "filter_shortest": 3 * cell.length // 10,
        }
    )
    torch.manual_seed(cell.seed)
    return build_language_model(config, cell.test(cell.forms[0], cell.length, 1).vocabulary + 1, cell.length)  # and pad


def answers(network: Any, tokens: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(logits [Q, V], expected [Q]) of the queries of a batch."""
    hidden = network.hidden(tokens[:, :0], tokens)
    asked = targets != UNASKED
    return network.project(hidden[asked]), targets[asked]


@torch.no_grad()
def accuracy(network: Any, task: Recall, seed: int, tested: int) -> float:
    """The share of the queries that are answered right: of `repeated`, of those at the end, as Poli et al. (2023) have it."""
    network.eval()
    right = total = 0
    count = max(1, PART // task.length)
    for first in range(0, tested, count):
        tokens, targets = map(torch.from_numpy, task.batch(seed, first, min(count, tested - first)))
        if task.form == "repeated":
            targets[:, :-1] = UNASKED
        logits, expected = answers(network, tokens, targets)
        right, total = right + int((logits.argmax(dim=1) == expected).sum()), total + len(expected)
    network.train()
    return right / total


def train(cell: Cell, validate_every: int, lengths: list[int], pairs: list[int]) -> dict[str, Any]:
    """Train one cell, and test it at each form, length and number of pairs."""
    network = network_of(cell).train()
    settings = TrainConfig.parse(
        {
            "max_steps": cell.steps,
            "warmup": min(100, cell.steps // 10),
            "optimizer": cell.optimizer,
            "learning_rate": cell.learning_rate,
            "adamw_factor": 1.0,
        }
    )
    optimizer = Optimizer(network, settings)
    started, computing, curve, solved = time.perf_counter(), time.process_time(), [], 0
    present, learned, lengthened = SHORTEST, 0.0, {SHORTEST: 0}
    for step in range(1, cell.steps + 1):
        task = cell.task(step, present)
        count = max(1, cell.batch_tokens // task.length)
        tokens, targets = map(torch.from_numpy, task.batch(TRAIN, step * cell.batch_tokens, count))
        network.zero_grad()
        logits, expected = answers(network, tokens, targets)
        F.cross_entropy(logits, expected).backward()
        if task.length == present:
            right = float((logits.argmax(dim=1) == expected).float().mean())
            learned = MEMORY * learned + (1 - MEMORY) * right
        if learned > LEARNED and present < cell.length:
            present, learned = 2 * present, 0.0
            lengthened[present] = step
        torch.nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
        optimizer.step(
            learning_rate(
                "linear",
                settings.learning_rate,
                step=step,
                warmup=settings.warmup,
                progress=(step - 1) / cell.steps,
                width=cell.width,
            )
        )
        if step % validate_every == 0 or step == cell.steps:
            hardest = [
                accuracy(network, cell.test(form, cell.length, count), VALID, VALIDATED)
                for form in cell.forms
                for count in pairs
            ]
            curve.append((step, hardest))
            seconds = time.process_time() - computing
            print(
                f"{cell.name:32} {seconds:5.0f} s, step {step:6,}, length {present:5,}, {learned:.2f}:",
                *(f"{a:.3f}" for a in hardest),
                flush=True,
            )
            solved = solved + 1 if min(hardest) >= SOLVED else 0
            if solved == 2:
                break
    minutes = (time.process_time() - computing) / 60
    return {
        **asdict(cell),
        "parameters": sum(p.numel() for p in network.parameters()),
        "trained_steps": curve[-1][0],
        "accuracy": [
            (form, length, count, accuracy(network, cell.test(form, length, count), TEST, TESTED))
            for form in cell.forms
            for length in lengths
            for count in pairs
        ],
        "curve": curve,
        "lengthened": lengthened,
        "minutes": (time.perf_counter() - started) / 60,
        "processor_minutes": minutes,
    }


def table(cells: list[dict[str, Any]]) -> str:
    """Markdown: a row a mixer and budget, a column a test."""
    tests = sorted(
        {tuple(test[:3]) for cell in cells for test in cell["accuracy"]}, key=lambda t: (FORMS.index(t[0]), *t)
    )
    heads = [f"{form} {length:,}, {pairs}" for form, length, pairs in tests]
    lines = [
        "| mixer | learned | steps | processor minutes | " + " | ".join(heads) + " |",
        "| --- " * (4 + len(tests)) + "|",
    ]
    for cell in sorted(cells, key=lambda c: (list(MIXERS).index(c["mixer"]), c["forms"])):
        found = {tuple(test[:3]): f"{100 * test[3]:.1f}" for test in cell["accuracy"]}
        row = [
            cell["mixer"],
            " and ".join(cell["forms"]),
            f"{cell['trained_steps']:,}",
            f"{cell['processor_minutes']:.1f}",
        ]
        lines.append(f"| {' | '.join([*row, *(found.get(test, '') for test in tests)])} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a directory with one JSON file a cell")
    parser.add_argument("--mixers", nargs="+", choices=MIXERS, default=list(MIXERS))
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=["single", "multi"], help="what one model learns")
    parser.add_argument(
        "--lengths", nargs="+", type=int, default=[256, 1024, 2048], help="tested; the last is the longest"
    )
    parser.add_argument("--pairs", nargs="+", type=int, default=[4, 16, 64], help="tested; the last is the most")
    parser.add_argument("--symbols", type=int, default=SYMBOLS, help="keys, and as many values")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--validate-every", type=int, default=500)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--optimizer", choices=("muon", "adamw"), default="muon")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="train nothing; print the cells of --out")
    arguments = parser.parse_args()
    if arguments.table:
        print(table([json.loads(path.read_text("utf-8")) for path in sorted(arguments.out.glob("*.json"))]))
        return
    torch.set_num_threads(arguments.threads)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for mixer in arguments.mixers:
        cell = Cell(
            mixer,
            tuple(arguments.forms),
            arguments.lengths[-1],
            arguments.pairs[-1],
            arguments.steps,
            arguments.batch_tokens,
            arguments.learning_rate,
            arguments.optimizer,
            symbols=arguments.symbols,
            width=arguments.width,
        )
        path = arguments.out / f"{cell.name}.json"
        if not path.exists():
            result = train(cell, arguments.validate_every, arguments.lengths, arguments.pairs)
            path.write_text(json.dumps(result), encoding="utf-8")
            print(f"{cell.name:32} {result['processor_minutes']:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
