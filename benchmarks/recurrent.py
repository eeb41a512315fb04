"""The cost of recurrent models and of scores: ratios of one run.

    python benchmarks/recurrent.py [--preset tiny] [--rounds 5]

First: one training step (loss, gradient, AdamW) of regard's LSTM with additive attention beside a network of the same size as its user
would write it, `nn.LSTM` and a loop of `nn.LSTMCell` with attention, on the same batches of the pocket corpus in alternating rounds.
Then: every score, forward and backward, as heads of a Transformer compare and as a recurrent decoder asks, step by step.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.data.batches import Batch, make_batch, plan
from regard.data.config import PairData
from regard.data.prepare import prepare
from regard.layers.scores import SCORES, AttentionScore, ScoreShape
from regard.models.build import build_translator
from regard.models.config import RecurrentConfig
from regard.ops.attention import attend
from regard.text.config import TextConfig
from regard.training.loss import batch_loss

SMOOTHING, BATCH_TOKENS, BATCHES = 0.1, 1024, 6
CPU = torch.device("cpu")


class PlainLoop(nn.Module):
    """Bahdanau's model as a tutorial has it: every map of a step within the step, padding masked."""

    def __init__(self, vocabulary: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        assert layers == 1, "the loop that is compared has one layer"
        self.pad = vocabulary - 1
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=self.pad)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.encoder = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(width, 2 * width)
        self.cell = nn.LSTMCell(2 * width, width)
        self.query, self.key = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.energy = nn.Linear(width, 1, bias=False)
        self.readout = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        scale = self.embedding.embedding_dim**0.5
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.embedding(source) * scale),
            (source != self.pad).sum(dim=1),
            batch_first=True,
            enforce_sorted=False,
        )
        states, (last, _) = self.encoder(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        hidden, memory = self.bridge(torch.cat([last[0], last[1]], dim=1)).chunk(2, dim=1)
        hidden = torch.tanh(hidden)
        keys, nobody = self.key(states), source == self.pad
        embedded, outputs = self.dropout(self.embedding(target_in) * scale), []
        for step in range(target_in.shape[1]):
            energies = self.energy(torch.tanh(self.query(hidden)[:, None] + keys)).squeeze(2)
            weights = torch.softmax(energies.masked_fill(nobody, -torch.inf), dim=1)
            context = (weights[:, None] @ states)[:, 0]
            hidden, memory = self.cell(torch.cat([embedded[:, step], context], dim=1), (hidden, memory))
            outputs.append(torch.tanh(self.readout(torch.cat([hidden, context], dim=1))))
        return self.dropout(torch.stack(outputs, dim=1)) @ self.embedding.weight[: self.pad].T


def plain_loss(network: PlainLoop, batch: Batch) -> Tensor:
    logits = network(batch.source, batch.target_in)
    return F.cross_entropy(
        logits.flatten(0, 1),
        batch.target_out.flatten(),
        ignore_index=network.pad,
        label_smoothing=SMOOTHING,
        reduction="sum",
    )


def steps(network: nn.Module, loss: Callable[[Batch], Tensor], batches: list[Batch]) -> Callable[[], float]:
    """A function that trains on all batches once and returns the seconds."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)

    def once() -> float:
        started = time.perf_counter()
        for batch in batches:
            optimizer.zero_grad()
            (loss(batch) / batch.tokens).backward()
            optimizer.step()
        return time.perf_counter() - started

    return once


def training(preset: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        prepared = prepare(PairData(pocket=5000), TextConfig(vocabulary=500), Path(home))
        corpus = prepared.train
        planned = plan(corpus.source_lengths, corpus.target_lengths, BATCH_TOKENS, 1, 0)[:BATCHES]
        batches = [make_batch(corpus, examples, prepared.tokenizers) for examples in planned]
    config = RecurrentConfig(preset=preset, layers=1)
    vocabulary = len(prepared.tokenizers.target.vocabulary)
    ours = build_translator(config, vocabulary, vocabulary, joint=True).train()
    plain = PlainLoop(vocabulary, config.width, config.layers, config.dropout).train()
    runs = {
        "regard": steps(ours, lambda batch: batch_loss(ours, batch, SMOOTHING, CPU)[0], batches),
        "nn.LSTM and a loop of nn.LSTMCell": steps(plain, lambda batch: plain_loss(plain, batch), batches),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            seconds[name].append(run())
    tokens = sum(batch.tokens for batch in batches)
    print(
        f"LSTM of width {config.width} with additive attention, {vocabulary} pieces, {tokens} target tokens a round\n"
    )
    print("| training | target tokens a second | beside regard |")
    print("| --- | --- | --- |")
    first = statistics.median(seconds["regard"][1:])
    for name, times in seconds.items():
        median = statistics.median(times[1:])
        print(f"| {name} | {tokens / median:,.0f} | {first / median:.2f} |")


def made(name: str, width: int) -> AttentionScore:
    score = SCORES[name](
        ScoreShape(query=width, key=width, inner=width // 4 if name == "latent" else width, positions=64)
    )
    with torch.no_grad():
        for parameter in score.parameters():
            parameter.normal_(std=width**-0.5)
    return score


def attended(score: AttentionScore, query: Tensor, keys: Tensor, loops: int) -> float:
    """Seconds to attend, forward and backward: all queries at once, or each in a step of its own."""
    started = time.perf_counter()
    remembered = score.remember(keys)
    parts = query.chunk(loops, dim=2)
    contexts = [attend(score.ask(part), remembered, keys, score=score.compare) for part in parts]
    torch.autograd.grad(torch.cat(contexts, dim=2).sum(), [query, keys])
    return time.perf_counter() - started


def scores(rounds: int) -> None:
    heads = torch.randn(32, 4, 24, 32, requires_grad=True), torch.randn(32, 4, 24, 32, requires_grad=True)
    states = torch.randn(32, 1, 24, 256, requires_grad=True), torch.randn(32, 1, 24, 256, requires_grad=True)
    print("\n| score | 4 heads of 32, all queries at once | one head of 256, step by step |")
    print("| --- | --- | --- |")
    seconds: dict[str, list[list[float]]] = {name: [[], []] for name in SCORES}
    for _ in range(rounds + 1):
        for name, times in seconds.items():
            times[0].append(attended(made(name, 32), *heads, loops=1))
            times[1].append(attended(made(name, 256), *states, loops=24))
    medians = {name: [statistics.median(some[1:]) for some in times] for name, times in seconds.items()}
    for name, times in medians.items():
        shown = [f"{time / base:.2f}" for time, base in zip(times, medians["scaled_dot"], strict=True)]
        print(f"| {name} | {shown[0]} | {shown[1]} |")
    print("\nIn units of the scaled dot product, without the projections around it; 32 sentences, 24 queries, 24 keys.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="tiny", choices=["tiny", "small", "base"])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    training(arguments.preset, arguments.rounds)
    scores(arguments.rounds)


if __name__ == "__main__":
    main()
