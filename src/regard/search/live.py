"""The hypotheses of a beam that go on, with what each has said, how probable it is and where it looked. It chooses nothing.

Shapes: B sentences asked for, b of them still alive, k hypotheses each, t tokens said, S source.
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
    """The hypotheses that go on."""

    sentence: Tensor  # [b], indices into B
    tokens: Tensor  # [b, k], to be fed next
    said: Tensor  # [b, k, t]
    logprobs: Tensor  # [b, k]
    looked: Tensor | None  # [b, k, t, S], and [b, k, t + 1, S] once the next token is being chosen
    state: StateT

    def look(self, seen: Record | None) -> None:
        """Remember where each hypothesis looked while its next token was chosen."""
        if seen is not None and seen.attention is not None:
            row = seen.attention[:, :, None]
            self.looked = row if self.looked is None else torch.cat([self.looked, row], dim=2)

    def extend(self, going: Tensor, found: Candidates) -> "Live[StateT]":
        """The sentences at the indices `going`, each with the hypotheses `found`."""
        parents, tokens = found.parents[going], found.tokens[going]
        rows = going[:, None]
        return Live(
            sentence=self.sentence[going],
            tokens=tokens,
            said=torch.cat([self.said[rows, parents], tokens[..., None]], dim=2),
            logprobs=found.logprobs[going],
            looked=None if self.looked is None else self.looked[rows, parents],
            state=self.state.reorder(going, parents),
        )


def first_hypotheses(stepper: Stepper[StateT], source: Tensor) -> Live[StateT]:
    """One for each sentence of source [B, S], that has said nothing."""
    sentences, device = source.shape[0], source.device
    return Live(
        sentence=torch.arange(sentences, device=device),
        tokens=torch.full((sentences, 1), stepper.start_token, dtype=torch.long, device=device),
        said=torch.empty((sentences, 1, 0), dtype=torch.long, device=device),
        logprobs=torch.zeros((sentences, 1), dtype=sum_type(device), device=device),
        looked=None,
        state=stepper.start(source),
    )
