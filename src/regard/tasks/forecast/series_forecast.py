"""The value of a forecaster: the forecast of a series. Plain values."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SeriesForecast:
    """The forecast of one series."""

    series: str
    """Its name."""
    times: list[str]
    """The times of the horizon."""
    values: list[float]
    """The forecast value of each."""
    quantiles: dict[float, list[float]]
    """Quantile -> its forecast at each time; a higher quantile is never below a lower one."""
    padded: bool = False
    """Whether the series is shorter than the context."""
