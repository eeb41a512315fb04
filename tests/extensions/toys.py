"""An extension: a mixer, an attention score, a metric, an optimiser and a kind of classifier, none of which is in regard."""

from typing import Any, Literal

import torch
from torch import Tensor, nn

import regard
from regard.layers.mixers import MixerOptions
from regard.layers.scores import AttentionScore, ScoreShape
from regard.metrics.scores import Metric
from regard.models.config import ModelConfig
from regard.models.network import ClassifierNetwork
from regard.ops.scores import dot


class RunningMean(nn.Module):
    """Each position becomes a map of the mean of itself and those before it; not causal: of all positions."""

    def __init__(self, width: int, causal: bool) -> None:
        super().__init__()
        self.map = nn.Linear(width, width)
        self.causal = causal

    def forward(self, x: Tensor, mask: Tensor | None = None, probe: Any = None) -> Tensor:
        if not self.causal:
            real = torch.ones_like(x[..., :1]) if mask is None else (mask[:, 0, 0, :, None] == 0).to(x.dtype)
            return self.map((x * real).sum(dim=1, keepdim=True) / real.sum(dim=1, keepdim=True)).expand_as(x)
        return self.step(x, self.begin(len(x)))[0]

    def begin(self, rows: int) -> tuple[Tensor, ...]:
        weight = self.map.weight
        return weight.new_zeros(rows, weight.shape[1]), weight.new_zeros(rows)

    def step(
        self, x: Tensor, state: tuple[Tensor, ...], mask: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        total, count = state
        sums = total[:, None] + x.cumsum(dim=1)
        counts = count[:, None] + torch.arange(1, x.shape[1] + 1, device=x.device)
        return self.map(sums / counts[..., None]), (sums[:, -1], counts[:, -1])


def running_mean(options: MixerOptions) -> RunningMean:
    return RunningMean(options.width, options.causal)


running_mean.causal = True  # type: ignore[attr-defined]


class HalfDot(AttentionScore):
    """q . k / 2"""

    def __init__(self, shape: ScoreShape) -> None:
        super().__init__()

    def prepare_query(self, query: Tensor) -> Tensor:
        return query / 2.0

    @property
    def compare(self) -> Any:
        return dot


def first_words(hypotheses: Any, references: Any) -> list[float]:
    return [float(one.split()[:1] == other.split()[:1]) for one, other in zip(hypotheses, references, strict=True)]


def copied_words(hypotheses: Any, references: Any, sources: Any) -> list[float]:
    """The share of each hypothesis's words that stand in its source."""
    rows = [(one.split(), set(source.split())) for one, source in zip(hypotheses, sources, strict=True)]
    return [sum(word in source for word in words) / max(1, len(words)) for words, source in rows]


class SignDescent(torch.optim.Optimizer):
    """w -= lr sign(mean of gradients)"""

    def __init__(self, parameters: Any, lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                mean = state.setdefault("mean", torch.zeros_like(parameter))
                mean.mul_(0.9).add_(parameter.grad, alpha=0.1)
                parameter.sub_(mean.sign(), alpha=group["lr"])


class WordMeanConfig(ModelConfig):
    """The mean of word vectors, and a linear map to the labels."""

    kind: Literal["word_mean"] = "word_mean"
    """Which network."""
    width: int = 8
    """Width of a word vector."""


class WordMean(ClassifierNetwork):
    def __init__(self, config: WordMeanConfig, vocabulary: int, labels: int, *, tagging: bool) -> None:
        super().__init__()
        self.source_pad, self.target_pad, self.tagging = vocabulary - 1, labels, tagging
        self.words = nn.Embedding(vocabulary, config.width, padding_idx=self.source_pad)
        self.output = nn.Parameter(torch.zeros(labels, config.width))

    def hidden(self, source: Tensor, target_in: Tensor, probe: Any = None) -> Tensor:
        real = (source != self.source_pad)[..., None]
        return ((self.words(source) * real).sum(dim=1) / real.sum(dim=1))[:, None]

    def output_table(self) -> Tensor:
        return self.output


regard.extend(
    mixers={"running_mean": running_mean},
    scores={"half_dot": HalfDot},
    metrics=[
        Metric("first_word", "first word", unit="%", digits=1, sentence_scores=first_words),
        Metric("copied", "copied", "lower", digits=3, sentence_scores=copied_words, reads_sources=True),
    ],
    optimizers={
        "sign": (1e-3, lambda matrices, others, config: [SignDescent([*matrices, *others], config.learning_rate)])
    },
    models=[("classify", WordMeanConfig, WordMean)],
)
