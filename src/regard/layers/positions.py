"""Position encodings. Those of `AddedPositions` are added to the embeddings; the others act inside attention.

Shapes: T positions, D width, H heads, d head width.
"""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.roles import Role
from regard.ops import positions as ops


class SinusoidalPositions(nn.Module):
    """Fixed sinusoids (Vaswani et al. 2017): no weights and no maximum length."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("table", ops.sinusoidal(torch.arange(512, device="cpu"), width), persistent=False)
        self.table: Tensor

    def forward(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """The rows for positions first .. first + count - 1."""
        last = first + count
        if last > self.table.shape[0]:
            self.table = ops.sinusoidal(torch.arange(2 * last, device=self.table.device), self.width).to(
                self.table.dtype
            )
        return self.table[first:last]


class LearnedPositions(nn.Module):
    """One learned vector per position (Gehring et al. 2017), up to a maximum length."""

    roles: ClassVar[dict[str, Role]] = {"table": "table"}

    def __init__(self, width: int, reach: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(reach, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise with vectors that are small compared to the embeddings."""
        nn.init.normal_(self.table, std=0.02)

    def forward(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """The rows for positions first .. first + count - 1."""
        if first + count > self.table.shape[0]:
            raise ValueError(
                f"a sequence of {first + count} tokens, but learned positions reach {self.table.shape[0]}; "
                "shorten it, or train with model.positions = 'sinusoidal'"
            )
        return self.table[first : first + count]


AddedPositions = SinusoidalPositions | LearnedPositions


class RotaryPositions(nn.Module):
    """Rotary positions: rotates queries and keys by angles that grow with their position (Su et al. 2021)."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.head_width = head_width
        self._fill(512, torch.device("cpu"))

    def _fill(self, count: int, device: torch.device) -> None:
        cosines, sines = ops.rotary_angles(torch.arange(count, device=device), self.head_width)
        # cosines last: another thread looks at their number
        self.register_buffer("sines", sines, persistent=False)
        self.register_buffer("cosines", cosines, persistent=False)
        self.cosines: Tensor
        self.sines: Tensor

    def reach(self, last: int) -> None:
        """Make the tables long enough for positions below `last`."""
        if last > self.cosines.shape[0]:
            self._fill(2 * last, self.cosines.device)

    def forward(self, x: Float[Tensor, "... T d"], first: int) -> Float[Tensor, "... T d"]:
        """x, rotated; its first row is at position `first`."""
        last = first + x.shape[-2]
        self.reach(last)
        return ops.rotate(x, self.cosines[first:last].to(x.dtype), self.sines[first:last].to(x.dtype))


class RelativeBias(nn.Module):
    """Relative positions: one learned bias per head and distance bucket, added to the scores (Raffel et al. 2020)."""

    roles: ClassVar[dict[str, Role]] = {"table": "table"}

    def __init__(self, heads: int, *, bidirectional: bool, buckets: int = 32, longest: int = 128) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(buckets, heads))
        self.bidirectional = bidirectional
        self.buckets = buckets
        self.longest = longest
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise with zeros."""
        nn.init.zeros_(self.table)

    def forward(self, queries: int, keys: int) -> Float[Tensor, "H T S"]:
        """The bias of each of the last `queries` positions with each of `keys` positions."""
        return self.between(keys - queries, queries, keys)

    def between(self, first: int, queries: int, keys: int) -> Float[Tensor, "H T S"]:
        """The bias of positions first .. first + queries - 1 with each of `keys` positions of the same or of another sequence."""
        positions = torch.arange(max(first + queries, keys), device=self.table.device)
        buckets = ops.relative_buckets(
            positions[first : first + queries],
            positions[:keys],
            buckets=self.buckets,
            longest=self.longest,
            bidirectional=self.bidirectional,
        )
        return self.table[buckets].permute(2, 0, 1)
