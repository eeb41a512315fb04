"""The seam between searches and models: what a model must offer to be searched, said once and checked structurally.

It knows no model and no search. A recurrent network, a cached Transformer, an n-gram table or an ensemble of them satisfies these
protocols by their shape, without importing anything from here.

Shapes: B sentences, k hypotheses each, S source, P prefix, V tokens that can be generated (pad is not among them).
"""

from typing import Protocol, Self, TypeVar

from torch import Tensor


class State(Protocol):
    """What a model remembers between two steps: B sentences with k hypotheses each.

    A search goes on from what `step` or `reorder` gave it and never from an older state, so a model may reuse its memory.
    """

    def reorder(self, sentences: Tensor, parents: Tensor) -> Self:
        """The state of the hypotheses that go on.

        sentences [B'] are indices into the old B, strictly increasing: a search drops sentences, it never permutes or repeats them.
        parents [B', k'] are indices into the old k of that sentence, in any order, with repeats; k' may differ from k.
        """
        ...


class Record(Protocol):
    """What one step saw, for those who asked."""

    @property
    def attention(self) -> Tensor | None:
        """Where each hypothesis looked in the source while it chose its next token, [B, k, S]; None where a model has none."""
        ...


StateT = TypeVar("StateT", bound=State)


class Stepper(Protocol[StateT]):
    """A model that says, token by token, what may come next. Contract: step by step equals teacher-forced."""

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
        prefix [B, P]: tokens already consumed, the start token among them; None: nothing is consumed yet.
        """
        ...

    def step(self, tokens: Tensor, state: StateT, record: bool = False) -> tuple[Tensor, StateT, Record | None]:
        """Feed tokens [B, k], one to each hypothesis: logits [B, k, V] of the next one, the new state, and the record if asked for."""
        ...
