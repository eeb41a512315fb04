"""Scores of forecasts: MSE, MAE, sMAPE, MASE, pinball loss and the coverage of intervals. It knows no model.

Shapes: N windows, H steps of the horizon, Q quantiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def smape(truth: "NDArray[Any]", forecast: "NDArray[Any]") -> "NDArray[Any]":
    """2 |y - f| / (|y| + |f|), from 0 to 2; 0 where both are 0 (Makridakis 1993, as the M4 competition has it)."""
    import numpy as np

    size = np.abs(truth) + np.abs(forecast)
    found: NDArray[Any] = np.divide(2.0 * np.abs(truth - forecast), size, out=np.zeros_like(size), where=size > 0)
    return found


def pinball(truth: "NDArray[Any]", forecast: "NDArray[Any]", quantile: float) -> "NDArray[Any]":
    """max(q e, (q - 1) e) with e = y - f: the error of a forecast of the quantile q."""
    import numpy as np

    error = truth - forecast
    found: NDArray[Any] = np.maximum(quantile * error, (quantile - 1.0) * error)
    return found


def intervals(quantiles: Sequence[float]) -> dict[float, tuple[int, int]]:
    """The intervals that quantiles make: the share they should cover -> the places of their ends. The widest is first."""
    found = {}
    for low, level in enumerate(quantiles):
        for high in range(len(quantiles) - 1, low, -1):
            if abs(level + quantiles[high] - 1.0) < 1e-9:
                found[round(quantiles[high] - level, 6)] = (low, high)
    return dict(sorted(found.items(), reverse=True))


@dataclass(frozen=True)
class ForecastErrors:
    """Sums of errors by step of the horizon, over the windows of one or several series. `+` joins two."""

    windows: int
    squared: "NDArray[Any]"
    """[H] in the units that the model is trained in."""
    absolute: "NDArray[Any]"
    """[H] in the same units."""
    symmetric: "NDArray[Any]"
    """[H] sMAPE, in the units of the series."""
    scaled: "NDArray[Any]"
    """[H] absolute errors divided by the seasonal naive error of the training part, over `scaled_windows`."""
    scaled_windows: int
    """Windows of series that have such an error."""
    pinball: "NDArray[Any]"
    """[Q, H] in the units that the model is trained in."""
    covered: dict[float, "NDArray[Any]"]
    """Share -> [H] how many true values lie in the interval."""

    @staticmethod
    def of(
        truth: "NDArray[Any]",
        forecast: "NDArray[Any]",
        *,
        mean: float = 0.0,
        deviation: float = 1.0,
        naive_error: float | None = None,
        quantiles: Sequence[float] = (),
        levels: "NDArray[Any] | None" = None,
    ) -> "ForecastErrors":
        """The errors of standardised forecasts [N, H]. mean, deviation: of the series; levels: forecast quantiles [N, H, Q]."""
        import numpy as np

        truth, forecast = truth.astype(np.float64), forecast.astype(np.float64)
        error = truth - forecast
        scaled = naive_error is not None and naive_error > 0.0
        own = np.abs(error) * deviation / (naive_error if scaled else 1.0)
        covered, by_quantile = {}, []
        if levels is not None:
            for share, (low, high) in intervals(quantiles).items():
                covered[share] = ((levels[..., low] <= truth) & (truth <= levels[..., high])).sum(axis=0)
            for place, quantile in enumerate(quantiles):
                by_quantile.append(pinball(truth, levels[..., place].astype(np.float64), quantile).sum(axis=0))
        return ForecastErrors(
            windows=len(truth),
            squared=(error**2).sum(axis=0),
            absolute=np.abs(error).sum(axis=0),
            symmetric=smape(truth * deviation + mean, forecast * deviation + mean).sum(axis=0),
            scaled=own.sum(axis=0) if scaled else np.zeros(truth.shape[1]),
            scaled_windows=len(truth) if scaled else 0,
            pinball=np.stack(by_quantile) if by_quantile else np.zeros((0, truth.shape[1])),
            covered=covered,
        )

    def __add__(self, other: "ForecastErrors") -> "ForecastErrors":
        return ForecastErrors(
            self.windows + other.windows,
            self.squared + other.squared,
            self.absolute + other.absolute,
            self.symmetric + other.symmetric,
            self.scaled + other.scaled,
            self.scaled_windows + other.scaled_windows,
            self.pinball + other.pinball,
            {share: count + other.covered[share] for share, count in self.covered.items()},
        )

    def scores(self) -> dict[str, Any]:
        """The scores by name. MASE is None where every series is constant in its training part; coverage without an interval."""
        widest = next(iter(self.covered.values()), None)
        return {
            "mse": float(self.squared.mean() / self.windows),
            "mae": float(self.absolute.mean() / self.windows),
            "smape": float(self.symmetric.mean() / self.windows),
            "mase": float(self.scaled.mean() / self.scaled_windows) if self.scaled_windows else None,
            "coverage": None if widest is None else float(widest.mean() / self.windows),
        }

    def by_step(self) -> dict[str, list[float]]:
        """MSE, MAE and coverage of every step of the horizon."""
        widest = next(iter(self.covered.values()), None)
        steps = {"mse": self.squared / self.windows, "mae": self.absolute / self.windows}
        if widest is not None:
            steps["coverage"] = widest / self.windows
        return {name: values.tolist() for name, values in steps.items()}

    def coverages(self) -> dict[str, float]:
        """The share that each interval should cover, in percent -> the share that it covers."""
        return {f"{100 * share:g}": float(count.mean() / self.windows) for share, count in self.covered.items()}

    def quantile_loss(self) -> float | None:
        """The mean pinball loss of all quantiles; None without any."""
        return float(self.pinball.mean() / self.windows) if len(self.pinball) else None
