"""`Ensemble`: a `Stepper` made of `Stepper`s, so that every search supports ensembles.

Its probabilities are the arithmetic mean of its members'. With the geometric mean (of log-probabilities) a single member could forbid a
token.

Shapes: B sentences, k hypotheses each, S source, P prefix, V outputs.
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
        """Keep the sentences [B'], with the hypotheses parents [B', k'] of each."""
        return EnsembleState(tuple(state.reorder(sentences, parents) for state in self.states))


@dataclass(frozen=True, slots=True)
class EnsembleRecord:
    """The mean attention of the members, [B, k, S]."""

    attention: Tensor | None


class Ensemble:
    """Models with the same vocabularies, searched as one."""

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
        """Feed tokens [B, k] to every member. Returns the mean's log-probabilities [B, k, V], which are valid logits."""
        steps = [member.step(tokens, own, record) for member, own in zip(self.members, state.states, strict=True)]
        logits = mean_log_probabilities([logits for logits, _, _ in steps])
        return logits, EnsembleState(tuple(own for _, own, _ in steps)), _mean_record([each for _, _, each in steps])


def mean_log_probabilities(logits: Sequence[Tensor]) -> Tensor:
    """The log of the mean of the softmax distributions of logits [..., V]."""
    sizes = {each.shape[-1] for each in logits}
    if len(sizes) != 1:
        raise SearchError(f"the models of an ensemble generate {sorted(sizes)} tokens: they need the same vocabulary")
    return torch.stack([log_probabilities(each) for each in logits]).logsumexp(dim=0) - math.log(len(logits))


def _mean_record(records: Sequence[Record | None]) -> EnsembleRecord | None:
    """The mean over the members that have attention."""
    if all(record is None for record in records):
        return None
    weights = [record.attention for record in records if record is not None and record.attention is not None]
    return EnsembleRecord(torch.stack(weights).mean(dim=0) if weights else None)
