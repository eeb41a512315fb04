"""Ways to tell a model the order of its tokens. Those of `AddedPositions` join the embeddings, the others act inside attention.

Shapes: T positions, D width, H heads, d head width.
"""

import torch
from torch import Tensor, nn

from regard.ops import positions as ops


class SinusoidalPositions(nn.Module):
    """Fixed sinusoids (Vaswani et al. 2017): no weights, and lengths never seen in training have a position too."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("table", ops.sinusoidal(torch.arange(512), width), persistent=False)
        self.table: Tensor

    def forward(self, first: int, count: int) -> Tensor:
        """The rows for positions first .. first + count - 1, [T, D]."""
        last = first + count
        if last > self.table.shape[0]:
            self.table = ops.sinusoidal(torch.arange(2 * last, device=self.table.device), self.width).to(
                self.table.dtype
            )
        return self.table[first:last]


class LearnedPositions(nn.Module):
    """One learned vector a position (Gehring et al. 2017): positions past the table have none."""

    def __init__(self, width: int, reach: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(reach, width))

    def forward(self, first: int, count: int) -> Tensor:
        """The rows for positions first .. first + count - 1, [T, D]."""
        if first + count > self.table.shape[0]:
            raise ValueError(
                f"a sequence of {first + count} tokens, but learned positions reach {self.table.shape[0]}; "
                "shorten it, or train with model.positions = 'sinusoidal'"
            )
        return self.table[first : first + count]


AddedPositions = SinusoidalPositions | LearnedPositions


class RotaryPositions(nn.Module):
    """Turns queries and keys by angles that grow with their position (Su et al. 2021)."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.head_width = head_width
        self._fill(512, torch.device("cpu"))

    def _fill(self, count: int, device: torch.device) -> None:
        cosines, sines = ops.rotary_angles(torch.arange(count, device=device), self.head_width)
        self.register_buffer("cosines", cosines, persistent=False)
        self.register_buffer("sines", sines, persistent=False)
        self.cosines: Tensor
        self.sines: Tensor

    def forward(self, x: Tensor, first: int) -> Tensor:
        """[..., T, d] -> the same, turned; the first row stands at position `first`."""
        last = first + x.shape[-2]
        if last > self.cosines.shape[0]:
            self._fill(2 * last, self.cosines.device)
        return ops.rotate(x, self.cosines[first:last].to(x.dtype), self.sines[first:last].to(x.dtype))


class RelativeBias(nn.Module):
    """One learned number a head and bucket of distance, added to the scores (Raffel et al. 2020)."""

    def __init__(self, heads: int, *, bidirectional: bool, buckets: int = 32, longest: int = 128) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(buckets, heads))
        self.bidirectional = bidirectional
        self.buckets = buckets
        self.longest = longest

    def forward(self, queries: int, keys: int) -> Tensor:
        """[H, T, S]: the bias of each of the last `queries` positions with each of `keys` positions."""
        positions = torch.arange(keys, device=self.table.device)
        buckets = ops.relative_buckets(
            positions[keys - queries :],
            positions,
            buckets=self.buckets,
            longest=self.longest,
            bidirectional=self.bidirectional,
        )
        return self.table[buckets].permute(2, 0, 1)
