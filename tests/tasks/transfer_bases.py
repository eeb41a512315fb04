"""Bundles of every kind of network with random weights, and what a run takes from one before its first step."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.bundle.bundle import read_network, save_bundle
from regard.settings import merged
from regard.tasks.fine_tuning import base_of, run_settings
from regard.tasks.table import TASKS
from regard.tasks.transfer import Transfer, transfer_of
from regard.training.objective import Trained

SMALL = {"layers": 2, "width": 16, "heads": 2, "feed_forward": 32}
STEPS = {"max_steps": 4, "batch_tokens": 200, "validate_every": 2, "save_every": 2, "samples": 1}


class Home:
    """Texts of every task, and bundles of every kind of network with random weights."""

    def __init__(self, path: Path) -> None:
        self.path = path
        words = [f"{'fine' if n % 2 else 'dull'} {'film ' * (n % 3)}number {n} again" for n in range(80)]
        self.write("text.txt", words)
        self.write("a.xx", words)
        self.write("a.yy", [word.upper() for word in words])
        self.write("labelled.tsv", [f"{word}\t{'good' if n % 2 else 'bad'}" for n, word in enumerate(words)])
        self.write("moods.tsv", [f"{word}\t{('sad', 'glad', 'calm')[n % 3]}" for n, word in enumerate(words)])
        self.write("tagged.tsv", ["they\tP", "can\tV", "fish\tN", ""] * 20)
        text, pairs = {"text": self.file("text.txt")}, {"src": self.file("a.xx"), "tgt": self.file("a.yy")}
        self.data: dict[str, dict[str, Any]] = {
            "pretrain": text,
            "generate": text,
            "translate": pairs,
            "classify": {"labelled": self.file("labelled.tsv")},
        }
        self._made: dict[str, Path] = {}

    def file(self, name: str) -> str:
        return str(self.path / name)

    def base(self, name: str) -> Path:
        """A bundle by its name in `BASES`."""
        if name not in self._made:
            task, changes = BASES[name]
            values = merged({"task": task, "data": self.data[task], "text": {"vocabulary": 320}}, changes)
            objective = TASKS[task].objective(run_settings(values), None, lambda *_: None)
            torch.manual_seed(len(self._made))
            network = scrambled(objective.bundle.network())
            out = self.path / name
            save_bundle(out, network.state_dict(), objective.bundle, objective.codecs)
            self._made[name] = out
        return self._made[name]

    def values(self, start: str, task: str, **changes: Any) -> dict[str, Any]:
        """The settings of a run from a base, with nothing of the base's repeated."""
        plain = {"task": task, "data": self.data[task], "train": {**STEPS, "start": str(self.base(start))}}
        return merged(plain, changes)

    def started(self, start: str, task: str, **changes: Any) -> tuple[nn.Module, Transfer, nn.Module]:
        """(the new network before its first step, its transfer, the network of the base)."""
        settings = run_settings(self.values(start, task, **changes))
        base = base_of(settings)
        objective: Trained = TASKS[task].objective(settings, base, lambda *_: None)
        transfer = transfer_of(objective, base)
        assert base is not None
        assert transfer is not None
        torch.manual_seed(99)
        network = objective.bundle.network()
        transfer.fill(network)
        return network.eval(), transfer, read_network(base)

    def write(self, name: str, lines: list[str]) -> None:
        (self.path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


BASES: dict[str, tuple[str, dict[str, Any]]] = {
    "mask": ("pretrain", {"objective": {"kind": "mask"}, "model": {**SMALL, "norm_kind": "rms"}}),
    "denoise": ("pretrain", {"objective": {"kind": "denoise"}, "model": SMALL}),
    "span": ("pretrain", {"objective": {"kind": "span"}, "model": SMALL, "text": {"vocabulary": 340}}),
    "prefix": ("pretrain", {"objective": {"kind": "prefix"}, "model": SMALL}),
    "language": ("generate", {"model": SMALL}),
    "relative": ("generate", {"model": {**SMALL, "positions": "relative"}}),
    "learned": ("pretrain", {"model": {**SMALL, "positions": "learned", "embedding_norm": True}}),
    "translator": ("translate", {"model": SMALL}),
    "untied": ("translate", {"model": {**SMALL, "tie": False, "output_bias": True}}),
    "two": ("translate", {"model": {**SMALL, "encoder_layers": 3}, "text": {"joint": False}}),
    "classifier": ("classify", {"model": {**SMALL, "pooler": True}}),
    "gru": ("translate", {"model": {"kind": "recurrent", "layers": 1, "width": 16, "cell": "gru"}}),
    "bag": ("classify", {"model": {"kind": "bag"}}),
}


def scrambled(network: nn.Module) -> nn.Module:
    """The network with every weight moved, so that no two tensors are equal by their initial values; padding stays zero."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
        for module in network.modules():
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx] = 0.0
    return network


def compare_rows(transfer: Transfer, tensor: str, ours: Tensor, theirs: Tensor) -> None:
    """Every piece that both vocabularies have keeps its vector."""
    own, other = (side.pieces for side in transfer.vocabularies(tensor))
    common = [piece for piece in other[:-1] if piece in own]
    assert len(common) == len(other) - 1
    mine, stored = (torch.tensor([pieces.index(piece) for piece in common]) for pieces in (own, other))
    assert torch.equal(ours[mine], theirs[stored])
