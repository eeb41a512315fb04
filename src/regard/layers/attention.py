"""Multi-head attention: h projections of queries, keys and values, attention in each, concatenation, one output projection.

MultiHead(Q, K, V) = Concat(head_1 .. head_h) W_O with head_i = attend(Q W_i^Q, K W_i^K, V W_i^V) (Vaswani et al. 2017, section 3.2.2).
`SelfAttention` is a mixer with a KV cache. `CrossAttention` attends to a source whose keys and values are projected once.

Shapes: B batch, R rows, T queries, S keys, D width, H heads, d = D / H head width, a width of a key as scores compare it.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.linear import Linear
from regard.layers.mixer import MixerState
from regard.layers.positions import RotaryPositions
from regard.layers.scores import AttentionScore
from regard.ops.attention import attend, probed_attention
from regard.ops.masks import additive, causal
from regard.ops.probe import Probe
from regard.ops.scores import ScoreFunction, scaled_dot

KeyValueCache = tuple[Float[Tensor, "_ H S a"], Float[Tensor, "_ H S d"]]
"""The KV cache of one layer: prepared keys, and values."""

SHOWN = ("value_norms", "query", "keys", "values", "scores", "masked", "weights", "context", "joined", "output")
"""The names of the values that a probe can capture in an attention."""


class MultiHeadAttention(nn.Module):
    """The projections of H heads and the attention between them; the base of `SelfAttention` and `CrossAttention`.

    The score has one set of weights for all heads; each head has its own projections. Without a score it is the scaled dot product.
    `projected=False` leaves queries and keys unprojected, for the score without parameters.
    """

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        rotary: RotaryPositions | None = None,
        score: AttentionScore | None = None,
        projected: bool = True,
    ) -> None:
        super().__init__()
        assert width % heads == 0, f"width {width} does not divide by {heads} heads"
        self.heads = heads
        self.query = Linear(width, width) if projected else nn.Identity()
        self.key = Linear(width, width) if projected else nn.Identity()
        self.value = Linear(width, width)
        self.output = Linear(width, width)
        self.rotary = rotary
        self.score = score

    def keys_of(self, projected: Float[Tensor, "B H S d"], first: int = 0) -> Float[Tensor, "B H S a"]:
        """Keys prepared for the score, from projected keys. `first`: the position of the first."""
        turned = self._with_positions(projected, first)
        return turned if self.score is None else self.score.prepare_keys(turned)

    def attend(
        self,
        query: Float[Tensor, "B H T d"],  # projected
        keys: Float[Tensor, "B H S a"],
        values: Float[Tensor, "B H S d"],
        *,
        mask: Float[Tensor, "*#mask #T S"] | None,
        causal: bool = False,
        first: int = 0,  # the position of the first query
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """The output of all heads."""
        query, compare = self.query_of(query, first), self.compare
        if probe is None or not any(map(probe.wants, SHOWN)):  # the probe wants nothing of this attention
            return self.output_of(attend(query, keys, values, score=compare, mask=mask, causal=causal))
        self.show_value_norms(values, probe)
        context, _ = probed_attention(query, keys, values, probe, score=compare, mask=mask, causal=causal)
        return self.output_of(context, probe)

    @property
    def compare(self) -> ScoreFunction:
        """The score of a query with a key, both prepared for it."""
        return scaled_dot if self.score is None else self.score.compare

    def query_of(self, projected: Float[Tensor, "B H T d"], first: int = 0) -> Float[Tensor, "B H T a"]:
        """Queries prepared for the score, from projected queries. `first`: the position of the first."""
        turned = self._with_positions(projected, first)
        return turned if self.score is None else self.score.prepare_query(turned)

    def output_of(self, context: Float[Tensor, "B H T d"], probe: Probe | None = None) -> Float[Tensor, "B T D"]:
        """The output projection of the contexts of all heads."""
        joined = context.transpose(1, 2).flatten(2)
        output: Tensor = self.output(joined if probe is None else probe.see("joined", joined))
        return output if probe is None else probe.see("output", output)

    def split(self, projected: Sequence[Float[Tensor, "B T D"]]) -> list[Float[Tensor, "B H T d"]]:
        """Each projection, cut into heads."""
        return [x.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for x in projected]

    def show_value_norms(self, values: Float[Tensor, "B H S d"], probe: Probe) -> None:
        """Show the norms of the values' contributions, if they are wanted."""
        if probe.wants("value_norms"):
            probe.show("value_norms", self._value_norms(values))

    def _value_norms(self, values: Float[Tensor, "B H S d"]) -> Float[Tensor, "B H S"]:
        """The norm of each value's contribution to the output, |v W_O| (Kobayashi et al. 2020)."""
        by_head = self.output.weight.view(len(self.output.weight), self.heads, -1)  # [D, H, d]
        norms: Tensor = torch.linalg.vector_norm(torch.einsum("bhsd,ohd->bhso", values, by_head), dim=-1)
        return norms

    def _with_positions(self, x: Float[Tensor, "... T d"], first: int) -> Float[Tensor, "... T d"]:
        """Queries or keys, rotated if positions are rotary."""
        if self.rotary is None:
            return x
        turned: Tensor = self.rotary(x, first)
        return turned


class SelfAttention(MultiHeadAttention):
    """Attention of a sequence to itself: a mixer whose state is a key-value cache."""

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        causal: bool = False,
        rotary: RotaryPositions | None = None,
        score: AttentionScore | None = None,
        projected: bool = True,
    ) -> None:
        super().__init__(width=width, heads=heads, rotary=rotary, score=score, projected=projected)
        self.causal = causal

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Float[Tensor, "*#mask #T T"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Attention between all positions of x. If it is causal and a mask is given, the mask must hide the future."""
        query, keys, values = self.projections(x)
        alone = self.causal and mask is None
        return self.attend(query, self.keys_of(keys), values, mask=mask, causal=alone, probe=probe)

    def projections(self, x: Float[Tensor, "B T D"]) -> list[Float[Tensor, "B H T d"]]:
        """Queries, keys and values, cut into heads."""
        return self.split(_joint(x, [self.query, self.key, self.value]))

    def begin(self, rows: int) -> MixerState:
        """An empty key-value cache."""
        nothing = self.value.weight.new_zeros(rows, self.heads, 0, self.value.out_features // self.heads)
        return self.keys_of(nothing), nothing

    def step(
        self,
        x: Float[Tensor, "R T D"],
        state: MixerState,
        mask: Float[Tensor, "*#mask T S"] | None = None,
    ) -> tuple[Float[Tensor, "R T D"], MixerState]:
        """Attention of T new positions to themselves and to the KV cache. Returns the output and the extended cache."""
        earlier_keys, earlier_values = state
        new, first = x.shape[1], earlier_keys.shape[2]
        query, key, value = self.projections(x)
        keys = torch.cat([earlier_keys, self.keys_of(key, first)], dim=2)
        values = torch.cat([earlier_values, value], dim=2)
        if mask is None and new > 1:
            mask = additive(causal(new, first + new, x.device), x.dtype)
        return self.attend(query, keys, values, mask=mask, first=first), (keys, values)


class CrossAttention(MultiHeadAttention):
    """Attention to a source. `project_source` computes its keys and values once for all steps."""

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        source: KeyValueCache,
        mask: Float[Tensor, "*#mask #T S"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        (query,), (keys, values) = self.split([self.query(x)]), source
        return self.attend(query, keys, values, mask=mask, probe=probe)


def project_source(attentions: Sequence[CrossAttention], states: Float[Tensor, "B S D"]) -> list[KeyValueCache]:
    """The keys and values of a source for each of several attentions, in one matrix product where that is faster."""
    projected = iter(
        _joint(states, [linear for attention in attentions for linear in (attention.key, attention.value)])
    )
    caches = []
    for attention, key, value in zip(attentions, projected, projected, strict=True):
        keys, values = attention.split([key, value])
        caches.append((attention.keys_of(keys), values))
    return caches


def _joint(x: Float[Tensor, "B T D"], maps: Sequence[nn.Linear | nn.Identity]) -> Sequence[Float[Tensor, "B T D"]]:
    """Each map of x, in one matrix product if there are enough rows to outweigh the concatenation of the weights."""
    linears = [linear for linear in maps if isinstance(linear, nn.Linear)]
    if x.shape[:-1].numel() < x.shape[-1] or len(linears) < len(maps):
        return [linear(x) for linear in maps]
    weight = torch.cat([linear.weight for linear in linears])
    bias = torch.cat([linear.bias for linear in linears])
    return F.linear(x, weight, bias).chunk(len(maps), dim=-1)
