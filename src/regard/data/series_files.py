"""Reads series from CSV: wide (a time column and a column a series) or long (`unique_id, ds, y` and known columns).

Every fault is a `DataError` with file and line: text in a number's place, infinite values, gaps, duplicate or unordered times. With
`repair`, times are sorted, the last of duplicate rows is kept, and gaps count as missing values.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from regard.data.frequency import Frequency, Time, find_frequency, parse_time, shown_time
from regard.data.readers import display_name, read_lines
from regard.data.series import MissingRule, Series, SeriesTable, fill_missing
from regard.errors import ConfigError, DataError, shown

ID, TIME, VALUE = "unique_id", "ds", "y"
"""The columns of the long form."""
MISSING = frozenset(("", "na", "nan", "null", "none", "n/a", "#n/a", "-"))
"""Cells that stand for a missing value, in lower case."""
REPAIR = "repair (--repair of forecast and evaluate, --set data.repair=true of train)"
MOST_STEPS = 50_000_000
"""Steps of one series, gaps filled: a wrong year must not fill the memory."""


@dataclass(frozen=True)
class SeriesForm:
    """How a file is read. None: found from the file."""

    time: str | None = None
    targets: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    frequency: str | None = None
    missing: MissingRule = "previous"
    repair: bool = False
    expected: str | None = None
    """The frequency of a model: a file that has no such step between two times is refused."""


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    time: Time
    values: list[float]
    known: list[float]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The places of the columns in a row."""

    time: int
    targets: list[int]
    known: list[int]
    identity: int | None
    header: list[str]


def read_series(path: str | Path, form: SeriesForm) -> SeriesTable:
    """The series of a CSV file (.gz is unpacked; `-` is the standard input)."""
    name = display_name(path)
    cells = _cells(path, name)
    header = next(cells, (1, []))[1]
    columns = _columns([cell.strip() for cell in header], form, name)
    groups: dict[str, list[_Row]] = {}
    times: dict[str, Time] = {}
    for line, row in cells:
        if len(row) != len(columns.header):
            raise DataError(
                f"{name}:{line}: {len(row)} cells, but the header has {len(columns.header)} columns; give every row as many"
            )
        identity = "" if columns.identity is None else row[columns.identity].strip()
        groups.setdefault(identity, []).append(_row(row, line, columns, times, name))
    if not groups:
        raise DataError(f"{name}: no rows below the header; give a row for each time")
    frequency = _frequency(groups, form, name)
    notes: list[str] = []
    series: list[Series] = []
    for identity, rows in groups.items():
        prefix = "" if columns.identity is None else identity
        series += _regular(prefix, rows, columns, frequency, form, name, notes)
    if filled := sum(one.filled for one in series):
        notes.append(f"{filled:,} missing values are filled by the rule data.missing = {form.missing!r}")
    known = tuple(columns.header[place] for place in columns.known)
    return SeriesTable(tuple(series), known, frequency, columns.identity is not None, tuple(notes), name)


def _cells(path: str | Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """The line number and the cells of each row. The separator is the comma, semicolon or tab that the header has most of."""
    separator = None
    for line, text in enumerate(read_lines(path), 1):
        text = text.removesuffix("\r")
        if not text.strip():
            continue
        if separator is None:
            separator = max(",;\t", key=text.count)
        if '"' not in text:
            yield line, text.split(separator)
            continue
        try:
            [row] = csv.reader([text], delimiter=separator, strict=True)
        except (csv.Error, ValueError):
            raise DataError(f"{name}:{line}: a quoted cell does not end on its line; write each row on one") from None
        yield line, row


def _columns(header: list[str], form: SeriesForm, name: str) -> _Columns:
    if len(header) < 2:
        raise DataError(f"{name}:1: a header of {len(header)} columns; give a time column and at least one of values")
    repeated = next((column for column in header if header.count(column) > 1), None)
    if repeated is not None:
        raise DataError(f"{name}:1: the column {repeated!r} occurs twice; give each column a name of its own")
    long = {ID, TIME} <= set(header)
    time = form.time or (TIME if long else header[0])
    targets = form.targets or ((VALUE,) if long else ())
    for wanted, setting in (
        (time, "data.time"),
        *((one, "--target") for one in targets),
        *((one, "data.known") for one in form.known),
    ):
        if wanted not in header:
            raise ConfigError(f"{name}:1: no column {wanted!r} ({setting}); its columns are {', '.join(header)}")
    if long and len(targets) != 1:
        raise ConfigError(
            f"{name}:1: the long form has one column of values, not {', '.join(targets)}; give one --target"
        )
    if not targets:
        targets = tuple(column for column in header if column not in (time, *form.known))
    twice = next((one for one in (*targets, time) if one in form.known), None) or (time if time in targets else None)
    if twice is not None or not targets:
        raise ConfigError(
            f"{name}:1: no column is left to forecast; give --target"
            if twice is None
            else f"{name}:1: the column {twice!r} is given twice, as a target and as data.known or data.time; give it once"
        )
    places = {column: place for place, column in enumerate(header)}
    return _Columns(
        places[time],
        [places[one] for one in targets],
        [places[one] for one in form.known],
        places[ID] if long else None,
        header,
    )


def _row(row: list[str], line: int, columns: _Columns, times: dict[str, Time], name: str) -> _Row:
    text = row[columns.time]
    time = times.get(text)
    if time is None:
        time = parse_time(text)
        if time is None:
            raise DataError(
                f"{name}:{line}: {shown(text)!r} in the column {columns.header[columns.time]!r} is no time; write it as "
                "2016-07-01 00:00, 2016-07, or a whole number, or name the time column by data.time"
            )
        times[text] = time
    values = [_number(row[place], line, columns.header[place], name) for place in columns.targets]
    known = [_number(row[place], line, columns.header[place], name) for place in columns.known]
    for place, value in zip(columns.known, known, strict=True):
        if math.isnan(value):
            raise DataError(
                f"{name}:{line}: the known column {columns.header[place]!r} has no value; give one in every row"
            )
    return _Row(line, time, values, known)


def _number(cell: str, line: int, column: str, name: str) -> float:
    """The number of a cell; NaN if it is missing."""
    try:
        value = float(cell)
    except ValueError:
        if cell.strip().lower() in MISSING:
            return math.nan
        raise DataError(
            f"{name}:{line}: {shown(cell)!r} in the column {column!r} is no number; write one such as 12.5, leave the cell "
            "empty if the value is missing, or leave the column out of --target"
        ) from None
    if math.isinf(value) or abs(value) > 1e30:
        raise DataError(
            f"{name}:{line}: {shown(cell)} in the column {column!r} is not finite or above 1e30; correct it, or leave the cell "
            "empty if the value is missing"
        )
    return value


def _frequency(groups: dict[str, list[_Row]], form: SeriesForm, name: str) -> Frequency:
    """The frequency that is stated, or that most steps have. Times of two kinds in a file are refused."""
    kinds = {isinstance(row.time, int): row for rows in groups.values() for row in rows}
    if len(kinds) > 1:
        raise DataError(
            f"{name}:{kinds[True].line}: {kinds[True].time} is a whole number, and line {kinds[False].line} has a date; "
            "write all times in one form"
        )
    if form.frequency is not None:
        try:
            stated = Frequency.parse(form.frequency)
        except ValueError as error:
            raise ConfigError(f"data.{error}") from None
        if (stated.unit == "step") != (True in kinds):
            raise ConfigError(
                f"data.frequency = {form.frequency!r} does not fit {name}, whose times are "
                f"{'whole numbers; use step or 2step' if True in kinds else 'dates; use h, d or m'}"
            )
        return stated
    longest = max(groups.values(), key=len)
    times = sorted({row.time for row in longest})
    found = find_frequency(times)
    if form.expected is not None:
        return _expected(Frequency.parse(form.expected), found, times, name)
    if found is None:
        raise DataError(
            f"{name}:{longest[0].line}: one time only, so no frequency; give a row for each time, at least two"
        )
    return found


def _expected(expected: Frequency, found: Frequency | None, times: Sequence[Time], name: str) -> Frequency:
    """The frequency of the model, if two times are one step of it apart, or there is one time only."""
    fits = found is None or any(expected.steps(earlier, later) == 1 for earlier, later in pairwise(times))
    if found is not None and (not fits or isinstance(times[0], int) != (expected.unit == "step")):
        raise DataError(
            f"{name}: its times are {found.name} apart, and the model forecasts steps of {expected.name}; "
            "give series of the same frequency"
        )
    return expected


def _regular(
    identity: str,
    rows: list[_Row],
    columns: _Columns,
    frequency: Frequency,
    form: SeriesForm,
    name: str,
    notes: list[str],
) -> Iterator[Series]:
    """The series of the rows of one identity, one for each target column, on a regular grid."""
    rows = _ordered(rows, frequency, form.repair, name, notes)
    start = rows[0].time
    places = [_place(row, rows[0], frequency, name) for row in rows]
    if places[-1] >= MOST_STEPS:
        raise DataError(
            f"{name}:{rows[-1].line}: {shown_time(rows[-1].time)} is {places[-1]:,} steps of {frequency.name} after the first time; "
            "correct the time or give data.frequency"
        )
    gaps = len(range(places[-1] + 1)) - len(places)
    if gaps and not form.repair:
        raise _gap(rows, places, frequency, name)
    if gaps:
        notes.append(f"{f'{identity}: ' if identity else ''}{gaps:,} missing times are filled in")
    known = np.full((places[-1] + 1, len(columns.known)), np.nan)
    known[places] = np.array([row.known for row in rows]).reshape(len(rows), -1)
    for place in range(len(columns.known)):
        known[:, place] = fill_missing(known[:, place], "previous")
    for number, target in enumerate(columns.targets):
        values = np.full(places[-1] + 1, np.nan)
        values[places] = [row.values[number] for row in rows]
        label = identity if columns.identity is not None else columns.header[target]
        yield _filled(label, start, frequency, values, known, form.missing, rows, name)


def _filled(
    label: str,
    start: Time,
    frequency: Frequency,
    values: np.ndarray,
    known: np.ndarray,
    rule: MissingRule,
    rows: Sequence[_Row],
    name: str,
) -> Series:
    """The series up to its last value, missing values filled. Later rows are of the future."""
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


def _ordered(rows: list[_Row], frequency: Frequency, repair: bool, name: str, notes: list[str]) -> list[_Row]:
    """Rows in the order of their times, each time once. Without `repair` other rows are refused."""
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
    kept: list[_Row] = []
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


def _place(row: _Row, first: _Row, frequency: Frequency, name: str) -> int:
    """The step of a row, from the first."""
    steps = frequency.steps(first.time, row.time)
    if steps is None:
        raise DataError(
            f"{name}:{row.line}: {shown_time(row.time)} is no whole number of steps of {frequency.name} after "
            f"{shown_time(first.time)} (line {first.line}); correct the time, or give data.frequency"
        )
    return steps


def _gap(rows: list[_Row], places: list[int], frequency: Frequency, name: str) -> DataError:
    number = next(number for number in range(1, len(places)) if places[number] != places[number - 1] + 1)
    missing = places[number] - places[number - 1] - 1
    return DataError(
        f"{name}:{rows[number].line}: {missing:,} times are missing between {shown_time(rows[number - 1].time)} and "
        f"{shown_time(rows[number].time)}, at steps of {frequency.name}; add the rows, or fill them by {REPAIR}"
    )
