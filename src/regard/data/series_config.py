"""The settings of series: the file, its columns, the window and the split. It opens no file."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from regard.data.config import STDIN
from regard.data.frequency import Frequency
from regard.settings import Settings

LONGEST = 100_000
"""The longest context and horizon, in steps."""


def _check_frequency(name: str | None) -> str | None:
    if name is not None:
        Frequency.parse(name)
    return name


class SeriesData(Settings):
    """Time series to forecast."""

    series: str | None = Field(default=None, examples=["series.csv"])
    """Series in a CSV file: a time column and a column a series, or the long form unique_id, ds, y (.gz is unpacked)."""
    time: str | None = None
    """The column of times. By default ds in the long form, else the first column."""
    targets: tuple[str, ...] = ()
    """The columns to forecast. By default y in the long form, else all columns but the times and the known ones."""
    known: tuple[str, ...] = ()
    """Columns whose future is known, such as holidays or prices. Their rows go on after the last value of a series."""
    horizon: int = Field(default=24, ge=1, le=LONGEST)
    """Steps to forecast."""
    context: int = Field(default=96, ge=1, le=LONGEST)
    """Steps of the past that are read for a forecast."""
    quantiles: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95)
    """Quantiles to forecast beside the value, ascending. A lower one and its mirror image, such as 0.05 and 0.95, make an interval."""
    frequency: Annotated[str | None, AfterValidator(_check_frequency)] = None
    """The step between two times, such as h, 15min, d, b, w, m or y. By default the most common one of the file."""
    season: int | None = Field(default=None, ge=1, le=LONGEST)
    """Steps of a season, for seasonal baselines and MASE. By default that of the frequency: 24 for hours, 7 for days, 12 for months."""
    missing: Literal["previous", "linear", "zero", "refuse"] = "previous"
    """The value that takes the place of a missing one: the one before, one on a line between its neighbours, 0, or none (refuse)."""
    repair: bool = False
    """Whether times are sorted, the last of duplicate rows is kept and gaps are filled. Otherwise such files are refused."""
    scale: Literal["standard", "none"] = "standard"
    """Whether each series is standardised by the mean and deviation of its training part. MSE and MAE are then in these units."""
    train_steps: int | None = Field(default=None, ge=1)
    """Steps of each series to train on, from its start. By default what validation and test leave."""
    valid_steps: int | None = Field(default=None, ge=1)
    """Steps after these to validate on. By default a tenth of the series, at least the horizon."""
    test_steps: int | None = Field(default=None, ge=1)
    """Steps after these to test on. By default a fifth of the series, at least the horizon."""
    baselines: tuple[Literal["last", "seasonal", "ets", "arima"], ...] = ("last", "seasonal", "ets", "arima")
    """Baselines of the evaluation: last value, seasonal naive, exponential smoothing, ARIMA. The last two need the extra forecast."""
    baseline_windows: int = Field(default=28, ge=1, le=100_000)
    """The most windows that ets and arima are computed on, evenly spaced: each is fitted anew."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if any(not 0.0 < level < 1.0 for level in self.quantiles) or sorted(set(self.quantiles)) != list(
            self.quantiles
        ):
            raise ValueError(
                f"quantiles {list(self.quantiles)} must be ascending numbers between 0 and 1, such as [0.1, 0.5, 0.9]"
            )
        if self.series == STDIN:
            raise ValueError("series must be a file: a run reads it again when it is resumed and evaluated")
        return self
