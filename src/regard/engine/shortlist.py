"""A search over the shortlisted outputs of a network only. Each sentence keeps its own candidates, whatever shares its batch.

The network projects to the candidates of the whole batch; those of other sentences get no probability. Tokens inside the search are
places in that list.

Shapes: B sentences, k hypotheses each, v candidates of the batch, S source.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.search.hypothesis import Hypothesis
from regard.search.stepper import Record


@dataclass(frozen=True, slots=True)
class ShortlistedState:
    """The state of the network, and the candidates of each sentence."""

    inner: Any
    barred: Tensor  # [B, 1, v]: minus infinity for what is no candidate of the sentence

    def reorder(self, sentences: Tensor, parents: Tensor) -> "ShortlistedState":
        same = len(sentences) == len(self.barred)
        return ShortlistedState(self.inner.reorder(sentences, parents), self.barred if same else self.barred[sentences])


class ShortlistedStepper:
    """A network as a `Stepper` over the candidates of a batch."""

    def __init__(self, network: Any, candidates: Sequence[set[int]]) -> None:
        """candidates: the ids of each sentence, the end token included."""
        device = next(network.parameters()).device
        ids = sorted(set().union(*candidates) - {network.end_token})
        self._ids = [network.end_token, *ids]
        self.end_token, self.start_token = 0, len(self._ids)
        place_of = {token: place for place, token in enumerate(self._ids)}
        barred = torch.full((len(candidates), 1, len(self._ids)), -torch.inf)
        for row, own in enumerate(candidates):
            barred[row, 0, [place_of[token] for token in own]] = 0.0
        self._barred = barred.to(device)
        self._tokens = torch.tensor([*self._ids, network.start_token], device=device)
        self._network = network.restricted(self._tokens[:-1])

    def start(self, source: Tensor | None, prefix: Tensor | None = None) -> ShortlistedState:
        assert prefix is None, "a search begins with nothing generated"
        return ShortlistedState(self._network.start(source), self._barred)

    def step(
        self, tokens: Tensor, state: ShortlistedState, record: bool = False
    ) -> tuple[Tensor, ShortlistedState, Record | None]:
        logits, inner, seen = self._network.step(self._tokens[tokens], state.inner, record)
        return logits.add_(state.barred), ShortlistedState(inner, state.barred), seen

    def places(self, tokens: Sequence[int]) -> tuple[int, ...]:
        """The places of those tokens that are candidates."""
        place_of = {token: place for place, token in enumerate(self._ids)}
        return tuple(place_of[token] for token in tokens if token in place_of)

    def in_ids(self, hypotheses: Sequence[Sequence[Hypothesis]]) -> list[list[Hypothesis]]:
        """The hypotheses with ids for places."""
        return [
            [replace(one, tokens=tuple(self._ids[place] for place in one.tokens)) for one in own] for own in hypotheses
        ]
