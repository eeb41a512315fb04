"""`SharedCache`: one KV cache for all hypotheses of a sentence, so that a beam is reordered without moving keys or values.

A hypothesis attends to the keys of every hypothesis that its sentence ever had, and a mask hides those that are not of its own past
(`Past`, one for all layers). That is k times as many scores. On a CPU it is still faster for a few hypotheses, because the cache of
a plain beam is copied twice a step: to reorder it, and to append to it. Sentences that leave a beam keep their places until a quarter
of all places is theirs.

Shapes: B sentences, P places of sentences, k hypotheses each, R = B k rows, H heads, d head width, t positions, N keys so far, C keys that
there is memory for, W any width.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

MOST_SHARING = 8  # hypotheses; with more, the scores cost more than the copies
SPARE_STEPS = 16  # positions that new memory has room for
FEWEST_IN_USE = 0.75  # of all places; with fewer, caches are copied to as many places as there are sentences


@dataclass(frozen=True, slots=True)
class Past:
    """Which keys of a `SharedCache` each hypothesis sees, and the places of the sentences."""

    hidden: Float[Tensor, "P k N"]  # the mask that is added to scores: 0, or minus infinity
    places: Int[Tensor, " B"] | None = None  # None: every place has its sentence

    @classmethod
    def common(cls, values: Float[Tensor, "B H N d"]) -> "Past":
        """The past of sentences with one hypothesis each: all of it is seen."""
        return cls(values.new_zeros(len(values), 1, values.shape[2]))

    @property
    def mask(self) -> Float[Tensor, "P 1 k N"]:
        """The mask for all heads."""
        return self.hidden[:, None]

    @property
    def sentences(self) -> int:
        """The number of sentences, B."""
        return len(self.hidden) if self.places is None else len(self.places)

    def spread(self, x: Float[Tensor, "B k W"]) -> Float[Tensor, "P k W"]:
        """Each sentence at its place, and zeros elsewhere."""
        if self.places is None:
            return x
        return x.new_zeros(len(self.hidden), *x.shape[1:]).index_copy_(0, self.places, x)

    def collect(self, x: Float[Tensor, "P k W"]) -> Float[Tensor, "B k W"]:
        """The sentences from their places."""
        return x if self.places is None else x.index_select(0, self.places)

    def extended(self) -> "Past":
        """The past with one more position, at which each hypothesis sees its own key alone."""
        places, hypotheses, _ = self.hidden.shape
        own = torch.full((hypotheses, hypotheses), -torch.inf, dtype=self.hidden.dtype, device=self.hidden.device)
        own.fill_diagonal_(0.0)
        return Past(torch.cat([self.hidden, own.expand(places, -1, -1)], dim=2), self.places)

    def reorder(
        self, sentences: Int[Tensor, " B"], parents: Int[Tensor, "B k"]
    ) -> "tuple[Past, Int[Tensor, ' B'] | None]":
        """The past of these sentences, with the hypotheses `parents` of each, and the places that caches must keep; None: all of them."""
        places = sentences if self.places is None else self.places[sentences]
        rows = (places[:, None] * self.hidden.shape[1] + parents).flatten()
        chosen = self.hidden.flatten(0, 1).index_select(0, rows).view(*parents.shape, -1)
        if len(places) == len(self.hidden):
            return Past(chosen), None
        if len(places) < FEWEST_IN_USE * len(self.hidden):
            return Past(chosen), places
        sparse = Past(self.hidden.new_empty(len(self.hidden), 0, 0), places)
        return Past(sparse.spread(chosen), places), None


@dataclass(frozen=True, slots=True)
class SharedCache:
    """The keys and values of one layer. Buffers are extended in place."""

    keys: Float[Tensor, "P H d C"]  # each key a column: so the products with queries are faster
    values: Float[Tensor, "P H C d"]
    filled: int  # N
    length: int  # t, the position of the next token
    past: Past  # the same of all layers

    @classmethod
    def of(cls, keys: Float[Tensor, "B H t d"], values: Float[Tensor, "B H t d"]) -> "SharedCache":
        """The cache of sentences with one hypothesis each, which others may now continue."""
        return cls(keys.transpose(2, 3), values, keys.shape[2], keys.shape[2], Past.common(values))

    def append(self, keys: Float[Tensor, "P H k d"], values: Float[Tensor, "P H k d"]) -> "SharedCache":
        """The cache with one more position: a key and a value of each hypothesis."""
        filled = self.filled + keys.shape[2]
        longer = self if filled <= self.values.shape[2] else self._with_room(filled + SPARE_STEPS * keys.shape[2])
        longer.keys[..., self.filled : filled] = keys.transpose(2, 3)
        longer.values[:, :, self.filled : filled] = values
        return SharedCache(longer.keys, longer.values, filled, self.length + 1, self.past)

    def contents(self) -> tuple[Float[Tensor, "P H N d"], Float[Tensor, "P H N d"]]:
        """All keys and values so far."""
        return self.keys[..., : self.filled].transpose(2, 3), self.values[:, :, : self.filled]

    def keep(self, places: Int[Tensor, " B"]) -> "SharedCache":
        """The cache of these places."""
        keys, values = (buffer.index_select(0, places) for buffer in (self.keys, self.values))
        return replace(self, keys=keys, values=values)

    def by_rows(self) -> tuple[Float[Tensor, "R H t d"], Float[Tensor, "R H t d"]]:
        """The plain cache of each hypothesis."""
        if self.past.places is not None:
            past = Past(self.past.hidden.index_select(0, self.past.places))
            return replace(self.keep(self.past.places), past=past).by_rows()
        sentences, hypotheses, _ = self.past.hidden.shape
        own = (self.past.hidden == 0).nonzero()[:, 2].view(sentences, 1, hypotheses * self.length, 1)
        rows = []
        for part in self.contents():
            heads, width = part.shape[1], part.shape[3]
            taken = part.gather(2, own.expand(-1, heads, -1, width))  # [B, H, k t, d]
            rows.append(taken.view(sentences, heads, hypotheses, self.length, width).transpose(1, 2).flatten(0, 1))
        return rows[0], rows[1]

    def _with_room(self, size: int) -> "SharedCache":
        """The same contents in larger buffers."""
        places, heads, filled, width = self.contents()[0].shape
        keys, values = (
            self.keys.new_empty(places, heads, width, size),
            self.values.new_empty(places, heads, size, width),
        )
        keys[..., :filled] = self.keys[..., :filled]
        values[:, :, :filled] = self.values[:, :, :filled]
        return replace(self, keys=keys, values=values)
