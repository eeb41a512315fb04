"""That speed costs nothing: regard's engine and a plain loop start from the same weights, see the same batches, and descend alike.

    python benchmarks/loss_curve.py [--steps 300] [--figure docs/figures/loss-curve.svg]

The plain path is the same network in one process with `F.cross_entropy` over padded logits, `torch.dropout`, `clip_grad_norm_` and
`torch.optim.AdamW`. Without dropout nothing but rounding may differ, and the table tells by how much; with it the two draw other units,
and the means over a tenth of the run are compared. On the pocket corpus.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from regard.data.batches import make_batch, plan
from regard.data.config import PairData
from regard.data.prepare import Prepared, prepare
from regard.models.build import build_translator
from regard.models.config import TransformerConfig
from regard.tasks.translate.objective import TranslateObjective
from regard.text.config import TextConfig
from regard.training.config import RunSettings, TrainConfig
from regard.training.events import Step
from regard.training.loop import advance
from regard.training.resume import resumed_job

SEED, RATE, SMOOTHING, CLIP, BATCH_TOKENS = 1, 1e-3, 0.1, 1.0, 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    curves: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as home:
        data, text = PairData(pocket=arguments.pairs), TextConfig(vocabulary=500)
        prepared = prepare(data, text, Path(home))
        print("| dropout | steps | first loss | last loss, regard | last loss, plain | largest difference |")
        print("| --- | --- | --- | --- | --- | --- |")
        for dropout in (0.0, 0.15):
            config = RunSettings(
                data=data,
                text=text,
                model=TransformerConfig(positions="sinusoidal", dropout=dropout),
                train=TrainConfig(
                    batch_tokens=BATCH_TOKENS,
                    optimizer="adamw",
                    learning_rate=RATE,
                    schedule="constant",
                    label_smoothing=SMOOTHING,
                    clip=CLIP,
                    warmup=0,
                    seed=SEED,
                    max_steps=arguments.steps,
                ),
            )
            ours = engine(config, prepared, Path(home) / f"run-{dropout}", arguments.steps)
            theirs = plain(config, prepared, arguments.steps)
            curves |= {f"regard, dropout {dropout}": ours, f"plain, dropout {dropout}": theirs}
            tenth = 1 if dropout == 0.0 else max(1, arguments.steps // 10)
            gaps = [abs(a - b) for a, b in zip(means(ours, tenth), means(theirs, tenth), strict=True)]
            print(
                f"| {dropout} | {arguments.steps} | {ours[0]:.4f} | {means(ours, tenth)[-1]:.4f} | {means(theirs, tenth)[-1]:.4f} | "
                f"{max(gaps):.2g}{'' if tenth == 1 else f' (means of {tenth} steps)'} |",
                flush=True,
            )
    if arguments.figure is not None:
        draw(curves, arguments.figure)


def engine(config: RunSettings, prepared: Prepared, home: Path, steps: int) -> list[float]:
    """The losses of regard's own steps."""
    job, _ = resumed_job(config, home, TranslateObjective(config, prepared), torch.device("cpu"))
    losses = []
    with job.team() as team:
        for examples in order(prepared, steps):
            events = advance(job, team, [examples], steps, time.perf_counter())
            losses += [event.loss for event in events if isinstance(event, Step)]
    return losses


def plain(config: RunSettings, prepared: Prepared, steps: int) -> list[float]:
    """The losses of the loop that everyone writes, on the same network."""
    torch.manual_seed(SEED)
    tokenizers = prepared.tokenizers
    sizes = len(tokenizers.source.vocabulary), len(tokenizers.target.vocabulary)
    network = build_translator(config.model, *sizes, joint=tokenizers.joint).train()
    for module in network.modules():
        if hasattr(module, "probability"):
            module.forward = torch.nn.Dropout(module.probability).forward
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0)
    losses = []
    for examples in order(prepared, steps):
        batch = make_batch(prepared.train, examples, tokenizers)
        optimizer.zero_grad()
        logits = network(batch.source, batch.target_in)
        targets = batch.target_out.masked_fill(batch.target_out == network.target_pad, -100)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=SMOOTHING)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()
        losses.append(loss.item())
    return losses


def order(prepared: Prepared, steps: int) -> Any:
    lengths = prepared.train.source_lengths, prepared.train.target_lengths
    return plan(*lengths, BATCH_TOKENS, SEED, 0)[:steps]


def means(values: list[float], size: int) -> list[float]:
    return [statistics.mean(values[first : first + size]) for first in range(0, len(values), size)]


def draw(curves: dict[str, list[float]], path: Path) -> None:
    import matplotlib

    matplotlib.rcParams |= {"svg.hashsalt": "regard", "font.size": 9}
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for (name, losses), color, style in zip(
        curves.items(), ("#0072B2", "#000000", "#D55E00", "#000000"), ("-", ":", "-", "--"), strict=True
    ):
        axes.plot(range(1, 1 + len(losses)), losses, style, color=color, linewidth=1.1, label=name)
    axes.set(xlabel="step", ylabel="training loss (label-smoothed)")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
