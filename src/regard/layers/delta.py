"""The gated delta rule as a mixer: a memory of keys and values in each head (Yang et al. 2024, Gated DeltaNet).

q, k, v = silu of short convolutions of projections, q and k of length one; log a = -exp(rate) softplus(..), b = sigmoid(..), one each for
a head and position. y = W_O (rms(S^T q) * silu(W_g x)). `ops.delta` has the rule. Its state in decoding does not grow.

If it is not causal, the second half of the heads reads from the end.

Shapes: B batch, R rows, T positions, D width, H heads, d head width.
"""

import math
from typing import ClassVar, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.layers.linear import Linear
from regard.layers.mixer import MixerState, by_segments, real_positions
from regard.layers.norm import NORMS
from regard.layers.roles import Role
from regard.layers.short_convolution import TAPS, ShortConvolution
from regard.ops.delta import chunked_delta_rule, delta_rule
from regard.ops.probe import Probe

FIRST_STEP = 0.01
"""softplus(..) of a new network: with the first rates a memory halves in 4 to 70 positions."""
LARGEST_RATE = 16.0

Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
"""Queries, keys and values [B, H, T, d], log decay and strength [B, H, T]."""


class DeltaRule(nn.Module):
    """Projections, short convolutions and gates around the gated delta rule."""

    roles: ClassVar[dict[str, Role]] = {"rate": "vector"}

    def __init__(self, *, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        assert causal or heads % 2 == 0, f"{heads} heads have no half that reads from the end"
        self.heads, self.causal = heads, causal
        self.input = Linear(width, 3 * width, bias=False)  # queries, keys and values
        self.short = ShortConvolution(3 * width, causal=causal)
        self.gates = Linear(width, 2 * heads)  # decay and strength
        self.output_gate = Linear(width, width)
        self.norm = NORMS["rms"](width // heads)
        self.output = Linear(width, width)
        self.rate = nn.Parameter(torch.empty(heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Heads begin with different rates, and all with little decay."""
        with torch.no_grad():
            self.rate.copy_(torch.linspace(0.0, math.log(LARGEST_RATE), self.heads))
            self.gates.bias[: self.heads] = math.log(math.expm1(FIRST_STEP))

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Float[Tensor, "B 1 1 T"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """All positions, in chunks. A probe sees `decay` and `strength` [B, H, T], and `output`."""
        if self.causal and probe is None:
            return by_segments(self, x)
        real = None if self.causal else real_positions(mask)
        projected = self._projected(x)
        if real is not None:
            projected = projected * real[:, None].to(x.dtype)
        inputs = self._inputs(x, self.short(projected))
        if real is not None:
            inputs = _idle_on_padding(inputs, real)
        if probe is not None:
            *vectors, log_decay, strength = inputs
            log_decay = probe.see("decay", log_decay.exp()).log()
            inputs = cast(Inputs, (*vectors, log_decay, probe.see("strength", strength)))
        y = self._mixed(inputs, self._no_memory(len(x)))
        output = self._finished(x, y)
        return output if probe is None else probe.see("output", output)

    def begin(self, rows: int) -> MixerState:
        """An empty memory, and nothing before the first position."""
        width = self.input.in_features
        return self._no_memory(rows), self.input.weight.new_zeros(rows, 3 * width, TAPS - 1)

    def step(
        self, x: Float[Tensor, "R T D"], state: MixerState, mask: Float[Tensor, "*#mask T S"] | None = None
    ) -> tuple[Float[Tensor, "R T D"], MixerState]:
        """New positions. Cost and state are the same at every position."""
        assert mask is None, "the delta rule has no bias of relative positions"
        assert isinstance(state, tuple)
        memory, earlier = state
        mixed, earlier = self.short.step(self._projected(x), earlier)
        rule = delta_rule if x.shape[1] == 1 else chunked_delta_rule
        y, memory = rule(*self._inputs(x, mixed), memory)
        return self._finished(x, y), (memory, earlier)

    def _projected(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B _ T"]:
        return torch.matmul(self.input.weight, x.transpose(1, 2))

    def _inputs(self, x: Float[Tensor, "B T D"], mixed: Float[Tensor, "B _ T"]) -> Inputs:
        vectors = torch.unflatten(F.silu(mixed), 1, (3, self.heads, -1)).transpose(3, 4)  # [B, 3, H, T, d]
        query, keys, values = vectors.unbind(1)
        steps, strength = self.gates(x).transpose(1, 2).chunk(2, dim=1)  # [B, H, T]
        log_decay = -self.rate.exp()[:, None] * F.softplus(steps)
        return F.normalize(query, dim=-1), F.normalize(keys, dim=-1), values, log_decay, torch.sigmoid(strength)

    def _mixed(self, inputs: Inputs, memory: Float[Tensor, "B H d d"]) -> Float[Tensor, "B H T d"]:
        if not self.causal:
            inputs = cast(Inputs, tuple(_half_reversed(part) for part in inputs))
        y, _ = chunked_delta_rule(*inputs, memory)
        return y if self.causal else _half_reversed(y)

    def _finished(self, x: Float[Tensor, "B T D"], y: Float[Tensor, "B H T d"]) -> Float[Tensor, "B T D"]:
        gated = self.norm(y).transpose(1, 2).flatten(2) * F.silu(self.output_gate(x))
        output: Tensor = self.output(gated)
        return output

    def _no_memory(self, rows: int) -> Float[Tensor, "R H d d"]:
        width = self.input.in_features // self.heads
        return self.input.weight.new_zeros(rows, self.heads, width, width)


def _half_reversed(x: Float[Tensor, "B H T ..."]) -> Float[Tensor, "B H T ..."]:
    """The second half of the heads from the end."""
    forward, backward = x.chunk(2, dim=1)
    return torch.cat([forward, backward.flip(2)], dim=1)


def _idle_on_padding(inputs: Inputs, real: Bool[Tensor, "B T"]) -> Inputs:
    """No decay and nothing written where there is no token."""
    query, keys, values, log_decay, strength = inputs
    there = real[:, None].to(strength.dtype)
    return query, keys, values, log_decay * there, strength * there
