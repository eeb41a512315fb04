"""Time series in memory: `Series`, `SeriesTable`, and the rules for gaps and missing values. `series_files.py` reads them from files.

Shapes: T observed steps, K steps with known columns (T and those of the future), F known columns.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.frequency import Frequency, Time, shown_time
from regard.errors import DataError

Values = NDArray[np.float64]
MissingRule = Literal["previous", "linear", "zero", "refuse"]


@dataclass(frozen=True)
class Series:
    """One regular series: a value at each step from `start`."""

    name: str
    start: Time
    frequency: Frequency
    values: Values
    """[T] the observed values, missing ones filled."""
    known: Values
    """[K, F] the known columns, K >= T: the rows after T are of the future."""
    gaps: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The steps whose values were missing."""

    @property
    def filled(self) -> int:
        """The number of values that were missing."""
        return len(self.gaps)

    def time(self, step: int) -> Time:
        """The time of a step; steps from T on are of the future."""
        return self.frequency.after(self.start, step)

    def steps_until(self, time: Time) -> int:
        """The number of values up to and with a time; 0 if it lies before the first or is of another kind."""
        if isinstance(time, int) != isinstance(self.start, int):
            return 0
        return bisect_right(range(len(self.values)), time, key=self.time)

    def known_at(self, step: int) -> "Series":
        """The series with lines over its gaps before a step alone: from there on a missing value is the one before it."""
        if not len(self.gaps):
            return self
        values = self.values.copy()
        values[self.gaps] = np.nan
        if not np.isnan(values[:step]).all():
            values[:step] = fill_missing(values[:step], "linear")
        return replace(self, values=fill_missing(values, "previous"))


@dataclass(frozen=True)
class SeriesTable:
    """The series of a file."""

    series: tuple[Series, ...]
    columns: tuple[str, ...]
    """The names of the known columns."""
    frequency: Frequency
    long: bool
    """Whether the file has the long form `unique_id, ds, y`."""
    notes: tuple[str, ...] = ()
    """What was repaired or filled, for the user."""
    name: str = "series"
    """The name of the file, for messages."""
    names: dict[str, int] = field(init=False)
    """The number of each series by name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", {one.name: number for number, one in enumerate(self.series)})

    @property
    def filled(self) -> int:
        """The number of values that were missing."""
        return sum(one.filled for one in self.series)

    def known_at(self, steps: Sequence[int], rule: MissingRule) -> "SeriesTable":
        """The table with each series as it is known at a step: the rule `linear` draws no line to a later value."""
        if rule != "linear":
            return self
        pairs = zip(self.series, steps, strict=True)
        return replace(self, series=tuple(one.known_at(step) for one, step in pairs))


def fill_missing(values: Values, rule: MissingRule) -> Values:
    """The values with every NaN replaced: by the value before it, by a line between its neighbours, or by 0.

    What is missing before the first value takes that value, and after the last one the last, under `previous` and `linear`.
    """
    there = np.flatnonzero(~np.isnan(values))
    if len(there) == len(values) or rule == "refuse":
        return values
    if rule == "zero":
        return np.nan_to_num(values, nan=0.0)
    places = np.arange(len(values))
    if rule == "linear":
        return np.interp(places, there, values[there])
    before = np.searchsorted(there, places, side="right") - 1
    filled: Values = values[there[np.maximum(before, 0)]]
    return filled


LARGEST = 1e30
"""The largest value: the square of one much larger is infinite in float32."""


def series_of(
    rows: Sequence[Sequence[float]] | NDArray[np.floating], names: Sequence[str] | None = None
) -> SeriesTable:
    """The table of plain lists of numbers, for callers without a file. Times are step numbers from 0.

    Without names they are " 0", " 1", ..: no series of a file is called so, because names are read without spaces around them.
    """
    frequency = Frequency("step", 1)
    series = []
    for number, row in enumerate(rows):
        name = f" {number}" if names is None else names[number]
        values = np.asarray(row, dtype=np.float64)
        if values.ndim != 1 or not len(values):
            raise DataError(
                f"series {name.strip()}: expected a list of numbers, at least one; found shape {list(values.shape)}"
            )
        if not np.isfinite(values).all():
            place = int(np.flatnonzero(~np.isfinite(values))[0])
            raise DataError(f"series {name.strip()}: value {place} is {values[place]}; give finite numbers")
        if (largest := float(np.abs(values).max())) > LARGEST:
            raise DataError(
                f"series {name.strip()}: a value of {largest:g}; give it in a larger unit, at most {LARGEST:g}"
            )
        series.append(Series(name, 0, frequency, values, np.zeros((len(values), 0))))
    if not series:
        raise DataError("no series are given; give at least one list of numbers")
    return SeriesTable(tuple(series), (), frequency, long=True)


def describe_span(series: Series) -> str:
    """`1949-01-01 to 1960-12-01, 144 steps of m`."""
    last = series.time(len(series.values) - 1)
    count = len(series.values)
    return f"{shown_time(series.start)} to {shown_time(last)}, {count:,} steps of {series.frequency.name}"
