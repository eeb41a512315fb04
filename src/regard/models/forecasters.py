"""Forecasters: from the past of one series to its future, a value and quantiles for every step.

All have the same frame: known columns are regressed out, the window is normalised, a network forecasts it, and both are undone.
Written with f for the network, w for the weights of the known columns K, m and s for the centre and scale of the window:

    forecast = s f((past - K_past w - m) / s) + m + K_future w

Shapes: B windows, L steps of the past, H of the horizon, F known columns, P steps of a patch, N patches of the past, T of the future,
D width, Q quantiles.
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.linear import Linear
from regard.layers.series import QuantileHead
from regard.models.config import DLinearConfig, ModelConfig, NLinearConfig
from regard.ops.probe import Probe
from regard.ops.series import instance_statistics, moving_average

Outputs = tuple[Float[Tensor, "B H"], Float[Tensor, "B H Q"]]
"""The value of every step, and the distances of the quantiles from it."""


class ForecastNetwork(nn.Module, ABC):
    """A network that forecasts a series. The first output of a step is its value, the others are the quantiles."""

    def __init__(self, config: ModelConfig, context: int, horizon: int, quantiles: int, known: int) -> None:
        """context: steps that are read; horizon: steps that are forecast; quantiles, known: how many of each."""
        super().__init__()
        self.context, self.horizon, self.quantiles = context, horizon, quantiles
        self.instance_norm: str = getattr(config, "instance_norm", "none")
        self.regression = Linear(known, 1, bias=False) if known else None
        if self.regression is not None:
            nn.init.zeros_(self.regression.weight)

    def forward(
        self,
        past: Float[Tensor, "B L"],
        known: Float[Tensor, "B LH F"] | None = None,
        future: Float[Tensor, "B H"] | None = None,
        probe: Probe | None = None,
    ) -> Float[Tensor, "B H O"]:
        """The values and quantiles, [B, H, 1 + Q]. With the true future, a network that writes step by step reads it (teacher forcing)."""
        effect = self._effect(past, known)
        residual, centre, scale = self._normalised(past, effect)
        if future is not None:
            future = future if effect is None else future - effect[:, self.context :]
            future = (future - centre) / scale
        value, distance = self.predict((residual - centre) / scale, future, probe)
        if probe is not None:
            probe.require_matches()
        value = value * scale + centre
        value = value if effect is None else value + effect[:, self.context :]
        return torch.cat([value[..., None], value.detach()[..., None] + distance * scale.detach()[..., None]], dim=-1)

    def window_scale(
        self, past: Float[Tensor, "B L"], known: Float[Tensor, "B LH F"] | None = None
    ) -> Float[Tensor, " B"]:
        """The unit in which each window is normalised; 1 where it is not divided."""
        scale: Tensor = self._normalised(past, self._effect(past, known))[2][:, 0]
        return scale

    def _normalised(
        self, past: Float[Tensor, "B L"], effect: Float[Tensor, "B LH"] | None
    ) -> tuple[Float[Tensor, "B L"], Float[Tensor, "B 1"], Float[Tensor, "B 1"]]:
        """The past without the effect of known columns, and the centre and scale of the window."""
        residual = past if effect is None else past - effect[:, : self.context]
        centre, scale = instance_statistics(residual, self.instance_norm)
        return residual, centre, scale

    def _effect(
        self, past: Float[Tensor, "B L"], known: Float[Tensor, "B LH F"] | None
    ) -> Float[Tensor, "B LH"] | None:
        """The effect of the known columns on every step of past and future."""
        if self.regression is None:
            return None
        assert known is not None, "the network has known columns, and none are given"
        effect: Tensor = self.regression(known)[..., 0]
        return effect

    @abstractmethod
    def predict(
        self, past: Float[Tensor, "B L"], future: Float[Tensor, "B H"] | None, probe: Probe | None
    ) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H Q"]]:
        """The forecast of a normalised window: values, and distances of the quantiles."""

    @abstractmethod
    def attended(
        self, past: Float[Tensor, "B L"], known: Float[Tensor, "B LH F"] | None = None
    ) -> tuple[str, Float[Tensor, "B R L"]] | None:
        """The weight of every past step, in rows: the meaning of a row, and the weights, each row with the sum 1. None: it has none."""


class LinearForecaster(ForecastNetwork):
    """NLinear: one linear map from past to future. DLinear: one of the moving average and one of the remainder."""

    def __init__(
        self, config: DLinearConfig | NLinearConfig, context: int, horizon: int, quantiles: int, known: int
    ) -> None:
        super().__init__(config, context, horizon, quantiles, known)
        self.kernel = config.kernel if isinstance(config, DLinearConfig) else None
        self.remainder = QuantileHead(inputs=context, steps=horizon, quantiles=quantiles)
        self.trend = None if self.kernel is None else QuantileHead(inputs=context, steps=horizon, quantiles=quantiles)

    def predict(
        self, past: Float[Tensor, "B L"], future: Float[Tensor, "B H"] | None, probe: Probe | None
    ) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H Q"]]:
        if self.trend is None or self.kernel is None:
            value, distance = self.remainder(past)
            return value, distance
        smooth = moving_average(past, self.kernel)
        trend, remainder = self.trend(smooth), self.remainder(past - smooth)
        return trend[0] + remainder[0], trend[1] + remainder[1]

    def attended(
        self, past: Float[Tensor, "B L"], known: Float[Tensor, "B LH F"] | None = None
    ) -> tuple[str, Float[Tensor, "B R L"]] | None:
        """The size of the weights, in a row for each step of the horizon; the same for every window."""
        identity = torch.eye(self.context, device=past.device)
        weight = self.predict(identity, None, None)[0] - self.predict(torch.zeros_like(identity), None, None)[0]
        sizes = weight.detach().abs().T  # [H, L]
        shares = sizes / sizes.sum(dim=1, keepdim=True).clamp_min(1e-12)
        return "forecast step", shares[None].expand(len(past), -1, -1)
