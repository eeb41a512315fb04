"""`SeriesScales`: what a forecaster keeps of its data, beside the weights: the scales of its series, their cuts, and its calibration."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from regard.data.frequency import Time, parse_time, shown_time
from regard.data.series import Series, Values
from regard.settings import Record

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Scale(Record):
    """Mean and deviation of a column: standardised = (value - mean) / deviation."""

    mean: Finite = 0.0
    deviation: Positive = 1.0

    @staticmethod
    def of(values: Values) -> "Scale":
        """The scale of these values; of a constant one the deviation is 1."""
        deviation = float(values.std())
        mean = float(values.mean())
        # a constant column may have a deviation of rounding errors
        constant = deviation <= 1e-12 * max(1.0, abs(mean))
        return Scale(mean=mean, deviation=1.0 if constant else deviation)

    def scaled(self, values: Values) -> NDArray[np.float32]:
        """The standardised values."""
        result: NDArray[np.float32] = ((values - self.mean) / self.deviation).astype(np.float32)
        return result

    def unscaled(self, values: NDArray[np.floating]) -> Values:
        """The values in their own units."""
        result: Values = values.astype(np.float64) * self.deviation + self.mean
        return result


class SeriesScale(Scale):
    """The scale of a series, the ends of its parts, and the error of the seasonal naive forecast in its training part."""

    trained_until: str | None = None
    """The last time of the training and validation parts. Later values are new to the model."""
    tested_until: str | None = None
    """The last time of the test part."""
    naive_error: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """The mean of |y_t - y_(t - season)| in the training part, which MASE divides by. None: too short; 0: constant."""


class Calibration(Record):
    """Corrections of the quantiles of every forecast, learned on the windows of validation."""

    windows: Annotated[int, Field(ge=1)]
    """The windows that it was measured on."""
    corrections: tuple[tuple[Finite, ...], ...]
    """[H, Q] for each step of the horizon and quantile, in the unit in which the network normalises a window."""


class SeriesScales(Record):
    """The scales of all series, and of the known columns, and the calibration of the quantiles."""

    series: dict[str, SeriesScale]
    known: tuple[Scale, ...] = ()
    calibration: Calibration | None = None
    """None: quantiles are forecast as the network has learned them."""

    def of(self, series: Series, season: int, *, standard: bool = True, until: int | None = None) -> SeriesScale:
        """The scale of a series. One that was not trained on has that of its values, or of those before the step `until`."""
        stored = self.series.get(series.name)
        if stored is not None:
            return stored
        return measured(series.values[:until], season, standard=standard)


def measured(values: Values, season: int, *, standard: bool = True) -> SeriesScale:
    """The scale of these values. `standard`: whether they are standardised at all."""
    scale = Scale.of(values) if standard else Scale()
    return SeriesScale(mean=scale.mean, deviation=scale.deviation, naive_error=naive_error(values, season))


def naive_error(values: Values, season: int) -> float | None:
    """The mean absolute error of the seasonal naive forecast one season ahead; None if there is no whole season before a value."""
    return float(np.abs(values[season:] - values[:-season]).mean()) if len(values) > season else None


def stored_time(text: str | None) -> Time | None:
    """The time of a stored text; None if there is none or it is damaged."""
    return None if text is None else parse_time(text)


def time_text(series: Series, steps: int) -> str:
    """The time of the last of the first `steps` steps."""
    return shown_time(series.time(steps - 1))
