"""`Live`: the unfinished hypotheses of a beam, with their tokens, log-probabilities, attention and model state.

Shapes: B sentences, b of them still active, k hypotheses each, t tokens generated, S source.
"""

from dataclasses import dataclass
from typing import Generic

import torch
from torch import Tensor

from regard.search.candidates import Candidates
from regard.search.logprobs import sum_type
from regard.search.stepper import Record, StateT, Stepper


@dataclass
class Live(Generic[StateT]):
    """The unfinished hypotheses."""

    sentence: Tensor  # [b], indices into B
    tokens: Tensor  # [b, k], to be fed next
    generated: Tensor  # [b, k, t]
    logprobs: Tensor  # [b, k]
    attention: Tensor | None  # [b, k, t, S], and [b, k, t + 1, S] once the next token is being chosen
    state: StateT

    def look(self, step_record: Record | None) -> None:
        """Append the attention of the current step."""
        if step_record is not None and step_record.attention is not None:
            row = step_record.attention[:, :, None]
            self.attention = row if self.attention is None else torch.cat([self.attention, row], dim=2)

    def extend(self, going: Tensor, candidates: Candidates) -> "Live[StateT]":
        """The hypotheses after the chosen candidates, for the sentences at the indices `going`."""
        parents, tokens = candidates.parents[going], candidates.tokens[going]
        rows = going[:, None]
        return Live(
            sentence=self.sentence[going],
            tokens=tokens,
            generated=torch.cat([self.generated[rows, parents], tokens[..., None]], dim=2),
            logprobs=candidates.logprobs[going],
            attention=None if self.attention is None else self.attention[rows, parents],
            state=self.state.reorder(going, parents),
        )


def first_hypotheses(stepper: Stepper[StateT], source: Tensor) -> Live[StateT]:
    """One empty hypothesis for each sentence of source [B, S]."""
    sentences, device = source.shape[0], source.device
    return Live(
        sentence=torch.arange(sentences, device=device),
        tokens=torch.full((sentences, 1), stepper.start_token, dtype=torch.long, device=device),
        generated=torch.empty((sentences, 1, 0), dtype=torch.long, device=device),
        logprobs=torch.zeros((sentences, 1), dtype=sum_type(device), device=device),
        attention=None,
        state=stepper.start(source),
    )
