"""`SharedCaches`: the keys and values of all layers of a decoder, in memory that steps fill in place.

The hypotheses of a sentence share its cache, so that a beam is reordered without moving keys or values. A hypothesis attends to the keys of
every hypothesis that its sentence ever had, and a mask hides those that are not of its own past (`Past`, one for all layers). That is k
times as many scores. On a CPU it is still faster for a few hypotheses, because the cache of a plain beam is copied twice a step: to reorder
it, and to append to it. Sentences that leave a search keep their places until a quarter of all places is theirs.

Shapes: B sentences, P places of sentences, k hypotheses each, m after a reorder, R = B k rows, L = P k rows of all places, H heads,
d head width, t positions, N keys so far, C keys that there is memory for, W any width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

MOST_SHARING = 8  # hypotheses; with more, the scores cost more than the copies
SPARE_STEPS = 16  # positions that new memory has room for, at least
FEWEST_IN_USE = 0.75  # of all places; with fewer, caches are copied to as many places as there are sentences


@dataclass(frozen=True, slots=True)
class Past:
    """Which keys of a cache each hypothesis sees, and the places of the sentences."""

    size: int  # P
    hypotheses: int = 1  # k
    hidden: Float[Tensor, "P k N"] | None = None  # added to scores: 0, or minus infinity; None: every key is seen
    places: Int[Tensor, " B"] | None = None  # None: every place has its sentence

    def spread(self, x: Float[Tensor, "R W"]) -> Float[Tensor, "L W"]:
        """Each sentence at its place, and zeros elsewhere."""
        if self.places is None:
            return x
        width = self.hypotheses * x.shape[1]
        rows = x.new_zeros(self.size, width).index_copy_(0, self.places, x.view(-1, width))
        return rows.view(-1, x.shape[1])

    def collect(self, x: Float[Tensor, "L W"]) -> Float[Tensor, "R W"]:
        """The sentences from their places."""
        if self.places is None:
            return x
        return x.view(self.size, -1).index_select(0, self.places).view(-1, x.shape[1])

    def extended(self) -> "Past":
        """The past with one more position, at which each hypothesis sees its own key alone."""
        if self.hidden is None:
            return self
        own = torch.full((self.hypotheses,) * 2, -torch.inf, dtype=self.hidden.dtype, device=self.hidden.device)
        own.fill_diagonal_(0.0)
        return replace(self, hidden=torch.cat([self.hidden, own.expand(self.size, -1, -1)], dim=2))

    def reorder(
        self, sentences: Int[Tensor, " B"], parents: Int[Tensor, "B m"], shown: Float[Tensor, "P k N"]
    ) -> "tuple[Past, Int[Tensor, ' B'] | None]":
        """The past of these sentences, each with m of its hypotheses, and the places that caches must keep; None: all of them.

        shown: the mask of a past in which every key is seen.
        """
        count, wanted = parents.shape
        places = sentences if self.places is None else self.places[sentences]
        chosen: Tensor | None = None
        if self.hidden is not None or wanted > 1:
            hidden = shown if self.hidden is None else self.hidden
            rows = (places[:, None] * self.hypotheses + parents).flatten()
            chosen = hidden.flatten(0, 1).index_select(0, rows).view(count, wanted, -1)
        if count == self.size:
            return Past(count, wanted, chosen), None
        if count < FEWEST_IN_USE * self.size:
            return Past(count, wanted, chosen), places
        sparse = Past(self.size, wanted, None, places)
        if chosen is not None:
            spread = sparse.spread(chosen.view(count * wanted, -1)).view(self.size, wanted, -1)
            sparse = replace(sparse, hidden=spread)
        return sparse, None


class LayerCache:
    """The keys and values of one layer, with views of them."""

    __slots__ = ("keys", "pairs", "values", "written")

    def __init__(self, pairs: Float[Tensor, "2 P H C d"], written: int) -> None:
        self.pairs = pairs
        """Keys, then values: a step writes both at once."""
        self.keys, self.values = (part.flatten(0, 1) for part in pairs)
        """[P H, C, d] each."""
        self.written = written
        """The keys that some state sees: a state that sees fewer may not write behind its own."""

    @classmethod
    def of(cls, keys: Float[Tensor, "P H C d"], values: Float[Tensor, "P H C d"]) -> "LayerCache":
        """The cache of these keys and values."""
        return cls(torch.stack([keys, values]), keys.shape[2])

    def keep(self, places: Int[Tensor, " B"], filled: int) -> "LayerCache":
        """The cache of these places, of which so many keys are seen."""
        return LayerCache(self.pairs.index_select(1, places), filled)

    def with_room(self, filled: int, size: int) -> "LayerCache":
        """The same contents in larger memory."""
        *leading, _, width = self.pairs.shape
        pairs = self.pairs.new_empty(*leading, size, width)
        pairs[..., :filled, :] = self.pairs[..., :filled, :]
        return LayerCache(pairs, filled)


@dataclass(frozen=True, slots=True)
class SharedCaches:
    """The keys and values of all layers.

    Memory is filled in place, behind what earlier states see. The first state that goes on from another one fills its memory, and every
    further one gets memory of its own, so that a state may be stepped from as often as one likes.
    """

    layers: tuple[LayerCache, ...]
    filled: int  # N
    length: int  # t, the position of the next token
    past: Past  # the same of all layers

    @classmethod
    def of(cls, caches: Sequence[tuple[Float[Tensor, "B H t d"], Float[Tensor, "B H t d"]]]) -> "SharedCaches":
        """The caches of sentences with one hypothesis each."""
        layers = tuple(LayerCache.of(keys, values) for keys, values in caches)
        length = caches[0][0].shape[2]
        return cls(layers, length, length, Past(len(caches[0][0])))

    def extended(self) -> "SharedCaches":
        """The caches with one more position: a key and a value of each hypothesis, yet to be written."""
        filled, layers = self.filled + self.past.hypotheses, self.layers
        if filled > self.layers[0].values.shape[1] or self.layers[0].written > self.filled:
            size = filled + self.past.hypotheses * max(SPARE_STEPS, self.length // 2)
            layers = tuple(layer.with_room(self.filled, size) for layer in self.layers)
        layers[0].written = filled
        return SharedCaches(layers, filled, self.length + 1, self.past.extended())

    def reorder(
        self, sentences: Int[Tensor, " B"], parents: Int[Tensor, "B m"]
    ) -> "tuple[SharedCaches, Int[Tensor, ' B'] | None]":
        """The caches of these sentences, each with m of its hypotheses, and the places that were kept; None: all of them."""
        nothing_hidden = self.layers[0].values.new_zeros(()).expand(self.past.size, self.past.hypotheses, self.filled)
        past, places = self.past.reorder(sentences, parents, nothing_hidden)
        layers = self.layers if places is None else tuple(layer.keep(places, self.filled) for layer in self.layers)
        return SharedCaches(layers, self.filled, self.length, past), places

    def by_rows(self) -> tuple[tuple[Float[Tensor, "R H t d"], Float[Tensor, "R H t d"]], ...]:
        """The plain caches of each hypothesis."""
        past, layers = self.past, self.layers
        hidden = past.hidden
        if past.places is not None:
            layers = tuple(layer.keep(past.places, self.filled) for layer in layers)
            hidden = None if hidden is None else hidden.index_select(0, past.places)
        contents = [layer.pairs[..., : self.filled, :].unbind() for layer in layers]
        if hidden is None:
            return tuple((keys, values) for keys, values in contents)
        seen = (hidden == 0).nonzero()[:, 2].view(len(hidden), 1, past.hypotheses * self.length, 1)
        return tuple((self._own(keys, seen), self._own(values, seen)) for keys, values in contents)

    def _own(self, part: Float[Tensor, "B H N d"], seen: Int[Tensor, "B 1 S 1"]) -> Float[Tensor, "R H t d"]:
        """The keys or the values that each hypothesis sees."""
        sentences, heads, _, width = part.shape
        taken = part.gather(2, seen.expand(-1, heads, -1, width))  # [B, H, k t, d]
        rows = taken.view(sentences, heads, self.past.hypotheses, self.length, width)
        return rows.transpose(1, 2).flatten(0, 1)
