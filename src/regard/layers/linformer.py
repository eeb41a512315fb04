"""Linformer: self-attention to r mixtures of all keys and values, in O(T r) (Wang et al. 2020).

softmax(q (E k)^T / sqrt(d)) (F v), where E and F map the positions to r rows. A mixture holds later positions too, so it is not causal.

Shapes: B batch, T positions, D width, H heads, d head width, r rank, P positions at most.
"""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import DataError
from regard.layers.attention import SelfAttention
from regard.layers.mixer import real_positions
from regard.layers.positions import RotaryPositions
from regard.layers.roles import Role
from regard.ops.attention import attend, attention_weights
from regard.ops.probe import Probe


class Linformer(SelfAttention):
    """Self-attention whose keys and values are mixed over the positions before they are compared."""

    roles: ClassVar[dict[str, Role]] = {"key_mixing": "table", "value_mixing": "table"}  # a column for each position

    def __init__(self, *, width: int, heads: int, rotary: RotaryPositions | None, rank: int, positions: int) -> None:
        super().__init__(width=width, heads=heads, causal=False, rotary=rotary)
        self.key_mixing = nn.Parameter(torch.empty(rank, positions))
        self.value_mixing = nn.Parameter(torch.empty(rank, positions))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Random mixtures, in which a whole sequence has the variance of one position."""
        for mixing in (self.key_mixing, self.value_mixing):
            nn.init.normal_(mixing, std=mixing.shape[1] ** -0.5)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Float[Tensor, "B 1 1 T"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Attention of each position to the mixtures. A probe sees their weights as `mixture_weights`, [B, H, T, r]."""
        length, most = x.shape[1], self.key_mixing.shape[1]
        if length > most:
            raise DataError(
                f"a sequence of {length} tokens, but linformer mixes {most} positions; "
                "shorten it, or train with a larger model.max_positions"
            )
        query, keys, values = self.projections(x)
        query, keys = self._with_positions(query, 0), self.keys_of(keys)
        real = real_positions(mask)
        if real is not None:
            there = real[:, None, :, None].to(x.dtype)
            keys, values = keys * there, values * there
        keys, values = self.key_mixing[:, :length] @ keys, self.value_mixing[:, :length] @ values
        if probe is None or not probe.wants("mixture_weights"):
            context = attend(query, keys, values)
        else:
            context = probe.see("mixture_weights", attention_weights(query, keys)) @ values
        output: Tensor = self.output(context.transpose(1, 2).flatten(2))
        return output if probe is None else probe.see("output", output)
