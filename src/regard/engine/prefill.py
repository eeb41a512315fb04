"""Prefill: a language model that has read its prompts, as a `Stepper`. So every search can continue a prompt.

Shapes: B sentences, k hypotheses each, P tokens of a prompt.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.search.stepper import Record, Stepper


@dataclass(frozen=True, slots=True)
class PrefilledState:
    """The state of the model after the prefill, and the prompt's last token, which is fed first."""

    inner: Any
    first: Tensor | None  # [B, k], the same for every hypothesis; None after the first step

    def reorder(self, sentences: Tensor, parents: Tensor) -> "PrefilledState":
        first = None if self.first is None else self.first[sentences].gather(1, parents)
        return PrefilledState(self.inner.reorder(sentences, parents), first)


class PrefilledStepper:
    """A language model that continues prompts of the same length. `start` prefills all tokens but the last in one forward pass."""

    def __init__(self, stepper: Stepper[Any], prompts: Tensor) -> None:
        """prompts [B, P], the start token first."""
        self.start_token, self.end_token = stepper.start_token, stepper.end_token
        self._stepper, self._prompts = stepper, prompts

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> PrefilledState:
        assert prefix is None, "a search begins with nothing generated"
        return PrefilledState(self._stepper.start(None, self._prompts[:, :-1]), self._prompts[:, -1:])

    def step(
        self, tokens: Tensor, state: PrefilledState, record: bool = False
    ) -> tuple[Tensor, PrefilledState, Record | None]:
        fed = tokens if state.first is None else state.first
        logits, inner, step_record = self._stepper.step(fed, state.inner, record)
        return logits, PrefilledState(inner, None), step_record
