"""Muon's share of a training step, and MFU, by the processor time of one worker of two: other programs on the machine do not count.

    python benchmarks/muon_share.py --text DIR                          # tiny, batches of 2,048, 4,096 and 8,192 tokens
    python benchmarks/muon_share.py --text DIR --preset base --rounds 2
    python benchmarks/muon_share.py --text DIR --preset base --tokens 4096 --rounds 1

A worker computes the gradient of half of a batch, and updates half of the weights. Both run here in one thread, in alternating rounds with
the optimiser as it is and with Muon as published (`muon_variants.py`), on the batch with the median of tokens. The share is
update / (gradient + sum + update); medians of the rounds. MFU is by the best `torch.mm` of the run, on one core.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from multi30k_files import file_of
from muon_variants import VARIANTS

from regard.data.batches import make_batch, plan
from regard.data.config import PairData
from regard.data.prepare import prepare
from regard.models.config import TransformerConfig
from regard.tasks.translate.objective import TranslateObjective
from regard.tasks.translate.settings import TranslateSettings
from regard.text.config import TextConfig
from regard.training import muon
from regard.training.malloc import keep_large_blocks
from regard.training.objective import StepInfo
from regard.training.precision import processor
from regard.training.resume import resumed_job
from regard.training.worker import Worker, gradient_buffers
from training import CLIP, DROPOUT, RATE, SEED, SIDES, SIZES, SMOOTHING

FORMS = ("regard's", "Jordan's, 5")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="the folder tok of Multi30k")
    parser.add_argument("--preset", choices=SIZES, default="tiny")
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    keep_large_blocks()
    files = {side: str(file_of(given.text, "train", language)) for side, language in SIDES.items()}
    with tempfile.TemporaryDirectory() as home:
        rows = [
            row for tokens in given.tokens for row in measured(given.preset, tokens, given.rounds, files, Path(home))
        ]
    print(
        f"{given.preset}, torch {torch.__version__}, {processor(torch.device('cpu'))}, one core, {given.rounds} rounds"
    )
    print(
        "| tokens of a batch | gradient (ms) | "
        + " | ".join(f"{form}: update (ms), share" for form in FORMS)
        + " | MFU |"
    )
    print("|" + " --- |" * (3 + len(FORMS)))
    print("\n".join(rows))


def measured(preset: str, tokens: int, rounds: int, files: dict[str, str], home: Path) -> list[str]:
    """The row of the table for batches of so many tokens."""
    data, text = PairData(**files), TextConfig(vocabulary=9700)
    prepared = prepare(data, text, home)
    corpus = prepared.train
    train = {
        "batch_tokens": tokens,
        "learning_rate": RATE,
        "schedule": "constant",
        "clip": CLIP,
        "precision": "float32",
    }
    config = TranslateSettings.model_validate(
        {
            "task": "translate",
            "data": data,
            "text": text,
            "model": TransformerConfig.parse({"preset": preset, "positions": "sinusoidal", "dropout": DROPOUT}),
            "train": {**train, "label_smoothing": SMOOTHING, "max_steps": 10**6, "optimizer": "muon"},
        }
    )
    torch.set_num_threads(2)  # two shares of the weights
    job, _ = resumed_job(config, home / str(tokens), TranslateObjective(config, prepared), torch.device("cpu"))
    buffers = gradient_buffers(job.network, 2)
    worker = Worker(0, config.train, job.objective, job.network, job.optimizer, buffers, job.device)
    torch.set_num_threads(1)
    batches = plan(corpus.source_lengths, corpus.target_lengths, tokens, SEED, 0)
    batch = sorted(batches, key=lambda numbers: int(corpus.target_lengths[numbers].sum()))[len(batches) // 2]
    half = job.objective.examples.split(batch, 2, SEED, 0)[0]
    worker.gradient(StepInfo(0, 0, 1), [half])
    seconds: dict[str, list[float]] = {what: [] for what in ("gradient", "sum", *FORMS)}
    for _ in range(rounds):
        seconds["gradient"].append(_timed(lambda: worker.gradient(StepInfo(0, 0, 1), [half])))
        seconds["sum"].append(_timed(worker.combine))
        for form in FORMS:
            kernel = VARIANTS[form]()
            muon.orthogonalised = lambda matrices, products, kernel=kernel: kernel(matrices)  # type: ignore[misc]
            seconds[form].append(_timed(lambda: worker.update(1e-6, 1.0)))
    middle = {what: statistics.median(values) for what, values in seconds.items()}
    shares = [middle[form] / (middle["gradient"] + middle["sum"] + middle[form]) for form in FORMS]
    cells = " | ".join(f"{1e3 * middle[form]:.0f}, {share:.1%}" for form, share in zip(FORMS, shares, strict=True))
    made = make_batch(corpus, half, prepared.tokenizers)
    layers, width, _, inner = SIZES[preset]
    vocabulary = len(prepared.tokenizers.target.vocabulary)
    at_source = layers * (6 * width**2 + 2 * width * inner)
    at_target = layers * (6 * width**2 + 2 * width * inner) + (vocabulary - 1) * width
    flops = 6.0 * (int((made.source != vocabulary - 1).sum()) * at_source + made.tokens * at_target)
    a = torch.randn(2048, 2048)
    best = min(_timed(lambda: torch.mm(a, a)) for _ in range(6))
    mfu = [
        flops / (middle["gradient"] + middle["sum"] + extra) * best / (2 * 2048**3) for extra in (0.0, middle[FORMS[0]])
    ]
    return [f"| {tokens:,} | {1e3 * middle['gradient']:.0f} | {cells} | {mfu[0]:.2f}, with the update {mfu[1]:.2f} |"]


def _timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
