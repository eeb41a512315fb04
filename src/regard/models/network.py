"""The base classes of networks, for training, search and explanation. `NextToken` satisfies the protocol `search.Stepper`.

Ids: `</s>` is 0 and pad is the last. Pad is also the start token. It has no logit, so that it is never generated and takes no probability
in the loss.

Shapes: B batch, S source, *source: S ids or the pixels of a picture, T target, D width of what is projected,
V outputs (the target vocabulary without pad), k hypotheses.
"""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn

from regard.layers.copying import CopiedSource, CopyHead
from regard.layers.fronts import TokenFront
from regard.layers.patches import PatchFront
from regard.layers.roles import Role
from regard.models.prepared import PreparedDecoder, PreparedOnce
from regard.ops.copying import copied_mixture
from regard.ops.probe import Probe, within

ROWS_AT_ONCE = 512  # rows of logits in scoring: 64 megabytes with a vocabulary of 32,000


@dataclass(frozen=True, slots=True)
class StepRecord:
    """The attention of one step to the source: the mean of the last layer's heads."""

    attention: Float[Tensor, "B k S"]


class NextToken(nn.Module, ABC):
    """A network that predicts the next token, with teacher forcing or step by step."""

    end_token = 0
    target_pad: int
    start_token: int
    context: int | None = None
    """The context length in tokens; None: no limit."""

    def forward(
        self, source: Num[Tensor, "B *source"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B T V"]:
        """Teacher forcing: the logits of each next token. A name of the probe that fits nothing is a `ConfigError`."""
        hidden = self.hidden(source, target_in, probe)
        if probe is not None:
            probe.require_matches()
        return self.project(hidden)

    @abstractmethod
    def hidden(
        self, source: Num[Tensor, "B *source"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B _ D"]:
        """The last hidden states, which `project` maps to logits: T of them; 1 for a classifier, S for a tagger."""

    @abstractmethod
    def project(self, hidden: Float[Tensor, "*shape D"]) -> Float[Tensor, "*shape V"]:
        """The logits of hidden states."""

    def likelihoods(self, hidden: Num[Tensor, "N D"], targets: Int[Tensor, " N"]) -> Float[Tensor, " N"]:
        """log p of the targets, from hidden states."""
        parts = [slice(first, first + ROWS_AT_ONCE) for first in range(0, len(targets), ROWS_AT_ONCE)]
        return torch.cat(
            [self.project(hidden[part]).log_softmax(-1).gather(1, targets[part, None])[:, 0] for part in parts]
        )

    def unseen_tokens(self) -> tuple[int, ...]:
        """The tokens that the training text lacks, where the network knows them. They can be scored, and are not written."""
        return ()

    @abstractmethod
    def start(self, source: Num[Tensor, "B *source"] | None, prefix: Int[Tensor, "B P"] | None = None) -> Any:
        """Encode the source and prefill the prefix, once for all steps."""

    @abstractmethod
    def step(
        self, tokens: Int[Tensor, "B k"], state: Any, record: bool = False
    ) -> tuple[Float[Tensor, "B k V"], Any, StepRecord | None]:
        """Feed one token per hypothesis. Returns the logits of the next, the new state and the attention."""


class Learner(nn.Module, ABC):
    """A network that is trained by gradients: its outputs have weights."""

    target_pad: int
    """The ids below it are the outputs."""

    @abstractmethod
    def hidden(
        self, source: Num[Tensor, "B *source"], target_in: Int[Tensor, "B T"], probe: Probe | None = None
    ) -> Float[Tensor, "B _ D"]:
        """The last hidden states, which `project` maps to logits: T of them; 1 for a classifier, S for a tagger."""

    @abstractmethod
    def output_table(self) -> Float[Tensor, "W D"]:
        """The weights of the outputs. If tied to the embedding, the last row is pad, which is no output."""

    kept_outputs: Tensor | None = None
    """The weights of the outputs that `restricted` keeps, [V, D]; None: all."""
    kept_bias: Tensor | None = None
    """The bias of the outputs that `restricted` keeps, [V]."""

    def output_offsets(self) -> Float[Tensor, " V"] | None:
        """The bias of the outputs; None: they have none."""
        return None

    def project(self, hidden: Float[Tensor, "*shape D"]) -> Float[Tensor, "*shape V"]:
        """The logits of hidden states."""
        if self.kept_outputs is not None:
            logits = hidden @ self.kept_outputs.T
            return logits if self.kept_bias is None else logits + self.kept_bias
        bias, logits = self.output_offsets(), hidden @ self.output_table()[: self.target_pad].T
        return logits if bias is None else logits + bias

    def restricted(self, outputs: Int[Tensor, " V"]) -> "Learner":
        """The same network, with the same weights, whose logits are of these outputs only."""
        copied = copy.copy(self)
        bias = self.output_offsets()
        copied.kept_outputs = self.output_table().detach()[outputs]
        copied.kept_bias = None if bias is None else bias.detach()[outputs]
        return copied


class Trainable(Learner, NextToken):
    """A network that predicts tokens and is trained by gradients. Its start token is pad."""

    roles: ClassVar[dict[str, Role]] = {"output": "table"}

    def __init__(self, target: TokenFront, *, tie: bool, output_bias: bool = False) -> None:
        """tie: one matrix for the embedding and the output; output_bias: each output has a bias."""
        super().__init__()
        self.target_pad = self.start_token = target.pad
        # the order of registration is the order in which the gradient norm adds up, which decides its last bit
        self.target = target
        self.output = None if tie else output_weights(target.pad, target.embedding.embedding_dim)
        self.output_bias = nn.Parameter(torch.zeros(target.pad)) if output_bias else None
        self._prepared = PreparedOnce()

    def train(self, mode: bool = True) -> "Trainable":
        """Training mode, or evaluation mode. The prepared decoder is forgotten: weights may have changed."""
        self._prepared.forget()
        super().train(mode)
        return self

    def prepared(self, stack: nn.ModuleList, last_norm: nn.Module) -> PreparedDecoder | None:
        """The decoder for single steps; None: it cannot be prepared, or is being trained."""
        outputs = self.output_table()[: self.target_pad]
        return self._prepared.of(stack, last_norm, outputs, self.output_offsets())

    def project_step(self, hidden: Float[Tensor, "R D"], prepared: PreparedDecoder) -> Float[Tensor, "R V"]:
        """`project` for the hidden states of a step."""
        return prepared.project(hidden) if self.kept_outputs is None else self.project(hidden)

    def output_offsets(self) -> Float[Tensor, " V"] | None:
        """The bias of the outputs; None: they have none."""
        return self.output_bias

    def output_table(self) -> Float[Tensor, "W D"]:
        """The weights of the outputs. If tied to the embedding, the last row is pad, which is no output."""
        return self.target.embedding.weight if self.output is None else self.output


class ClassifierNetwork(Learner):
    """A classifier, with one label per source, T = 1; or a tagger, with one label per token, T = S."""

    tagging = False

    def forward(self, source: Int[Tensor, "B S"]) -> Float[Tensor, "B *S L"]:
        """The logits of the labels, [B, L]; of a tagger [B, S, L]."""
        logits = self.project(self.hidden(source, source[:, :0]))
        return logits if self.tagging else logits[:, 0]


class EncoderDecoder(Trainable):
    """A network that reads a source and predicts a target."""

    def __init__(
        self, source: TokenFront | PatchFront, target: TokenFront, *, tie: bool, output_bias: bool = False
    ) -> None:
        """Two fronts of tokens may share one embedding. A front of pixels has no padding."""
        super().__init__(target, tie=tie, output_bias=output_bias)
        self.source_pad = source.pad if isinstance(source, TokenFront) else None
        self.source = source
        self.copying: CopyHead | None = None  # what may be copied from the source; a subclass builds it

    def copied_source(
        self, source: Num[Tensor, "B *source"], states: Float[Tensor, "B S W"], mask: Float[Tensor, "B 1 1 S"]
    ) -> CopiedSource | None:
        """The pieces of a source that may be copied, with their keys; None: the network does not copy."""
        return None if self.copying is None else self.copying.source(states, source, mask, self.target_pad)

    def with_copies(
        self, hidden: Float[Tensor, "B T D"], source: CopiedSource | None, probe: Probe | None = None
    ) -> Float[Tensor, "B T _"]:
        """The hidden states as `project` takes them: where the network copies, with all that it points at."""
        if self.copying is None or source is None:
            return hidden
        return self.copying.rows(hidden, source, self.output_table().dtype, within(probe, "decoder.copy"))

    def states_of(self, hidden: Float[Tensor, "*shape _"]) -> Float[Tensor, "*shape D"]:
        """The hidden states alone."""
        return hidden if self.copying is None else hidden[..., : self.copying.width]

    def project(self, hidden: Float[Tensor, "*shape _"]) -> Float[Tensor, "*shape V"]:
        """The logits of hidden states. Where the network copies, they are log-probabilities, of which softmax makes probabilities."""
        if self.copying is None:
            return super().project(hidden)
        parts = self.copying.parts(hidden)
        return copied_mixture(super().project(parts.hidden), parts.gate, parts.shares, parts.pieces)

    def project_step(self, hidden: Float[Tensor, "R D"], prepared: PreparedDecoder) -> Float[Tensor, "R V"]:
        """`project` for the hidden states of a step."""
        if self.copying is None:
            return super().project_step(hidden, prepared)
        parts = self.copying.parts(hidden)
        return copied_mixture(prepared.project(parts.hidden), parts.gate, parts.shares, parts.pieces)

    def restricted(self, outputs: Int[Tensor, " V"]) -> "Learner":
        """The same network, with the same weights, whose logits are of these outputs only."""
        assert self.copying is None, "a shortlist beside copies is refused before"
        return super().restricted(outputs)


class LanguageModel(Trainable):
    """A language model. It has no source: an empty one, `[B, 0]`, only gives the number of sentences."""


def output_weights(outputs: int, width: int) -> nn.Parameter:
    """The weights [V, D] of outputs that are not tied to an embedding, initialised so that logits are of order one."""
    return nn.Parameter(nn.init.normal_(torch.empty(outputs, width), std=width**-0.5))


def sentences_of(source: Int[Tensor, "B S"] | None, prefix: Int[Tensor, "B P"] | None) -> int:
    """The batch size B of a language model: that of the source or, without one, of the prefix."""
    given = prefix if source is None else source
    assert given is not None, "how many sentences? Give a source of no tokens, or a prefix"
    return len(given)
