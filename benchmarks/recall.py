"""What mixers remember: associative recall by mixer, length and number of pairs, from sequences that are generated.

    python benchmarks/recall.py --out recall --form multi --lengths 256 --pairs 4 16 --mixers attention linear
    python benchmarks/recall.py --out recall --table

Each cell trains a small language model (2 blocks of width 64, 2 heads, feed-forward 128) from nothing on sequences that never repeat, with
the loss at the queries only, and then answers 512 sequences of another seed. A cell is one JSON file in `--out`: a cell that is there is
not trained again, so that a run may be cut off and continued. Its budget is a number of steps; training ends before it where 512 answers of
a third seed are all right twice in a row. `--table` trains nothing and prints the cells as Markdown.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from regard.data.recall import UNASKED, VOCABULARY, Recall
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
TRAIN, VALID, TEST = 1, 2, 3  # seeds
TESTED = 512  # sequences
SOLVED = 0.999
PART = 8192  # tokens that are answered together


@dataclass(frozen=True)
class Cell:
    """One cell: a mixer on a task, and its budget."""

    mixer: str
    form: str
    length: int
    pairs: int
    steps: int
    batch: int
    learning_rate: float
    optimizer: str = "muon"
    seed: int = 1

    @property
    def name(self) -> str:
        return f"{self.form}-{self.length}-{self.pairs}-{self.mixer}-{self.seed}"


def network_of(cell: Cell) -> Any:
    """The network of a cell. A window is an eighth of the length, so that two blocks of it do not reach all of it."""
    config = LanguageTransformerConfig.parse(
        {
            "mixer": MIXERS[cell.mixer],
            "layers": 2,
            "width": 64,
            "heads": 2,
            "feed_forward": 128,
            "dropout": 0.0,
            "activation": "gelu",
            "max_positions": cell.length,
            "window": cell.length // 8 + 1,
            "block": 16,
        }
    )
    torch.manual_seed(cell.seed)
    return build_language_model(config, VOCABULARY + 1, cell.length)  # and pad


def answers(network: Any, tokens: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(logits [Q, V], expected [Q]) of the queries of a batch."""
    hidden = network.hidden(tokens[:, :0], tokens)
    asked = targets != UNASKED
    return network.project(hidden[asked]), targets[asked]


@torch.no_grad()
def accuracy(network: Any, task: Recall, seed: int) -> float:
    """The share of the queries that are answered right."""
    network.eval()
    right = total = 0
    count = max(1, PART // task.length)
    for first in range(0, TESTED, count):
        tokens, targets = map(torch.from_numpy, task.batch(seed, first, min(count, TESTED - first)))
        logits, expected = answers(network, tokens, targets)
        right, total = right + int((logits.argmax(dim=1) == expected).sum()), total + len(expected)
    network.train()
    return right / total


def train(cell: Cell, validate_every: int) -> dict[str, Any]:
    """Train and test one cell."""
    task = Recall(cell.form, cell.length, cell.pairs)  # type: ignore[arg-type]
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
    for step in range(1, cell.steps + 1):
        tokens, targets = map(torch.from_numpy, task.batch(TRAIN, step * cell.batch, cell.batch))
        network.zero_grad()
        logits, expected = answers(network, tokens, targets)
        F.cross_entropy(logits, expected).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
        optimizer.step(
            learning_rate(
                "linear",
                settings.learning_rate,
                step=step,
                warmup=settings.warmup,
                progress=(step - 1) / cell.steps,
                width=64,
            )
        )
        if step % validate_every == 0 or step == cell.steps:
            curve.append((step, accuracy(network, task, VALID)))
            print(f"{cell.name:32} step {step:6,}: {curve[-1][1]:.3f}", flush=True)
            solved = solved + 1 if curve[-1][1] >= SOLVED else 0
            if solved == 2:
                break
    return {
        **asdict(cell),
        "parameters": sum(p.numel() for p in network.parameters()),
        "trained_steps": curve[-1][0],
        "accuracy": accuracy(network, task, TEST),
        "curve": curve,
        "minutes": (time.perf_counter() - started) / 60,
        "processor_minutes": (time.process_time() - computing) / 60,
    }


def table(cells: list[dict[str, Any]]) -> str:
    """Markdown: a row a mixer, a column a task."""
    tasks = sorted({(cell["form"], cell["length"], cell["pairs"]) for cell in cells})
    lines = [
        "| mixer | " + " | ".join(f"{form} {length:,}, {pairs} pairs" for form, length, pairs in tasks) + " |",
        "| --- " * (1 + len(tasks)) + "|",
    ]
    for mixer in MIXERS:
        row = []
        for task in tasks:
            own = [c for c in cells if c["mixer"] == mixer and (c["form"], c["length"], c["pairs"]) == task]
            row.append(", ".join(f"{100 * c['accuracy']:.1f} ({c['trained_steps']:,})" for c in own))
        if any(row):
            lines.append(f"| {mixer} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a directory with one JSON file a cell")
    parser.add_argument("--mixers", nargs="+", choices=MIXERS, default=list(MIXERS))
    parser.add_argument("--form", choices=("single", "multi"), default="multi")
    parser.add_argument("--lengths", nargs="+", type=int, default=[256])
    parser.add_argument("--pairs", nargs="+", type=int, default=[4, 16, 64])
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--batch-tokens", type=int, default=8192)
    parser.add_argument("--validate-every", type=int, default=200)
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
    for length in arguments.lengths:
        for pairs in arguments.pairs:
            for mixer in arguments.mixers:
                batch = max(1, arguments.batch_tokens // length)
                cell = Cell(
                    mixer,
                    arguments.form,
                    length,
                    pairs,
                    arguments.steps,
                    batch,
                    arguments.learning_rate,
                    arguments.optimizer,
                )
                path = arguments.out / f"{cell.name}.json"
                if not path.exists():
                    result = train(cell, arguments.validate_every)
                    path.write_text(json.dumps(result), encoding="utf-8")
                    print(f"{cell.name:32} {100 * result['accuracy']:.1f} %", flush=True)


if __name__ == "__main__":
    main()
