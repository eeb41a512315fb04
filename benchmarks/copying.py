"""What a copy mechanism learns: strings of pieces that were never seen together, said again inside a template.

    python benchmarks/copying.py
    python benchmarks/copying.py --steps 300 --kinds recurrent

A source is `a w1 .. wn b` with random words w, and its target `c wn1 .. d` with the same words in the same order. There are as many words
as `--words`, and every sequence is drawn anew, so that none comes twice. The held-out words of `--unseen` are in no training sequence: a
network that does not copy has no way to say them. Each row of the table is a network of one block (or layer) of width 64, trained for
the same steps with and without `model.copy`; it is judged by greedy search on 200 sequences of seen words and 200 of held-out ones.
"""

import argparse
import time
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.data.batches import Batch
from regard.models.build import build_translator
from regard.models.config import ModelConfig, PrefixConfig, RecurrentConfig, TransformerConfig
from regard.search.greedy import greedy
from regard.training.loss import batch_loss

END, MARKS, ROWS, TESTED = 0, 4, 32, 200
LENGTHS = (2, 6)
KINDS = {"transformer": TransformerConfig, "prefix": PrefixConfig, "recurrent": RecurrentConfig}


def sequences(words: Sequence[int], rows: int, pad: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sources [B, S] and targets [B, T] with end marks, padded. Ids 1 to 4 are the template's."""
    sources, targets = [], []
    for _ in range(rows):
        length = int(torch.randint(LENGTHS[0], LENGTHS[1] + 1, (), generator=generator))
        chosen = [words[place] for place in torch.randint(len(words), (length,), generator=generator).tolist()]
        sources.append(torch.tensor([1, *chosen, 2, END]))
        targets.append(torch.tensor([3, *chosen, 4, END]))
    pair = (torch.nn.utils.rnn.pad_sequence(side, batch_first=True, padding_value=pad) for side in (sources, targets))
    return tuple(pair)  # type: ignore[return-value]


def network_of(kind: str, copy: bool, pad: int) -> torch.nn.Module:
    """A new network of the table."""
    blocks = {"heads": 4, "feed_forward": 128} if kind != "recurrent" else {}
    config: ModelConfig = KINDS[kind](**{"layers": 1, "width": 64, "dropout": 0.0, "copy": copy, **blocks})
    torch.manual_seed(1)
    return build_translator(config, pad + 1, pad + 1, joint=True)


def train(network: torch.nn.Module, words: Sequence[int], steps: int, pad: int) -> float:
    """Train it, and return the seconds."""
    generator = torch.Generator().manual_seed(1)
    optimiser, began = torch.optim.Adam(network.parameters(), lr=3e-3), time.monotonic()
    network.train()
    for _ in range(steps):
        source, target = sequences(words, ROWS, pad, generator)
        fed = torch.cat([torch.full((ROWS, 1), pad), target[:, :-1]], dim=1).where(target != pad, pad)
        tokens = int((target != pad).sum())
        loss, _ = batch_loss(network, Batch(source, fed, target, tuple(range(ROWS)), tokens), 0.0, torch.device("cpu"))  # type: ignore[arg-type]
        optimiser.zero_grad()
        (loss / tokens).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    return time.monotonic() - began


def exact(network: torch.nn.Module, words: Sequence[int], pad: int) -> float:
    """The share of sequences that greedy search says without a mistake."""
    source, target = sequences(words, TESTED, pad, torch.Generator().manual_seed(2))
    network.eval()
    with torch.no_grad():
        found = greedy(network, source, max_length=2 * LENGTHS[1])  # type: ignore[arg-type]
    wanted = [tuple(row[(row != pad) & (row != END)].tolist()) for row in target]
    return sum(one[0].tokens == row for one, row in zip(found, wanted, strict=True)) / TESTED


def split(words: int, unseen: int) -> tuple[range, range, int]:
    """The words that are trained, those that are held out, and pad."""
    first = MARKS + 1
    return range(first, first + words), range(first + words, first + words + unseen), first + words + unseen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--unseen", type=int, default=200)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    given = parser.parse_args()
    seen, unseen, pad = split(given.words, given.unseen)
    print(
        "| model.kind | model.copy | exact, seen words | exact, held-out words | seconds |\n| --- | --- | --- | --- | --- |"
    )
    for kind in given.kinds:
        for copy in (False, True):
            network = network_of(kind, copy, pad)
            seconds = train(network, seen, given.steps, pad)
            shares = " | ".join(f"{exact(network, words, pad):.1%}" for words in (seen, unseen))
            print(f"| {kind} | {str(copy).lower()} | {shares} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
