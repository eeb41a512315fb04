"""Rows of one series laid on a regular grid of times: their order, duplicates, gaps and missing values. It reads no file.

Every fault is a `DataError` with the line of its row, unless `repair` mends it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from regard.data.frequency import Frequency, Time, shown_time
from regard.data.series import MissingRule, Series, fill_missing
from regard.errors import DataError

REPAIR = "repair (--repair of forecast and evaluate, --set data.repair=true of train)"
MOST_STEPS = 50_000_000
"""Steps of one series, gaps filled: a wrong year must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file: its line, its time, and its numbers; NaN is a missing value."""

    line: int
    time: Time
    values: list[float]
    known: list[float]


@dataclass(frozen=True)
class Rules:
    """How rows become regular series."""

    frequency: Frequency
    missing: MissingRule
    repair: bool
    name: str
    """The name of the file, for messages."""


def regular_series(
    labels: Sequence[str], rows: list[Row], rules: Rules, notes: list[str], about: str = ""
) -> Iterator[Series]:
    """The series of these rows, one for each label and column of values, on a regular grid.

    notes: gets what was repaired; about: what to put before a note, for a file of several series.
    """
    frequency, name = rules.frequency, rules.name
    rows = _ordered(rows, rules, notes)
    start = rows[0].time
    places = [_place(row, rows[0], frequency, name) for row in rows]
    if places[-1] >= MOST_STEPS:
        raise DataError(
            f"{name}:{rows[-1].line}: {shown_time(rows[-1].time)} is {places[-1]:,} steps of {frequency.name} after the first time; "
            "correct the time or give data.frequency"
        )
    gaps = len(range(places[-1] + 1)) - len(places)
    if gaps and not rules.repair:
        raise _gap(rows, places, frequency, name)
    if gaps:
        notes.append(f"{f'{about}: ' if about else ''}{gaps:,} missing times are filled in")
    given = np.array([row.known for row in rows]).reshape(len(rows), -1)
    known = np.full((places[-1] + 1, given.shape[1]), np.nan)
    known[places] = given
    for place in range(given.shape[1]):
        known[:, place] = fill_missing(known[:, place], "previous")
    for number, label in enumerate(labels):
        values = np.full(places[-1] + 1, np.nan)
        values[places] = [row.values[number] for row in rows]
        yield _filled(label, start, values, known, rows, rules)


def _filled(
    label: str, start: Time, values: np.ndarray, known: np.ndarray, rows: Sequence[Row], rules: Rules
) -> Series:
    """The series up to its last value, missing values filled. Later rows are of the future."""
    name, frequency, rule = rules.name, rules.frequency, rules.missing
    there = np.flatnonzero(~np.isnan(values))
    if not len(there):
        raise DataError(f"{name}:{rows[0].line}: the series {label!r} has no values; leave it out or fill it in")
    values = values[: there[-1] + 1]
    missing = len(values) - len(there)
    if missing and rule == "refuse":
        step = int(np.flatnonzero(np.isnan(values))[0])
        time = frequency.after(start, step)
        line = next((row.line for row in rows if row.time == time), rows[0].line)
        raise DataError(
            f"{name}:{line}: the series {label!r} has no value at {shown_time(time)} ({missing} missing); fill it in, or set "
            "data.missing to previous, linear or zero"
        )
    return Series(label, start, frequency, fill_missing(values, rule), known, np.flatnonzero(np.isnan(values)))


def _ordered(rows: list[Row], rules: Rules, notes: list[str]) -> list[Row]:
    """Rows in the order of their times, each time once. Without `repair` other rows are refused."""
    name, repair = rules.name, rules.repair
    unordered = duplicates = 0
    for earlier, later in pairwise(rows):
        if later.time < earlier.time:  # type: ignore[operator]
            unordered += 1
            if not repair:
                raise DataError(
                    f"{name}:{later.line}: {shown_time(later.time)} stands after {shown_time(earlier.time)} (line {earlier.line}); "
                    f"sort the rows by time, or let them be sorted by {REPAIR}"
                )
    if unordered:
        rows = sorted(rows, key=lambda row: row.time)
        notes.append(f"{unordered:,} rows were out of order and are sorted")
    kept: list[Row] = []
    for row in rows:
        if kept and kept[-1].time == row.time:
            duplicates += 1
            if not repair:
                raise DataError(
                    f"{name}:{row.line}: the time {shown_time(row.time)} is a duplicate of line {kept[-1].line}; remove one, "
                    f"or keep the last by {REPAIR}"
                )
            kept.pop()
        kept.append(row)
    if duplicates:
        notes.append(f"of {duplicates:,} duplicate times the last row is kept")
    return kept


def _place(row: Row, first: Row, frequency: Frequency, name: str) -> int:
    """The step of a row, from the first."""
    steps = frequency.steps(first.time, row.time)
    if steps is None:
        raise DataError(
            f"{name}:{row.line}: {shown_time(row.time)} is no whole number of steps of {frequency.name} after "
            f"{shown_time(first.time)} (line {first.line}); correct the time, or give data.frequency"
        )
    return steps


def _gap(rows: list[Row], places: list[int], frequency: Frequency, name: str) -> DataError:
    number = next(number for number in range(1, len(places)) if places[number] != places[number - 1] + 1)
    missing = places[number] - places[number - 1] - 1
    count = "1 time is" if missing == 1 else f"{missing:,} times are"
    return DataError(
        f"{name}:{rows[number].line}: {count} missing between {shown_time(rows[number - 1].time)} and "
        f"{shown_time(rows[number].time)}, at steps of {frequency.name}; add the rows, or fill them by {REPAIR}"
    )
