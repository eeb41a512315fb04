"""What every network offers to those who train, search and explain it. It satisfies `search.Stepper` by its shape.

Ids: `</s>` 0, pad last; what is said starts from pad, and pad has no logit, so that it can neither be generated nor take probability in
the loss.

Shapes: B batch, S source, T target, D width of what is projected, V outputs (the target vocabulary without pad), k hypotheses.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.models.tables import token_embedding
from regard.ops.probe import Probe

ROWS_AT_ONCE = 512  # of logits, when scoring: with a vocabulary of 32,000 they are 64 megabytes


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What one step saw: where each hypothesis looked in the source, mean of the last layer's heads, [B, k, S]."""

    attention: Tensor


class NextToken(nn.Module, ABC):
    """A network that says one token after the other, teacher-forced or step by step."""

    end_token = 0
    target_pad: int
    start_token: int
    context: int | None = None
    """The most tokens that it remembers; None: there is no such limit."""

    def forward(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """Teacher forcing: (source [B, S], target_in [B, T]) -> logits [B, T, V] of each next token."""
        return self.project(self.hidden(source, target_in, probe))

    @abstractmethod
    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """What the projection turns into logits, [B, T, D]."""

    @abstractmethod
    def project(self, hidden: Tensor) -> Tensor:
        """[..., D] -> logits [..., V]"""

    def likelihoods(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """log p of targets [N], from hidden [N, D]."""
        parts = [slice(first, first + ROWS_AT_ONCE) for first in range(0, len(targets), ROWS_AT_ONCE)]
        return torch.cat(
            [self.project(hidden[part]).log_softmax(-1).gather(1, targets[part, None])[:, 0] for part in parts]
        )

    @abstractmethod
    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> Any:
        """Read the source [B, S], and the tokens [B, P] that are already said, once for all steps."""

    @abstractmethod
    def step(self, tokens: Tensor, state: Any, record: bool = False) -> tuple[Tensor, Any, StepRecord | None]:
        """tokens [B, k], one for each hypothesis -> logits [B, k, V] of the next, the new state, and what was attended to."""


class Learner(nn.Module, ABC):
    """A network whose outputs have weights, so that its loss has gradients."""

    target_pad: int
    """The ids below it are the outputs."""

    @abstractmethod
    def hidden(self, source: Tensor, target_in: Tensor, probe: Probe | None = None) -> Tensor:
        """What the projection turns into logits, [B, T, D]."""

    @abstractmethod
    def output_table(self) -> Tensor:
        """[W, D]: the weights of the outputs, and where the embedding is tied, its last row, pad, which is none."""

    def project(self, hidden: Tensor) -> Tensor:
        """[..., D] -> logits [..., V]"""
        return hidden @ self.output_table()[: self.target_pad].T


class Trainable(Learner, NextToken):
    """One that says tokens, and learns to. What it says starts from pad."""

    def __init__(self, vocabulary: int, width: int, *, tie: bool) -> None:
        """tie: one matrix for the embedding and the output."""
        super().__init__()
        self.target_pad = self.start_token = vocabulary - 1
        self.target_embedding = token_embedding(vocabulary, width)
        self.output = None if tie else nn.Parameter(torch.empty(self.target_pad, width))

    def output_table(self) -> Tensor:
        """[W, D]: the weights of the outputs, and where the embedding is tied, its last row, pad, which is none."""
        return self.target_embedding.weight if self.output is None else self.output


class Classifier(Learner):
    """A network that reads a source and says one label, T = 1; or a tagger, that says one of each token, T = S."""

    tagging = False

    def forward(self, source: Tensor) -> Tensor:
        """source [B, S] -> logits [B, L] of the labels; of a tagger [B, S, L]."""
        logits = self.project(self.hidden(source, source[:, :0]))
        return logits if self.tagging else logits[:, 0]


class EncoderDecoder(Trainable):
    """A network that reads a source and says a target."""

    def __init__(self, source_vocabulary: int, target_vocabulary: int, width: int, *, joint: bool, tie: bool) -> None:
        """joint: both sides share one vocabulary, and where `tie`, one embedding."""
        super().__init__(target_vocabulary, width, tie=tie)
        self.source_pad = source_vocabulary - 1
        self.source_embedding = self.target_embedding if joint and tie else token_embedding(source_vocabulary, width)


class LanguageModel(Trainable):
    """A network that goes on with what was said. Of a source it reads nothing but how many sentences there are: `[B, 0]` will do."""

    def __init__(self, vocabulary: int, width: int, *, tie: bool) -> None:
        super().__init__(vocabulary, width, tie=tie)
        # pad has a vector too: of a beginning at zero, which nothing is added to, each norm makes the gradient 300 times as large
        self.target_embedding = nn.Embedding(vocabulary, width)


def sentences_of(source: Tensor | None, prefix: Tensor | None) -> int:
    """B, where nothing is read but what was said: of the source [B, S], or where there is none, of the prefix [B, P]."""
    told = prefix if source is None else source
    assert told is not None, "how many sentences? Give a source of no tokens, or a prefix"
    return len(told)
