"""An extension with a task of its own: to reverse lists of digits. It has its own data, settings, network, loss, codecs and score."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import regard
from regard.bundle.config import BundleSettings
from regard.bundle.manifest import Manifest
from regard.bundle.opened import OpenBundle
from regard.errors import ConfigError, DataError
from regard.metrics.scores import METRICS, Metric
from regard.models.config import ModelConfig
from regard.settings import Settings
from regard.tasks.interface import ResultFile
from regard.training.config import RunSettings, TrainConfig
from regard.training.events import Sample
from regard.training.objective import Evaluation, Loss, Measured, StepInfo


class ReverseData(Settings):
    """Lists of digits."""

    lists: str | None = None
    """A file with a list of digits a line, all equally long; not given, random ones."""
    length: int = 4
    """How many digits a list has."""


class ReverseModel(ModelConfig):
    """A linear map of all digits."""

    kind: Literal["linear"] = "linear"
    """Which network."""


class ReverseSettings(RunSettings):
    """A run that reverses lists."""

    task: Literal["reverse"] = "reverse"
    data: ReverseData = ReverseData()
    model: ReverseModel = ReverseModel()
    train: TrainConfig = TrainConfig()


class ReverseBundle(BundleSettings):
    """The config.json of a model that reverses lists."""

    task: Literal["reverse"] = "reverse"
    model: ReverseModel = ReverseModel()
    length: int
    codec_files = ("digits.json",)

    def network(self) -> nn.Module:
        return Reverser(self.length)

    def save_codecs(self, codecs: str, directory: Path) -> None:
        (directory / "digits.json").write_text(json.dumps(codecs), encoding="utf-8")

    def load_codecs(self, files: Manifest) -> str:
        return str(json.loads(files.read("digits.json")))


class Reverser(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.map = nn.Linear(10 * length, 10 * length)

    def forward(self, lists: Tensor) -> Tensor:
        one_hot = F.one_hot(lists, 10).flatten(1).to(self.map.weight.dtype)
        logits: Tensor = self.map(one_hot).view(-1, self.length, 10)
        return logits


@dataclass(frozen=True)
class Digits:
    lists: Tensor

    def to(self, device: Any) -> "Digits":
        return replace(self, lists=self.lists.to(device))


class DigitExamples:
    def __init__(self, lists: Sequence[str]) -> None:
        self.lists = torch.tensor([[int(digit) for digit in line] for line in lists])

    def __len__(self) -> int:
        return len(self.lists)

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[Any]:
        order = np.random.default_rng([seed, epoch]).permutation(len(self))
        size = max(1, batch_tokens // self.lists.shape[1])
        return [order[start : start + size] for start in range(0, len(order), size)]

    def split(self, batch: Any, parts: int, seed: int, epoch: int) -> list[Any]:
        return np.array_split(batch, parts)

    def batch(self, numbers: Any, seed: int, epoch: int, readings: int = 1) -> Digits:
        return Digits(self.lists[torch.from_numpy(np.asarray(numbers))])

    def where(self, batches: Any, seed: int, epoch: int) -> str:
        return "lists"


@dataclass(frozen=True)
class ListTest:
    lists: list[str]
    name: str | None = None


class ReverseObjective:
    def __init__(self, settings: ReverseSettings, base: OpenBundle | None) -> None:
        length, lists = settings.data.length, settings.data.lists
        generator = random.Random(1)
        made = ["".join(generator.choices("0123456789", k=length)) for _ in range(300)]
        lines = made if lists is None else Path(lists).read_text(encoding="utf-8").split()
        if any(len(line) != length for line in lines):
            raise DataError(f"{lists}: a list that has not {length} digits; set data.length")
        self.settings, self.train, self.valid = settings, lines[:-20], lines[-20:]
        self.examples = DigitExamples(self.train)
        self.bundle = ReverseBundle(length=length)
        self.key, self.codecs, self.vocabulary, self.left_out = "".join(lines), "0123456789", (10,), {}

    @property
    def test(self) -> ListTest:
        return ListTest(self.valid, "validation")

    def begin(self, network: nn.Module) -> None:
        pass

    def loss(self, network: nn.Module, batch: Digits, step: StepInfo) -> Loss:
        total = F.cross_entropy(network(batch.lists).flatten(0, 1), batch.lists.flip(1).flatten(), reduction="sum")
        return Loss(total, {"nll": total.item()}, batch.lists.numel())

    def validate(self, network: nn.Module) -> Measured:
        with torch.no_grad():
            loss = self.loss(network, self.examples.batch(np.arange(len(self.train)), 0, 0), StepInfo(0, 0, 1))
        hypotheses = ListReverser(network).reverse(self.valid)
        scores = {"digits": METRICS["digits"].of_corpus(hypotheses, [line[::-1] for line in self.valid])}
        samples = tuple(map(Sample, self.valid, [line[::-1] for line in self.valid], hypotheses))
        return Measured(float(loss.total) / loss.count, scores["digits"], scores, samples[:1])


class ListReverser:
    explainer: Any = None

    def __init__(self, network: nn.Module, bundle: OpenBundle | None = None) -> None:
        self.network, self.bundle = network, bundle

    @torch.no_grad()
    def reverse(self, lists: Sequence[str]) -> list[str]:
        digits = self.network(DigitExamples(lists).lists).argmax(dim=-1)
        return ["".join(map(str, row)) for row in digits.tolist()]


class Reverse:
    name = "reverse"
    run = ReverseSettings
    bundle = ReverseBundle
    scores = validated = ("digits",)
    results = ResultFile("reversed.jsonl", ("list", "expected", "found"), ("lists", "lists"))
    advice = "use the Python API: load(..).reverse(..)"

    def objective(self, settings: ReverseSettings, base: OpenBundle | None, listener: Any) -> ReverseObjective:
        return ReverseObjective(settings, base)

    def load(self, bundle: OpenBundle, device: Any, engine: str, precision: str) -> ListReverser:
        from regard.bundle.bundle import read_network

        return ListReverser(read_network(bundle, device), bundle)

    def test_set(self, served: ListReverser, flags: Any) -> ListTest:
        if flags["data"] is None:
            raise ConfigError("give --data F with a list a line")
        return ListTest(Path(flags["data"]).read_text(encoding="utf-8").split())

    def evaluate(self, served: ListReverser, test: ListTest) -> Evaluation:
        expected, hypotheses = [line[::-1] for line in test.lists], served.reverse(test.lists)
        rows = [
            {"list": line, "expected": right, "found": hypothesis}
            for line, right, hypothesis in zip(test.lists, expected, hypotheses, strict=True)
        ]
        metrics = {"digits": METRICS["digits"].of_corpus(hypotheses, expected), "lists": len(rows), "set": test.name}
        return Evaluation(metrics, rows)

    def shown(self, metrics: Any) -> str:
        return f"digits {metrics['digits']:.3f} of {metrics['lists']} lists\n"


def right_digits(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    return [
        sum(digit == right for digit, right in zip(hypothesis, reference, strict=True)) / len(reference)
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


regard.extend(
    tasks=[Reverse()],
    metrics=[Metric("digits", "digits", judges="lists", unit="%", digits=1, sentence_scores=right_digits)],
)
