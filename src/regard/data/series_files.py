"""Reads series from CSV: wide (a time column and a column a series) or long (`unique_id, ds, y` and known columns).

Every fault is a `DataError` with file and line: text in a number's place, infinite values, gaps, duplicate or unordered times. With
`repair`, times are sorted, the last of duplicate rows is kept, and gaps count as missing values.
"""

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from regard.data.frequency import Frequency, Time, find_frequency, parse_time
from regard.data.readers import display_name, read_lines
from regard.data.series import MissingRule, Series, SeriesTable
from regard.data.series_grid import Row, Rules, regular_series
from regard.errors import ConfigError, DataError, shown

_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
ID, TIME, VALUE = "unique_id", "ds", "y"
"""The columns of the long form."""
MISSING = frozenset(("", "na", "nan", "null", "none", "n/a", "#n/a", "-"))
"""Cells that stand for a missing value, in lower case."""
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "|"}


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
    groups: dict[str, list[Row]] = {}
    times: dict[str, Time] = {}
    for line, row in cells:
        if len(row) != len(columns.header):
            raise DataError(
                f"{name}:{line}: {len(row)} cells, but the header has {len(columns.header)} columns; give every row as many, and "
                "write numbers with a point"
            )
        identity = "" if columns.identity is None else row[columns.identity].strip()
        groups.setdefault(identity, []).append(_row(row, line, columns, times, name))
    if not groups:
        raise DataError(f"{name}: no rows below the header; give a row for each time")
    frequency = _frequency(groups, form, name)
    notes: list[str] = []
    series: list[Series] = []
    rules = Rules(frequency, form.missing, form.repair, name)
    wide = [columns.header[place] for place in columns.targets]
    for identity, rows in groups.items():
        long = columns.identity is not None
        series += regular_series([identity] if long else wide, rows, rules, notes, identity if long else "")
    if filled := sum(one.filled for one in series):
        notes.append(f"{filled:,} missing values are filled by the rule data.missing = {form.missing!r}")
    known = tuple(columns.header[place] for place in columns.known)
    return SeriesTable(tuple(series), known, frequency, columns.identity is not None, tuple(notes), name)


def _cells(path: str | Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """The line number and the cells of each row. The separator is the one of `SEPARATORS` that the header has most of."""
    separator = None
    for line, text in enumerate(read_lines(path), 1):
        text = text.removesuffix("\r")
        if not text.strip():
            continue
        if separator is None:
            separator = max(SEPARATORS, key=text.count)
        if '"' not in text:
            yield line, text.split(separator)
            continue
        try:
            [row] = csv.reader([text], delimiter=separator, strict=True)
        except (csv.Error, ValueError):
            raise DataError(f"{name}:{line}: a quoted cell does not end on its line; write each row on one") from None
        yield line, row


def _columns(header: list[str], form: SeriesForm, name: str) -> _Columns:
    if not any(header):
        raise DataError(f"{name}: empty; give a header, such as time,y, and a row for each time")
    if len(header) < 2:
        raise DataError(
            f"{name}:1: {shown(header[0])!r} is one column; give a time column and at least one of values, separated by "
            f"{', '.join(SEPARATORS.values())}, in UTF-8 with a line for each row"
        )
    if "" in header[1:]:
        raise DataError(
            f"{name}:1: column {header.index('', 1) + 1} has no name; give it one, or remove it from every row"
        )
    if form.time not in header and _is_data(header):
        example = "time,y" if parse_time(header[0]) is not None else ",".join((ID, TIME, VALUE))
        raise DataError(
            f"{name}:1: the first line has values, {shown(','.join(header[:3]))}, and no names of columns; put a header above it, "
            f"such as {example}"
        )
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


def _is_data(cells: list[str]) -> bool:
    """Whether a first line is a row of values: a time, then numbers or missing values. A file without a header would lose it.

    Of the long form, a name stands before them. There only a date is taken for a time.
    """
    wide = parse_time(cells[0]) is not None and all(map(_is_number, cells[1:]))
    long = len(cells) > 2 and isinstance(parse_time(cells[1]), datetime) and all(map(_is_number, cells[2:]))
    return wide or long


def _is_number(cell: str) -> bool:
    return _parsed(cell) is not None or cell.lower() in MISSING


def _parsed(cell: str) -> float | None:
    """The number of a cell. None: it is none; Python's 1_000 is not how a file writes one."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _row(row: list[str], line: int, columns: _Columns, times: dict[str, Time], name: str) -> Row:
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
    values = [_number(row[place], line, place, columns, name) for place in columns.targets]
    known = [_number(row[place], line, place, columns, name) for place in columns.known]
    for place, value in zip(columns.known, known, strict=True):
        if math.isnan(value):
            raise DataError(
                f"{name}:{line}: the known column {columns.header[place]!r} has no value; give one in every row"
            )
    return Row(line, time, values, known)


def _number(cell: str, line: int, place: int, columns: _Columns, name: str) -> float:
    """The number of a cell; NaN if it is missing."""
    value = _parsed(cell)
    if value is None and cell.strip().lower() in MISSING:
        return math.nan
    where = f"{name}:{line}: {shown(cell)!r} in the column {columns.header[place]!r}"
    if value is None:
        raise DataError(f"{where} is no number; {_advice(cell.strip(), place, columns)}")
    if math.isinf(value) or abs(value) > 1e30:
        raise DataError(
            f"{where} is not finite or above 1e30; correct it, or leave the cell empty if the value is missing"
        )
    return value


def _advice(cell: str, place: int, columns: _Columns) -> str:
    """How to mend a cell that is no number, by what it looks like."""
    column, time = columns.header[place], columns.header[columns.time]
    if isinstance(parse_time(cell), datetime):
        return (
            f"it is a time, as the column {time!r} should have; --set data.time={column} makes this column the times, "
            "and --target names the columns to forecast"
        )
    if _CLOCK.fullmatch(cell):
        return f"it is a time of day; write it behind the date in the column {time!r}, as 2016-07-01 13:00"
    if _DECIMAL_COMMA.fullmatch(cell):
        return f"if its comma is a decimal comma, write {cell.replace(',', '.')} and so in every row"
    return "write one such as 1234.5, leave the cell empty if the value is missing, or leave the column out of --target"


def _frequency(groups: dict[str, list[Row]], form: SeriesForm, name: str) -> Frequency:
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
