"""Multi-head attention: h projections of queries, keys and values, attention in each, concatenation, one output projection.

MultiHead(Q, K, V) = Concat(head_1 .. head_h) W_O with head_i = attend(Q W_i^Q, K W_i^K, V W_i^V) (Vaswani et al. 2017, section 3.2.2).

Shapes: B batch, T queries, S keys, D width, H heads, d = D / H head width.
"""

from torch import Tensor, nn

from regard.layers.positions import RotaryPositions
from regard.ops.attention import attend, attention_weights
from regard.ops.probe import Probe


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

    def remember(self, x: Tensor, first: int = 0) -> tuple[Tensor, Tensor]:
        """[B, S, D] -> keys and values [B, H, S, d]; the first of them stands at position `first`."""
        keys = self._split(self.key(x))
        if self.rotary is not None:
            keys = self.rotary(keys, first)
        return keys, self._split(self.value(x))

    def forward(
        self,
        x: Tensor,  # [B, T, D] what asks
        memory: tuple[Tensor, Tensor],  # keys and values [B, H, S, d]
        *,
        mask: Tensor | None = None,  # added to the scores, broadcast to [B, H, T, S]
        causal: bool = False,
        first: int = 0,  # the position of x[:, 0]
        probe: Probe | None = None,
    ) -> Tensor:  # [B, T, D]
        keys, values = memory
        query = self._split(self.query(x))
        if self.rotary is not None:
            query = self.rotary(query, first)
        if probe is None:
            context = attend(query, keys, values, mask=mask, causal=causal)
        else:
            weights = probe.see("weights", attention_weights(query, keys, mask=mask, causal=causal))
            context = probe.see("context", weights @ probe.see("values", values))
        joined: Tensor = self.output(context.transpose(1, 2).flatten(2))
        return joined

    def _split(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, H, T, d]"""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)
