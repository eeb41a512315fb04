"""Attention to neighbours: each position sees those at most so many places before and after it (Beltagy et al. 2020).

Queries are cut into blocks as long as the window reaches, so that a block sees itself and the blocks beside it. No mask of T x T is made:
time and memory are O(T w) for a window of w positions.

Shapes: B batch, T positions, H heads, d head width, N blocks, c positions of a block, s = 2 c or 3 c keys that a block sees.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor


def window_mask(queries: int, keys: int, *, before: int, after: int) -> Bool[Tensor, "T S"]:
    """True where a query sees a key; the last query is aligned with the last key. For the attention that is written out."""
    distance = torch.arange(keys - queries, keys)[:, None] - torch.arange(keys)
    return (distance <= before) & (distance >= -after)


def window_attention(
    query: Float[Tensor, "B T H d"],
    keys: Float[Tensor, "B T H d"],
    values: Float[Tensor, "B T H d"],
    *,
    before: int,
    after: int,
    real: Bool[Tensor, "B T"] | None = None,  # False on padding
) -> Float[Tensor, "B T H d"]:
    """softmax over the window of q . k / sqrt(d), times the values."""
    batch, length = query.shape[:2]
    size = min(max(before, after, 1), length)
    blocks = -(-length // size)
    fill = blocks * size - length
    sides = 3 if after else 2
    own, place = torch.arange(blocks)[:, None], torch.arange(size)
    at = own * size + place  # [N, c]: the position of each query
    seen = (own - 1) * size + torch.arange(sides * size)  # [N, s]: the position of each key
    distance = at[:, :, None] - seen[:, None, :]
    mask = (distance <= before) & (distance >= -after) & ((seen >= 0) & (seen < length))[:, None, :]
    mask = mask.to(query.device)[None]
    if real is not None:
        there = F.pad(real, (size, fill + size)).unfold(1, sides * size, size)[:, :blocks]  # [B, N, s]
        # padding sees itself: a row of minus infinity has no softmax
        mask = mask & there[:, :, None, :] | (distance == 0).to(query.device)
    else:
        mask = mask | (distance == 0).to(query.device)
    context = F.scaled_dot_product_attention(
        _blocks(query, fill, size).transpose(1, 2),  # [B N, H, c, d]
        _beside(keys, fill, size, sides).transpose(1, 2),
        _beside(values, fill, size, sides).transpose(1, 2),
        attn_mask=mask.expand(batch, -1, -1, -1).reshape(batch * blocks, 1, size, sides * size),
    )
    return context.transpose(1, 2).reshape(batch, blocks * size, *query.shape[2:])[:, :length]


def _blocks(x: Float[Tensor, "B T H d"], fill: int, size: int) -> Float[Tensor, "BN c H d"]:
    return torch.unflatten(F.pad(x, (0, 0, 0, 0, 0, fill)), 1, (-1, size)).flatten(0, 1)


def _beside(x: Float[Tensor, "B T H d"], fill: int, size: int, sides: int) -> Float[Tensor, "BN s H d"]:
    """For each block, the block before it, the block itself and, of three sides, the one after it."""
    padded = torch.unflatten(
        F.pad(x, (0, 0, 0, 0, size, fill + (sides - 2) * size)), 1, (-1, size)
    )  # [B, N + sides - 1, c, ..]
    blocks = padded.shape[1] - sides + 1
    return torch.cat([padded[:, side : side + blocks] for side in range(sides)], dim=2).flatten(0, 1)
