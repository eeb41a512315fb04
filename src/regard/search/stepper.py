"""`Stepper`: the interface between searches and models, as structural protocols.

A recurrent network, a Transformer with a KV cache, an n-gram model and an ensemble satisfy them without importing this module.

Shapes: B sentences, k hypotheses each, S source, P prefix, V outputs: the tokens that can be generated, without pad.
"""

from typing import Protocol, Self, TypeVar

from torch import Tensor


class State(Protocol):
    """The decoding state of a model, such as a KV cache, for B sentences with k hypotheses each.

    A search uses only the newest state that `step` or `reorder` returned, so a model may update its buffers in place.
    """

    def reorder(self, sentences: Tensor, parents: Tensor) -> Self:
        """The state of the hypotheses that continue.

        sentences [B'] are indices into the old B, strictly increasing: a search drops sentences, it never permutes or repeats them.
        parents [B', k'] are indices into the old k of that sentence, in any order, with repeats; k' may differ from k.
        """
        ...


class Record(Protocol):
    """The record of one step, made on request."""

    @property
    def attention(self) -> Tensor | None:
        """The attention [B, k, S] to the source in this step; None for a model without attention."""
        ...


StateT = TypeVar("StateT", bound=State)


class Stepper(Protocol[StateT]):
    """A model that predicts token by token. Contract: its steps equal teacher forcing."""

    @property
    def start_token(self) -> int:
        """The token that is fed first."""
        ...

    @property
    def end_token(self) -> int:
        """The token that ends a sentence; it has a logit."""
        ...

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> StateT:
        """The state before the first step, with k = 1.

        source [B, S] ids, padded; None for a language model, and then B is that of the prefix.
        prefix [B, P]: tokens to prefill, the start token included; None: no tokens.
        """
        ...

    def step(self, tokens: Tensor, state: StateT, record: bool = False) -> tuple[Tensor, StateT, Record | None]:
        """Feed tokens [B, k], one to each hypothesis. Returns the logits [B, k, V] of the next, the new state, and the requested record."""
        ...
