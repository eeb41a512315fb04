"""Self-attention to a part of the sequence: a window of neighbours, or BigBird's pattern of blocks.

Both have the weights of `SelfAttention` and its scaled dot product. A probe that wants what attention computes gets it written out, with a
mask of all pairs; without one no such mask is made.

Shapes: B batch, R rows, T positions, D width, H heads, d head width, S keys.
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.layers.attention import SHOWN, SelfAttention
from regard.layers.mixer import SEGMENT, MixerState, by_segments, real_positions
from regard.layers.positions import RotaryPositions
from regard.ops.attention import attend
from regard.ops.block_sparse import BlockPattern, block_sparse_attention
from regard.ops.masks import additive
from regard.ops.probe import Probe
from regard.ops.windows import window_attention, window_mask


class _PartialAttention(SelfAttention, ABC):
    """Self-attention to the keys of a pattern. The cache of a step has keys and values, and how many positions there were."""

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Float[Tensor, "B 1 1 T"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Attention of each position to those of its pattern."""
        real = real_positions(mask)
        query, keys, values = self.projections(x)
        if probe is not None and any(map(probe.wants, SHOWN)):
            allowed = self.pattern_mask(x.shape[1], real)
            return self.attend(query, self.keys_of(keys), values, mask=additive(allowed, x.dtype), probe=probe)
        context = self.look(self._with_positions(query, 0), self.keys_of(keys), values, real)
        output: Tensor = self.output(context.flatten(2))
        return output

    def begin(self, rows: int) -> MixerState:
        """No keys, no values, no positions."""
        nothing = self.value.weight.new_zeros(rows, self.heads, 0, self.value.out_features // self.heads)
        return nothing, nothing, torch.zeros(rows, dtype=torch.long, device=nothing.device)

    @abstractmethod
    def look(
        self,
        query: Float[Tensor, "B H T d"],
        keys: Float[Tensor, "B H S d"],
        values: Float[Tensor, "B H S d"],
        real: Bool[Tensor, "B S"] | None,
    ) -> Float[Tensor, "B T H d"]:
        """The contexts of the queries, of which the last is aligned with the last key."""

    @abstractmethod
    def pattern_mask(self, length: int, real: Bool[Tensor, "B T"] | None) -> Bool[Tensor, "B 1 T T"]:
        """True where a position sees another, and itself."""

    def _with_cached(
        self, x: Float[Tensor, "R T D"], state: MixerState, first: int
    ) -> tuple[Float[Tensor, "R H T d"], Float[Tensor, "R H S d"], Float[Tensor, "R H S d"]]:
        """(queries of the new positions, all keys, all values): those of the cache and the new ones. first: the first new position."""
        earlier_keys, earlier_values, _ = state
        query, key, value = self.projections(x)
        keys = torch.cat([earlier_keys, self.keys_of(key, first)], dim=2)
        return self._with_positions(query, first), keys, torch.cat([earlier_values, value], dim=2)


class WindowAttention(_PartialAttention):
    """Attention to the nearest `window` positions: half on either side of each or, if it is causal, itself and those before it."""

    def __init__(self, *, width: int, heads: int, causal: bool, rotary: RotaryPositions | None, window: int) -> None:
        super().__init__(width=width, heads=heads, causal=causal, rotary=rotary)
        assert window % 2, f"a window of {window} positions has no middle"
        self.before, self.after = (window - 1, 0) if causal else (window // 2, window // 2)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Float[Tensor, "B 1 1 T"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Attention of each position to its window; if it is causal, in segments."""
        if self.causal and mask is None and probe is None and x.shape[1] > SEGMENT:
            return by_segments(self, x)
        return super().forward(x, mask, probe)

    def look(
        self,
        query: Float[Tensor, "B H T d"],
        keys: Float[Tensor, "B H S d"],
        values: Float[Tensor, "B H S d"],
        real: Bool[Tensor, "B S"] | None,
    ) -> Float[Tensor, "B T H d"]:
        q, k, v = (x.transpose(1, 2) for x in (query, keys, values))
        return window_attention(q, k, v, before=self.before, after=self.after, real=real)

    def pattern_mask(self, length: int, real: Bool[Tensor, "B T"] | None) -> Bool[Tensor, "B 1 T T"]:
        near = window_mask(length, length, before=self.before, after=self.after)
        return _with_padding(near[None].to(self.value.weight.device), real)

    def step(
        self, x: Float[Tensor, "R T D"], state: MixerState, mask: Float[Tensor, "*#mask T S"] | None = None
    ) -> tuple[Float[Tensor, "R T D"], MixerState]:
        """Attention of new positions. The cache keeps no more than a window: its cost does not grow."""
        assert mask is None, "a window has no bias of relative positions"
        assert isinstance(state, tuple)
        seen, new = state[2], x.shape[1]
        query, keys, values = self._with_cached(x, state, int(seen[0]))
        if new == 1:
            context = attend(query, keys, values).transpose(1, 2)
        else:  # queries for the cached keys too, whose answers are dropped, keep the blocks aligned
            cached = query.new_zeros(*query.shape[:2], keys.shape[2] - new, query.shape[3])
            context = self.look(torch.cat([cached, query], dim=2), keys, values, None)[:, -new:]
        last = max(0, keys.shape[2] - self.before)
        return self.output(context.flatten(2)), (keys[:, :, last:], values[:, :, last:], seen + new)


class BlockSparseAttention(_PartialAttention):
    """Attention to neighbouring blocks, to the first ones, and to some drawn at random."""

    def __init__(
        self, *, width: int, heads: int, causal: bool, rotary: RotaryPositions | None, pattern: BlockPattern
    ) -> None:
        super().__init__(width=width, heads=heads, causal=causal, rotary=rotary)
        self.pattern = pattern

    def look(
        self,
        query: Float[Tensor, "B H T d"],
        keys: Float[Tensor, "B H S d"],
        values: Float[Tensor, "B H S d"],
        real: Bool[Tensor, "B S"] | None,
    ) -> Float[Tensor, "B T H d"]:
        q, k, v = (x.transpose(1, 2) for x in (query, keys, values))
        return block_sparse_attention(q, k, v, self.pattern, real)

    def pattern_mask(self, length: int, real: Bool[Tensor, "B T"] | None) -> Bool[Tensor, "B 1 T T"]:
        counts = None if real is None else -(-real.sum(dim=1) // self.pattern.size)
        return _with_padding(self.pattern.mask(length, counts).to(self.value.weight.device), real)

    def step(
        self, x: Float[Tensor, "R T D"], state: MixerState, mask: Float[Tensor, "*#mask T S"] | None = None
    ) -> tuple[Float[Tensor, "R T D"], MixerState]:
        """Attention of new positions. The cache keeps all keys, of which a position reads those of its blocks."""
        assert mask is None, "a pattern of blocks has no bias of relative positions"
        assert isinstance(state, tuple)
        query, keys, values = self._with_cached(x, state, state[0].shape[2])
        context = self.look(query, keys, values, None)
        return self.output(context.flatten(2)), (keys, values, state[2] + x.shape[1])


def _with_padding(pattern: Bool[Tensor, "_ T T"], real: Bool[Tensor, "B T"] | None) -> Bool[Tensor, "_ 1 T T"]:
    """The pattern without padding, in which every position sees itself."""
    if real is not None:
        pattern = pattern & real[:, None, :]
    itself = torch.eye(pattern.shape[-1], dtype=torch.bool, device=pattern.device)
    return (pattern | itself)[:, None]
