"""A stepper that has already said something: so that every search, which begins with nothing said, goes on with a prompt.

Shapes: B sentences, k hypotheses each, P tokens of a prompt.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.search.stepper import Record, Stepper


@dataclass(frozen=True, slots=True)
class PromptedState:
    """The model's own state, and the token that is fed first."""

    inner: Any
    first: Tensor | None  # [B, k], the same for every hypothesis; None: it was fed

    def reorder(self, sentences: Tensor, parents: Tensor) -> "PromptedState":
        first = None if self.first is None else self.first[sentences].gather(1, parents)
        return PromptedState(self.inner.reorder(sentences, parents), first)


class Prompted:
    """A language model behind prompts of one length, which it reads in one pass; the searches are told what comes after."""

    def __init__(self, stepper: Stepper[Any], prompts: Tensor) -> None:
        """prompts [B, P], the start token first."""
        self.start_token, self.end_token = stepper.start_token, stepper.end_token
        self._stepper, self._prompts = stepper, prompts

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> PromptedState:
        assert prefix is None, "a search begins with nothing said"
        return PromptedState(self._stepper.start(None, self._prompts[:, :-1]), self._prompts[:, -1:])

    def step(
        self, tokens: Tensor, state: PromptedState, record: bool = False
    ) -> tuple[Tensor, PromptedState, Record | None]:
        fed = tokens if state.first is None else state.first
        logits, inner, seen = self._stepper.step(fed, state.inner, record)
        return logits, PromptedState(inner, None), seen
