"""Self-attention by a kernel of features: elu + 1 (`linear`), or random ones that estimate softmax (`performer`).

In decoding the state is one matrix for each head, whatever the length: the sum of feature times value over all earlier positions.

Shapes: B batch, R rows, T positions, D width, H heads, d head width, f features, v1 = d + 1.
"""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layers.attention import SelfAttention
from regard.layers.mixer import MixerState, by_segments, real_positions
from regard.layers.positions import RotaryPositions
from regard.ops.linear_attention import (
    SMALLEST,
    causal_kernel_attention,
    elu_features,
    kernel_attention,
    log_positive_features,
    orthogonal_directions,
)
from regard.ops.probe import Probe

LARGEST_LOG = 60.0
"""The largest logarithm of a feature of a key: a sum of many such numbers is finite in float32."""


@runtime_checkable
class Features(Protocol):
    """Maps queries and keys to positive features whose product is the kernel."""

    count: int

    def of_query(self, query: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T f"]:
        """The features of queries, each times any positive number: it cancels."""

    def of_keys(self, keys: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T f"]:
        """The features of keys, all times one positive number: it cancels."""


class EluFeatures(nn.Module):
    """elu(x) + 1 (Katharopoulos et al. 2020): no weights."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.count = head_width

    def of_query(self, query: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T f"]:
        return elu_features(query)

    def of_keys(self, keys: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T f"]:
        return elu_features(keys)


class RandomFeatures(nn.Module):
    """Positive random features, whose mean product is exp(q . k / sqrt(d)) (Choromanski et al. 2021, FAVOR+).

    The directions are drawn with the initial weights, so by the seed of the run, and are stored with them.
    """

    def __init__(self, head_width: int, count: int) -> None:
        super().__init__()
        self.count, self.scale = count, head_width**-0.25  # on either side: 1 / sqrt(d) of the product
        self.register_buffer("directions", orthogonal_directions(count, head_width))
        self.directions: Tensor

    def of_query(self, query: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T f"]:
        logs = log_positive_features(query * self.scale, self.directions)
        return torch.exp(logs - logs.detach().amax(dim=-1, keepdim=True))

    def of_keys(self, keys: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T f"]:
        # w . k - |k|^2 / 2 is at most |w|^2 / 2, so the shift depends on the directions alone, not on later keys
        shift = (self.directions.square().sum(dim=1).max() / 2 - LARGEST_LOG).clamp_min(0.0)
        return torch.exp(log_positive_features(keys * self.scale, self.directions) - shift)


class KernelAttention(SelfAttention):
    """Self-attention with weights f(q) . f(k), divided by their sum. Its state does not grow."""

    def __init__(
        self, *, width: int, heads: int, causal: bool, rotary: RotaryPositions | None, features: Features
    ) -> None:
        super().__init__(width=width, heads=heads, causal=causal, rotary=rotary)
        self.features = features

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Float[Tensor, "B 1 1 T"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """The mean of all values, or of those that are not later, weighted by the kernel."""
        if self.causal and (probe is None or not probe.wants("weights")):
            whole = by_segments(self, x)
            return whole if probe is None else probe.see("output", whole)
        query, keys, values = self.projections(x)
        query = self.features.of_query(self._with_positions(query, 0))
        keys = self.features.of_keys(self._with_positions(keys, 0))
        real = real_positions(mask)
        if real is not None:
            keys = keys * real[:, None, :, None].to(x.dtype)
        if probe is not None and probe.wants("weights"):
            context = probe.see("context", probe.see("weights", self._weights(query, keys)) @ values)
        else:
            context = kernel_attention(query, keys, values)
        output: Tensor = self.output(context.transpose(1, 2).flatten(2))
        return output if probe is None else probe.see("output", output)

    def begin(self, rows: int) -> MixerState:
        """Sums of nothing, and no positions."""
        return self._no_sums(rows), torch.zeros(rows, dtype=torch.long, device=self.value.weight.device)

    def step(
        self, x: Float[Tensor, "R T D"], state: MixerState, mask: Float[Tensor, "*#mask T S"] | None = None
    ) -> tuple[Float[Tensor, "R T D"], MixerState]:
        """Attention of new positions. Cost and state are the same at every position."""
        assert mask is None, "a kernel has no bias of relative positions"
        assert isinstance(state, tuple)
        sums, seen = state
        first = self._first(seen)
        query, keys, values = self.projections(x)
        query = self.features.of_query(self._with_positions(query, first))
        keys = self.features.of_keys(self._with_positions(keys, first))
        context, sums = causal_kernel_attention(query, keys, values, sums)
        return self.output(context.transpose(1, 2).flatten(2)), (sums, seen + x.shape[1])

    def _first(self, seen: Int[Tensor, " R"]) -> int:
        """The position of the first new token, where it matters."""
        return 0 if self.rotary is None else int(seen[0])

    def _no_sums(self, rows: int) -> Float[Tensor, "R H f v1"]:
        width = self.value.out_features // self.heads
        return self.value.weight.new_zeros(rows, self.heads, self.features.count, width + 1)

    def _weights(self, query: Float[Tensor, "B H T f"], keys: Float[Tensor, "B H T f"]) -> Float[Tensor, "B H T T"]:
        """The weights written out, which no pass without a probe does."""
        products = query @ keys.transpose(2, 3)
        products = torch.tril(products) if self.causal else products
        return products / products.sum(dim=-1, keepdim=True).clamp_min(SMALLEST)
