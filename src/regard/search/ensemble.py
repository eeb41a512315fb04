"""Several models as one: a `Stepper` of `Stepper`s, so that every search serves ensembles. It knows no model.

The ensemble's p(next) is the arithmetic mean of its members' probabilities. (The geometric mean, of log-probabilities, would let one
member that is sure that a token is wrong forbid it.)

Shapes: B sentences, k hypotheses each, S source, P prefix, V tokens that can be generated.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.errors import SearchError
from regard.search.logprobs import log_probabilities
from regard.search.stepper import Record, State, Stepper


@dataclass(frozen=True, slots=True)
class EnsembleState:
    """The state of every member."""

    states: tuple[State, ...]

    def reorder(self, sentences: Tensor, parents: Tensor) -> "EnsembleState":
        """Keep the sentences [B'] and give each the hypotheses that descend from parents [B', k']."""
        return EnsembleState(tuple(state.reorder(sentences, parents) for state in self.states))


@dataclass(frozen=True, slots=True)
class EnsembleRecord:
    """Where the members looked, on average, [B, k, S]."""

    attention: Tensor | None


class Ensemble:
    """Models that speak the same tokens and read the same source."""

    def __init__(self, members: Sequence[Stepper[Any]]) -> None:
        marks = {(member.start_token, member.end_token) for member in members}
        if len(marks) != 1:
            raise SearchError("an ensemble needs at least one model, and of several the same start and end tokens")
        self.members = tuple(members)
        [(self.start_token, self.end_token)] = marks

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> EnsembleState:
        """The members' states, after the source [B, S] and the prefix [B, P]."""
        return EnsembleState(tuple(member.start(source, prefix) for member in self.members))

    def step(
        self, tokens: Tensor, state: EnsembleState, record: bool = False
    ) -> tuple[Tensor, EnsembleState, Record | None]:
        """tokens [B, k] to every member; log-probabilities [B, k, V] of their mean, which are logits too."""
        steps = [member.step(tokens, one, record) for member, one in zip(self.members, state.states, strict=True)]
        logits = mean_log_probabilities([logits for logits, _, _ in steps])
        return logits, EnsembleState(tuple(one for _, one, _ in steps)), _mean_record([seen for _, _, seen in steps])


def mean_log_probabilities(logits: Sequence[Tensor]) -> Tensor:
    """log of the mean of the distributions that the logits [..., V] stand for."""
    sizes = {each.shape[-1] for each in logits}
    if len(sizes) != 1:
        raise SearchError(f"the models of an ensemble generate {sorted(sizes)} tokens: they need the same vocabulary")
    return torch.stack([log_probabilities(each) for each in logits]).logsumexp(dim=0) - math.log(len(logits))


def _mean_record(seen: Sequence[Record | None]) -> EnsembleRecord | None:
    """Of the members that look anywhere."""
    if all(one is None for one in seen):
        return None
    looks = [one.attention for one in seen if one is not None and one.attention is not None]
    return EnsembleRecord(torch.stack(looks).mean(dim=0) if looks else None)
