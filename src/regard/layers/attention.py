"""Multi-head attention: h projections of queries, keys and values, attention in each, concatenation, one output projection.

MultiHead(Q, K, V) = Concat(head_1 .. head_h) W_O with head_i = attend(Q W_i^Q, K W_i^K, V W_i^V) (Vaswani et al. 2017, section 3.2.2).

Shapes: B batch, T queries, S keys, D width, H heads, d = D / H head width.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.positions import RotaryPositions
from regard.ops.attention import attend, attention_weights
from regard.ops.probe import Probe

Memory = tuple[Tensor, Tensor]
"""Keys and values, [B, H, S, d] each."""


class MultiHeadAttention(nn.Module):
    """Attention of H heads. Keys and values are projected by `remember`, so that a decoder can keep them."""

    def __init__(self, *, width: int, heads: int, rotary: RotaryPositions | None = None) -> None:
        super().__init__()
        assert width % heads == 0, f"width {width} does not divide by {heads} heads"
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.rotary = rotary

    def forward(
        self,
        x: Tensor,  # [B, T, D] what asks
        memory: Memory | None,  # what is asked; None: x itself
        *,
        mask: Tensor | None = None,  # added to the scores, broadcast to [B, H, T, S]
        causal: bool = False,
        first: int = 0,  # the position of x[:, 0]
        probe: Probe | None = None,
    ) -> Tensor:  # [B, T, D]
        if memory is None:
            query, keys, values = self._split(_joint(x, [self.query, self.key, self.value]))
            keys = self._turned(keys, first)
        else:
            (query,), (keys, values) = self._split([self.query(x)]), memory
        query = self._turned(query, first)
        if probe is None:
            context = attend(query, keys, values, mask=mask, causal=causal)
        else:
            weights = probe.see("weights", attention_weights(query, keys, mask=mask, causal=causal))
            context = probe.see("context", weights @ probe.see("values", values))
        joined: Tensor = self.output(context.transpose(1, 2).flatten(2))
        return joined

    def _turned(self, x: Tensor, first: int) -> Tensor:
        """[B, H, T, d]: queries or keys, told their positions."""
        if self.rotary is None:
            return x
        turned: Tensor = self.rotary(x, first)
        return turned

    def _split(self, projected: Sequence[Tensor]) -> list[Tensor]:
        """Each [B, T, D] -> [B, H, T, d]"""
        return [x.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for x in projected]


def remember(attentions: Sequence[MultiHeadAttention], x: Tensor, first: int = 0) -> list[Memory]:
    """The keys and values that each of several attentions makes of x [B, S, D], whose first row stands at position `first`."""
    projected = iter(_joint(x, [linear for attention in attentions for linear in (attention.key, attention.value)]))
    memories = []
    for attention, key, value in zip(attentions, projected, projected, strict=True):
        keys, values = attention._split([key, value])
        memories.append((attention._turned(keys, first), values))
    return memories


def _joint(x: Tensor, maps: Sequence[nn.Linear]) -> Sequence[Tensor]:
    """Each map of x, in one matrix product where there are rows enough to repay joining the weights."""
    if x.shape[:-1].numel() < x.shape[-1]:
        return [linear(x) for linear in maps]
    weight = torch.cat([linear.weight for linear in maps])
    bias = torch.cat([linear.bias for linear in maps])
    return F.linear(x, weight, bias).chunk(len(maps), dim=-1)
