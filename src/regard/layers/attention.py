"""Multi-head attention: h projections of queries, keys and values, attention in each, concatenation, one output projection.

MultiHead(Q, K, V) = Concat(head_1 .. head_h) W_O with head_i = attend(Q W_i^Q, K W_i^K, V W_i^V) (Vaswani et al. 2017, section 3.2.2).

Shapes: B batch, T queries, S keys, D width, H heads, d = D / H head width.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.positions import RotaryPositions
from regard.layers.scores import Score
from regard.ops.attention import attend, probed_attention
from regard.ops.probe import Probe
from regard.ops.scores import scaled_dot

Memory = tuple[Tensor, Tensor]
"""Keys and values, [B, H, S, d] each."""

SHOWN = ("value_norms", "query", "keys", "values", "scores", "masked", "weights", "context", "joined", "output")
"""What a probe can see of an attention."""


class MultiHeadAttention(nn.Module):
    """Attention of H heads. Keys and values are projected by `remember`, so that a decoder can keep them.

    The score compares head by head, with one set of weights for all heads: each has projections of its own. Without one it is the scaled
    dot product. `projected=False` leaves queries and keys as they come, for the score that has no parameters at all.
    """

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        rotary: RotaryPositions | None = None,
        score: Score | None = None,
        projected: bool = True,
    ) -> None:
        super().__init__()
        assert width % heads == 0, f"width {width} does not divide by {heads} heads"
        self.heads = heads
        self.query = nn.Linear(width, width) if projected else nn.Identity()
        self.key = nn.Linear(width, width) if projected else nn.Identity()
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.rotary = rotary
        self.score = score

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
            keys = self._kept(keys, first)
        else:
            (query,), (keys, values) = self._split([self.query(x)]), memory
        query = self._turned(query, first)
        if self.score is not None:
            query = self.score.ask(query)
        compare = scaled_dot if self.score is None else self.score.compare
        if probe is None or not any(map(probe.wants, SHOWN)):  # it looks elsewhere
            context = attend(query, keys, values, score=compare, mask=mask, causal=causal)
            output: Tensor = self.output(context.transpose(1, 2).flatten(2))
            return output
        if probe.wants("value_norms"):
            probe.see("value_norms", self._value_norms(values))
        context, _ = probed_attention(query, keys, values, probe, score=compare, mask=mask, causal=causal)
        return probe.see("output", self.output(probe.see("joined", context.transpose(1, 2).flatten(2))))

    def _value_norms(self, values: Tensor) -> Tensor:
        """[B, H, S]: the length of what each value adds to the output, |v W_O| (Kobayashi et al. 2020)."""
        by_head = self.output.weight.view(len(self.output.weight), self.heads, -1)  # [D, H, d]
        norms: Tensor = torch.linalg.vector_norm(torch.einsum("bhsd,ohd->bhso", values, by_head), dim=-1)
        return norms

    def _turned(self, x: Tensor, first: int) -> Tensor:
        """[B, H, T, d]: queries or keys, told their positions."""
        if self.rotary is None:
            return x
        turned: Tensor = self.rotary(x, first)
        return turned

    def _kept(self, keys: Tensor, first: int) -> Tensor:
        """[B, H, S, d]: keys as queries are compared with them."""
        turned = self._turned(keys, first)
        return turned if self.score is None else self.score.remember(turned)

    def _split(self, projected: Sequence[Tensor]) -> list[Tensor]:
        """Each [B, T, D] -> [B, H, T, d]"""
        return [x.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for x in projected]


def remember(attentions: Sequence[MultiHeadAttention], x: Tensor, first: int = 0) -> list[Memory]:
    """The keys and values that each of several attentions makes of x [B, S, D], whose first row stands at position `first`."""
    projected = iter(_joint(x, [linear for attention in attentions for linear in (attention.key, attention.value)]))
    memories = []
    for attention, key, value in zip(attentions, projected, projected, strict=True):
        keys, values = attention._split([key, value])
        memories.append((attention._kept(keys, first), values))
    return memories


def _joint(x: Tensor, maps: Sequence[nn.Linear | nn.Identity]) -> Sequence[Tensor]:
    """Each map of x, in one matrix product where there are rows enough to repay joining the weights."""
    linears = [linear for linear in maps if isinstance(linear, nn.Linear)]
    if x.shape[:-1].numel() < x.shape[-1] or len(linears) < len(maps):
        return [one(x) for one in maps]
    weight = torch.cat([linear.weight for linear in linears])
    bias = torch.cat([linear.bias for linear in linears])
    return F.linear(x, weight, bias).chunk(len(maps), dim=-1)
