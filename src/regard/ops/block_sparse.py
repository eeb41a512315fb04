"""Block-sparse attention: a block sees its neighbours, the first blocks, and some blocks drawn at random (Zaheer et al. 2020, BigBird).

Which blocks are drawn follows from their numbers and those of a sentence alone, so neither padding nor the batch changes them. The pattern
has one bit for each pair of blocks; keys are gathered by block. Time and memory are O(T m c) for m blocks of c positions that a block sees.

Shapes: B batch (or 1), T queries, S keys, H heads, d head width, Q query blocks, N key blocks, m blocks that one sees, c positions of
a block.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

NEIGHBOURS = 3
"""Blocks of the local window: the one before, itself and the one after; where nothing may look ahead, the two before and itself."""


@dataclass(frozen=True, slots=True)
class BlockPattern:
    """The pattern of blocks: sizes, and whether a position sees later ones."""

    size: int  # c
    first: int  # blocks that every block sees; unless causal, they see all blocks
    random: int  # blocks drawn for each block
    causal: bool

    def seen(self, rows: range, blocks: int, counts: Int[Tensor, " B"] | None = None) -> Bool[Tensor, "B Q N"]:
        """True where the query blocks `rows` see a block. `counts`: blocks of each sentence, without padding."""
        i, j = torch.tensor(rows)[:, None], torch.arange(blocks)
        ahead = 0 if self.causal else 1
        near = (j - i <= ahead) & (i - j < NEIGHBOURS - ahead)
        allowed = (j <= i)[None] if self.causal else torch.ones_like(near)[None]
        if counts is not None:
            allowed = allowed & (j < counts.cpu()[:, None])[:, None, :]
        fixed = (near | (j < self.first))[None] & allowed
        if not self.random:
            return fixed
        order = _scattered(i, j).expand(len(allowed), -1, -1).masked_fill(fixed | ~allowed, LAST)
        lowest = order.topk(min(self.random, blocks), dim=-1, largest=False)
        drawn = torch.zeros_like(fixed).scatter(-1, lowest.indices, lowest.values < LAST)
        return fixed | drawn

    def mask(self, length: int, counts: Int[Tensor, " B"] | None = None) -> Bool[Tensor, "B T T"]:
        """The same pattern for each pair of positions, with all that the first blocks see. For the attention that is written out."""
        blocks = -(-length // self.size)
        pairs = self.seen(range(blocks), blocks, counts)
        if not self.causal:
            pairs[:, : self.first] = True
        wide = pairs.repeat_interleave(self.size, 1).repeat_interleave(self.size, 2)[:, :length, :length]
        return wide.tril() if self.causal else wide


LAST = 2**32
"""Above every number of `_scattered`."""


def _scattered(i: Int[Tensor, "Q 1"], j: Int[Tensor, " N"]) -> Int[Tensor, "Q N"]:
    """A number below 2^32 for each pair, without order: the lowest of a row are drawn. Two rounds of multiply and shift."""
    mixed = (i * 0x9E3779B1 + j * 0x85EBCA77 + 0x165667B1) % LAST
    for factor in (0x2C1B3C6D, 0x297A2D39):
        mixed = (mixed ^ (mixed >> 15)) * factor % LAST
    return mixed ^ (mixed >> 16)


def block_sparse_attention(
    query: Float[Tensor, "B T H d"],
    keys: Float[Tensor, "B S H d"],
    values: Float[Tensor, "B S H d"],
    pattern: BlockPattern,
    real: Bool[Tensor, "B S"] | None = None,  # False on padding
) -> Float[Tensor, "B T H d"]:
    """softmax over the seen blocks of q . k / sqrt(d), times the values. The last query is aligned with the last key."""
    length = keys.shape[1]
    start = length - query.shape[1]
    whole = 0 if pattern.causal else min(pattern.first * pattern.size, length)
    counts = None if real is None else -(-real.sum(dim=1) // pattern.size)
    parts = []
    if start < whole:  # the first blocks, which see everything
        hidden = None if real is None else real[:, None, None, :]
        parts.append(_attend(query[:, : whole - start], keys, values, hidden))
    if whole < length:
        parts.append(_gathered(query[:, max(0, whole - start) :], keys, values, pattern, counts, real))
    return torch.cat(parts, dim=1)


def _gathered(
    query: Float[Tensor, "B T H d"],
    keys: Float[Tensor, "B S H d"],
    values: Float[Tensor, "B S H d"],
    pattern: BlockPattern,
    counts: Int[Tensor, " B"] | None,
    real: Bool[Tensor, "B S"] | None,
) -> Float[Tensor, "B T H d"]:
    batch, length, size, device = len(keys), keys.shape[1], pattern.size, keys.device
    start = length - query.shape[1]
    blocks, fill = -(-length // size), -length % size
    rows = range(start // size, blocks)
    seen = pattern.seen(rows, blocks, counts)  # [B or 1, Q, N]
    one = torch.arange(len(rows))
    seen[:, one, one + rows.start] = True  # padding sees itself: a row of minus infinity has no softmax
    chosen = seen.to(torch.int8).topk(int(seen.sum(dim=-1).max()), dim=-1)  # [.., Q, m]
    places = (chosen.indices[..., None] * size + torch.arange(size)).flatten(-2).to(device)  # [B or 1, Q, m c]
    alone = query.shape[1] == 1 and counts is None
    at = torch.arange(start, length) if alone else torch.arange(rows.start * size, blocks * size)
    at = at.view(len(rows), -1).to(device)  # [Q, c]: the position of each query
    mask = chosen.values.bool().repeat_interleave(size, -1).to(device) & (places < length)
    if real is not None:
        mask = mask & real.gather(1, places.expand(batch, -1, -1).flatten(1).clamp_max(length - 1)).view(
            batch, *places.shape[1:]
        )
    itself = places[:, :, None, :] == at[None, :, :, None]
    wide = mask[:, :, None, :] | itself
    if pattern.causal:
        wide = wide & (places[:, :, None, :] <= at[None, :, :, None])
    if alone:  # no copy of all keys for one query
        at_most = places[0, 0].clamp_max(length - 1)
        # by heads first, as a cache has them: of another order all keys would be copied
        read = [x.transpose(1, 2).index_select(2, at_most).transpose(1, 2) for x in (keys, values)]
        return _attend(query, read[0], read[1], wide[:, 0, None].expand(batch, -1, -1, -1))
    query = F.pad(query, (0, 0, 0, 0, start - rows.start * size, fill))
    flat = places[..., ::size] // size + blocks * torch.arange(batch, device=device)[:, None, None]
    context = _attend(
        torch.unflatten(query, 1, (len(rows), -1)).flatten(0, 1),
        _selected(keys, flat.flatten(0, 1), fill, size),
        _selected(values, flat.flatten(0, 1), fill, size),
        wide.expand(batch, -1, -1, -1).flatten(0, 1)[:, None],
    )
    context = torch.unflatten(context, 0, (batch, len(rows))).flatten(1, 2)
    return context[:, start - rows.start * size : context.shape[1] - fill]


def _selected(
    x: Float[Tensor, "B S H d"], blocks: Int[Tensor, "K m"], fill: int, size: int
) -> Float[Tensor, "K mc H d"]:
    """The positions of m blocks for each of K query blocks."""
    cut = torch.unflatten(F.pad(x, (0, 0, 0, 0, 0, fill)), 1, (-1, size)).flatten(0, 1)
    return cut.index_select(0, blocks.flatten()).view(len(blocks), -1, *x.shape[2:])


def _attend(
    query: Float[Tensor, "B T H d"],
    keys: Float[Tensor, "B S H d"],
    values: Float[Tensor, "B S H d"],
    mask: Bool[Tensor, "B 1 _ S"] | None,
) -> Float[Tensor, "B T H d"]:
    q, k, v = (x.transpose(1, 2) for x in (query, keys, values))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2)
