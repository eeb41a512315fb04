"""Hyena: gates and long convolutions in turn, in O(T log T) (Poli et al. 2023).

v, x_1 .. x_N = short convolutions of N + 1 projections; z_1 = v; z_(n+1) = x_n * (h_n conv z_n + s_n z_n); y = z_(N+1) W_O. A filter h_n
has a value for every lag, but few weights: it is a network of the lag. Gates make it depend on the data, as queries and keys do in
attention.

Decoding keeps every z_n and takes one sum over all earlier positions for each channel: O(t) for the token at position t, as attention with
a cache. Only the whole sequence at once is faster than attention.

Shapes: B batch, R rows, T positions, t earlier ones, D width, N order, S sides (1, or 2 if not causal), F features of a lag.
"""

import math
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.errors import DataError
from regard.layers.linear import Linear
from regard.layers.mixer import MixerState, real_positions, shared_by_rows
from regard.layers.roles import Role
from regard.layers.short_convolution import TAPS, ShortConvolution
from regard.ops.convolution import causal_convolution, two_sided_convolution
from regard.ops.probe import Probe

BANDS = 8
"""Sines and cosines of a lag, with wavelengths from 4 lags to twice the longest."""
POINTS = 2**21
"""Positions times channels that are computed together: they stay in the processor's cache, and their memory is used again."""


class SineLayer(nn.Module):
    """sin(W x + b), with weights that keep the variance of sines (Sitzmann et al. 2020)."""

    roles: ClassVar[dict[str, Role]] = {"weight": "matrix", "bias": "vector"}

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform weights of variance 2 / inputs, and any phase."""
        bound = math.sqrt(6.0 / self.weight.shape[1])
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -math.pi, math.pi)

    def forward(self, x: Float[Tensor, "F T"]) -> Float[Tensor, "_ T"]:
        return torch.sin(torch.addmm(self.bias[:, None], self.weight, x))


class ImplicitFilters(nn.Module):
    """Filters as functions of the lag: features of it, a network of sines, and a window that falls exponentially.

    The rates of the windows are spread evenly in the logarithm over the width: they fall to a hundredth within `shortest` lags to one and a
    half times the longest. Each window has norm one, so that a convolution keeps the variance.
    """

    roles: ClassVar[dict[str, Role]] = {"output": "matrix"}

    def __init__(self, *, width: int, order: int, sides: int, positions: int, inner: int, shortest: int) -> None:
        super().__init__()
        self.width, self.order, self.sides, self.positions = width, order, sides, positions
        self.first = SineLayer(1 + 2 * BANDS, inner)
        self.second = SineLayer(inner, inner)
        self.output = nn.Parameter(torch.empty(order * sides * width, inner))
        ends = torch.tensor([min(shortest, positions), 1.5 * positions]).log()
        rates = math.log(100.0) / torch.linspace(ends[0], ends[1], width).exp()
        self.register_buffer("rates", rates, persistent=False)
        self.rates: Tensor
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Outputs of variance one, if sines have variance a half. The first of several filters begins at zero.

        So the first gate acts on the positions themselves, as in the authors' code. A random filter before it would drown the product of a
        key and its value.
        """
        nn.init.normal_(self.output, std=math.sqrt(2.0 / self.output.shape[1]))
        if self.order > 1:
            with torch.no_grad():
                self.output[: self.sides * self.width] = 0.0

    def forward(self, length: int) -> Float[Tensor, "N S D T"]:
        """The values of all filters at lags 0 .. length - 1."""
        return self.of_channels(slice(0, self.width), self.hidden(length))

    def hidden(self, length: int) -> Float[Tensor, "_ T"]:
        """The network of the lags 0 .. length - 1 up to its last layer, which all filters share."""
        if length > self.positions:
            raise DataError(
                f"a sequence of {length} tokens, but the filters of hyena have {self.positions} lags; "
                "shorten it, or train with a larger model.max_positions"
            )
        hidden: Tensor = self.second(self.first(self._features(self._lags(length))))
        return hidden

    def of_channels(self, channels: slice, hidden: Float[Tensor, "_ T"]) -> Float[Tensor, "N S _ T"]:
        """The filters of some channels."""
        length = hidden.shape[1]
        weight = self.output.view(self.order, self.sides, self.width, -1)[:, :, channels]
        rates = self.rates[channels, None]
        window = torch.exp(-rates * self._lags(length)) * (2 * rates).sqrt()
        filters: Tensor = (weight.flatten(0, 2) @ hidden).view(*weight.shape[:3], length) * window
        return filters

    def _lags(self, length: int) -> Float[Tensor, " T"]:
        return torch.arange(length, device=self.rates.device, dtype=self.rates.dtype)

    def _features(self, lags: Float[Tensor, " T"]) -> Float[Tensor, "F T"]:
        """A lag as a share of the longest, and its sines and cosines."""
        wavelengths = torch.logspace(math.log(4.0), math.log(2.0 * self.positions), BANDS, base=math.e).to(lags)
        angles = (2 * math.pi / wavelengths)[:, None] * lags
        return torch.cat([lags[None] / self.positions, angles.sin(), angles.cos()])


class Hyena(nn.Module):
    """The operator of order N: N gates and N long convolutions. If it is not causal, filters have two sides."""

    roles: ClassVar[dict[str, Role]] = {"skip": "vector"}

    def __init__(
        self, *, width: int, order: int, causal: bool, positions: int, filter_width: int, filter_shortest: int = 16
    ) -> None:
        super().__init__()
        self.width, self.order, self.causal = width, order, causal
        self.input = Linear(width, (order + 1) * width, bias=False)  # the short convolution has one
        self.short = ShortConvolution((order + 1) * width, causal=causal)
        self.filters = ImplicitFilters(
            width=width,
            order=order,
            sides=1 if causal else 2,
            positions=positions,
            inner=filter_width,
            shortest=filter_shortest,
        )
        self.skip = nn.Parameter(torch.empty(order, width))  # the share of a position in its own sum
        self.output = Linear(width, width)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin with each position as heavy as all earlier ones together."""
        nn.init.ones_(self.skip)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Float[Tensor, "B 1 1 T"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Gates and convolutions over all positions. A probe sees `filters`, `gates` [B, N, D, T] and `output`."""
        real = None if self.causal else real_positions(mask)
        count = self.width if probe is not None else max(1, POINTS // x.shape[:2].numel())
        hidden = self.filters.hidden(x.shape[1])
        parts = [
            self._channels(x, slice(first, min(first + count, self.width)), hidden, real, probe)
            for first in range(0, self.width, count)
        ]
        z = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        output: Tensor = self.output(z.transpose(1, 2))
        return output if probe is None else probe.see("output", output)

    def _channels(
        self,
        x: Float[Tensor, "B T D"],
        channels: slice,
        hidden: Float[Tensor, "_ T"],
        real: Bool[Tensor, "B T"] | None,
        probe: Probe | None,
    ) -> Float[Tensor, "B _ T"]:
        """The last z of some channels: before the output no channel depends on another."""
        weight, taps, bias = (
            torch.unflatten(part, 0, (self.order + 1, self.width))[:, channels].flatten(0, 1)
            for part in (self.input.weight, self.short.weight, self.short.bias)
        )
        projected = _without_padding(torch.matmul(weight, x.transpose(1, 2)), real)
        z, *gates = self.short.around(projected, taps, bias).chunk(self.order + 1, dim=1)
        filters = self.filters.of_channels(channels, hidden)
        if probe is not None:
            filters = probe.see("filters", filters)
            gates = list(probe.see("gates", torch.stack(gates, dim=1)).unbind(1))
        for gate, sides, skip in zip(gates, filters, self.skip[:, channels], strict=True):
            z = _without_padding(z, real)
            z = gate * torch.addcmul(self._convolved(z, sides), z, skip[:, None])
        return z

    def begin(self, rows: int) -> MixerState:
        """Nothing before the first position; the filters, which all rows share, with lag 0 last."""
        weight = self.input.weight
        return (
            weight.new_zeros(rows, (self.order + 1) * self.width, TAPS - 1),
            *(weight.new_zeros(rows, self.width, 0) for _ in range(self.order)),
            shared_by_rows(self.filters(self.filters.positions)[:, 0].flip(2).contiguous(), rows),
        )

    def step(
        self, x: Float[Tensor, "R T D"], state: MixerState, mask: Float[Tensor, "*#mask T S"] | None = None
    ) -> tuple[Float[Tensor, "R T D"], MixerState]:
        """New positions: one by a sum over all earlier ones, several by a convolution of all."""
        assert mask is None, "hyena has no bias of relative positions"
        assert isinstance(state, tuple)
        projected, *earlier, flipped = state
        mixed, projected = self.short.step(self._projected(x), projected)
        z, *gates = mixed.chunk(self.order + 1, dim=1)
        length = earlier[0].shape[2] + x.shape[1]
        if length > self.filters.positions:
            self.filters(length)  # says that it is too long
        histories = []
        for number, gate in enumerate(gates):
            histories.append(torch.cat([earlier[number], z], dim=2))  # [R, D, t + T]
            lags = flipped[0, number, :, self.filters.positions - length :]  # [D, t + T]
            z = gate * torch.addcmul(_last(histories[-1], lags, x.shape[1]), z, self.skip[number][:, None])
        return self.output(z.transpose(1, 2)), (projected, *histories, flipped)

    def _projected(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B _ T"]:
        """The projections with positions last, as convolutions want them."""
        return torch.matmul(self.input.weight, x.transpose(1, 2))

    def _convolved(self, z: Float[Tensor, "B D T"], sides: Float[Tensor, "S D T"]) -> Float[Tensor, "B D T"]:
        return causal_convolution(z, sides[0]) if self.causal else two_sided_convolution(z, sides[0], sides[1])


def _last(z: Float[Tensor, "R D t"], flipped: Float[Tensor, "D t"], new: int) -> Float[Tensor, "R D T"]:
    """The convolution at the last `new` positions. The filters have lag 0 last."""
    if new == 1:
        return torch.einsum("rdt,dt->rd", z, flipped)[:, :, None]
    return causal_convolution(z, flipped.flip(1))[:, :, -new:]


def _without_padding(x: Float[Tensor, "B _ T"], real: Bool[Tensor, "B T"] | None) -> Float[Tensor, "B _ T"]:
    return x if real is None else x * real[:, None].to(x.dtype)
