"""Series from CSV: both forms, frequencies, missing values against pandas, and every fault with its line and its fix."""

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from regard.data.frequency import Frequency, find_frequency, parse_time, shown_time
from regard.data.series import fill_missing
from regard.data.series_files import SeriesForm, read_series
from regard.errors import ConfigError, DataError

WIDE = "date,a,b\n2020-01-01,1,10\n2020-01-02,2,20\n2020-01-03,3,30\n2020-01-04,4,40\n"
LONG = "unique_id,ds,y,promo\nx,2020-01,1,0\nx,2020-02,2,1\nx,2020-03,,1\ny,2021-05,5,0\ny,2021-06,6,0\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "s.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_wide_form(tmp_path: Path) -> None:
    table = read_series(written(tmp_path, WIDE), SeriesForm())
    assert [(one.name, one.values.tolist()) for one in table.series] == [("a", [1, 2, 3, 4]), ("b", [10, 20, 30, 40])]
    assert (table.frequency.name, table.frequency.season, table.long) == ("d", 7, False)
    assert shown_time(table.series[0].time(5)) == "2020-01-06"
    one = read_series(written(tmp_path, WIDE), SeriesForm(targets=("b",), known=("a",)))
    assert [series.name for series in one.series] == ["b"]
    assert one.series[0].known.tolist() == [[1], [2], [3], [4]]


def test_long_form_with_a_known_future(tmp_path: Path) -> None:
    table = read_series(written(tmp_path, LONG), SeriesForm(known=("promo",)))
    first, second = table.series
    assert (first.name, first.values.tolist(), first.known.tolist()) == ("x", [1, 2], [[0], [1], [1]])
    assert (second.name, second.values.tolist()) == ("y", [5, 6])
    assert (table.frequency.name, table.long) == ("m", True)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_quotes_and_line_ends(tmp_path: Path, separator: str) -> None:
    text = WIDE.replace(",", separator).replace("\n", "\r\n").replace("2020-01-02", '"2020-01-02"')
    assert read_series(written(tmp_path, text), SeriesForm()).series[1].values.tolist() == [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            WIDE.replace(",20\n", ",twenty\n"),
            "s.csv:3: 'twenty' in the column 'b' is no number; write one such as 1234.5",
        ),
        (WIDE.replace(",20\n", ",inf\n"), "s.csv:3: 'inf' in the column 'b' is not finite"),
        (WIDE.replace(",20\n", ",1e300\n"), "s.csv:3: '1e300' in the column 'b' is not finite or above 1e30"),
        (WIDE.replace(",20\n", "\n"), "s.csv:3: 2 cells, but the header has 3 columns"),
        (WIDE.replace("2020-01-02", "2 January"), "s.csv:3: '2 January' in the column 'date' is no time; write it as"),
        (WIDE.replace("2020-01-03,3,30\n", ""), "s.csv:4: 1 time is missing between 2020-01-02 and 2020-01-04"),
        (
            WIDE.replace("2020-01-03", "2020-01-02"),
            "s.csv:4: the time 2020-01-02 is a duplicate of line 3; remove one, or",
        ),
        (
            WIDE.replace("2020-01-03", "2019-12-31"),
            "s.csv:4: 2019-12-31 stands after 2020-01-02 (line 3); sort the rows",
        ),
        (
            WIDE.replace("2020-01-03", "2020-01-03 05:00"),
            "s.csv:4: 2020-01-03 05:00:00 is no whole number of steps of d",
        ),
        (WIDE.replace("2020-01-03", "7"), "s.csv:4: 7 is a whole number, and line"),
        (WIDE.replace(",a,b", ",a,a"), "s.csv:1: the column 'a' occurs twice"),
        ("date,a\n", "s.csv: no rows below the header"),
        (
            "date\n2020-01-01\n",
            "s.csv:1: 'date' is one column; give a time column and at least one of values, separated by",
        ),
        ("", "s.csv: empty; give a header, such as time,y"),
        (WIDE.replace(",a,b", ",a,"), "s.csv:1: column 3 has no name; give it one, or remove it from every row"),
        (
            WIDE.split("\n", 1)[1],
            "s.csv:1: the first line has values, 2020-01-01,1,10, and no names of columns; put a header above it, such as time,y",
        ),
        ("1,5\n2,\n3,7\n", "s.csv:1: the first line has values, 1,5, and no names"),
        ("\ufeff1949-01;NA\n1949-02;5\n", "s.csv:1: the first line has values, 1949-01,NA, and no names"),
        ("x,2020-01,1\nx,2020-02,2\n", "put a header above it, such as unique_id,ds,y"),
        (
            "date,time,a\n2020-01-01,2020-01-01,5\n",
            "s.csv:2: '2020-01-01' in the column 'time' is no number; it is a time, as the column 'date' should have; --set data.time=time",
        ),
        (
            "date,hour,a\n2020-01-01,13:00,5\n",
            "'13:00' in the column 'hour' is no number; it is a time of day; write it behind",
        ),
        (
            "date;a\n2020-01-01;2,5\n",
            "s.csv:2: '2,5' in the column 'a' is no number; if its comma is a decimal comma, write 2.5",
        ),
        (WIDE.replace(",20\n", ",2_0\n"), "s.csv:3: '2_0' in the column 'b' is no number"),
        ("date,a\n2020-01-01,1\n", "s.csv:2: one time only, so no frequency"),
        ("date,a\n2020-01-01,\n2020-01-02,\n", "s.csv:2: the series 'a' has no values"),
        ('date,a\n2020-01-01,"1\n', "s.csv:2: a quoted cell does not end on its line"),
        ("t,a\n1,1\n2,1\n900000000000,2\n", "steps of step after the first time; correct the time"),
    ],
)
def test_every_fault_names_its_line_and_a_fix(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_series(written(tmp_path, text), SeriesForm())
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("header", ["date,1,2", ",1,2", "t,2020-01,2020-02", "2020,a,2021", "store,2020-01-01,x"])
def test_a_header_with_numbers_or_dates_in_it_is_a_header(tmp_path: Path, header: str) -> None:
    names = header.split(",")
    table = read_series(written(tmp_path, f"{header}\n2020-01-01,1,10\n2020-01-02,2,20\n"), SeriesForm())
    assert [one.name for one in table.series] == names[1:]
    assert [one.values.tolist() for one in table.series] == [[1, 2], [10, 20]]


def test_a_time_column_that_is_given_by_its_name_is_in_the_header(tmp_path: Path) -> None:
    path = written(tmp_path, "2020,1\n2020-01-01,5\n2020-01-02,6\n")
    assert read_series(path, SeriesForm(time="2020")).series[0].values.tolist() == [5, 6]


def test_faults_of_settings(tmp_path: Path) -> None:
    path = written(tmp_path, WIDE)
    for form, message in (
        (SeriesForm(targets=("c",)), "no column 'c' (--target); its columns are date, a, b"),
        (SeriesForm(known=("c",)), "no column 'c' (data.known)"),
        (SeriesForm(known=("a", "b")), "no column is left to forecast; give --target"),
        (SeriesForm(targets=("a",), known=("a",)), "the column 'a' is given twice"),
        (SeriesForm(frequency="2step"), "data.frequency = '2step' does not fit"),
        (SeriesForm(frequency="often"), "data.frequency 'often': not one of s, min, h"),
    ):
        with pytest.raises(ConfigError) as caught:
            read_series(path, form)
        assert message in str(caught.value)
    with pytest.raises(DataError, match=r"s.csv:2: the known column 'a' has no value"):
        read_series(written(tmp_path, WIDE.replace("01,1,", "01,,")), SeriesForm(known=("a",)))


def test_repair_sorts_drops_and_fills(tmp_path: Path) -> None:
    text = "date,a\n2020-01-05,5\n2020-01-01,1\n2020-01-02,9\n2020-01-02,2\n2020-01-03,3\n"
    table = read_series(written(tmp_path, text), SeriesForm(repair=True))
    assert table.series[0].values.tolist() == [1, 2, 3, 3, 5]
    assert table.filled == 1
    assert " ".join(table.notes) == (
        "1 rows were out of order and are sorted of 1 duplicate times the last row is kept 1 missing times are filled in "
        "1 missing values are filled by the rule data.missing = 'previous'"
    )


def test_missing_values_follow_their_rule_as_in_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    values = np.array([np.nan, 2.0, np.nan, np.nan, 5.0, np.nan])
    frame = pandas.Series(values)
    assert fill_missing(values, "previous").tolist() == frame.ffill().bfill().tolist()
    assert fill_missing(values, "linear").tolist() == frame.interpolate(limit_direction="both").tolist()
    assert fill_missing(values, "zero").tolist() == frame.fillna(0.0).tolist()
    text = WIDE.replace(",20\n", ",NA\n")
    assert read_series(written(tmp_path, text), SeriesForm()).series[1].values.tolist() == [10, 10, 30, 40]
    with pytest.raises(
        DataError, match=r"s.csv:3: the series 'b' has no value at 2020-01-02 \(1 missing\); fill it in"
    ):
        read_series(written(tmp_path, text), SeriesForm(missing="refuse"))


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("h", "h"),
        ("15min", "15min"),
        ("d", "D"),
        ("b", "B"),
        ("w", "W-WED"),
        ("m", "MS"),
        ("m", "ME"),
        ("q", "QE"),
        ("y", "YS"),
    ],
)
def test_frequencies_are_found_and_counted_as_pandas_does(name: str, alias: str) -> None:
    pandas = pytest.importorskip("pandas")
    times = [time.to_pydatetime() for time in pandas.date_range("2023-11-01", periods=40, freq=alias)]
    found = find_frequency(times)
    assert found == Frequency.parse(name)
    assert [found.steps(times[0], time) for time in times] == list(range(40))
    assert [found.after(times[0], step) for step in range(40)] == times


def test_times_that_are_written_in_several_ways() -> None:
    assert parse_time("2016-07-01 01:00:00") == datetime(2016, 7, 1, 1)
    assert parse_time("2016/07/01") == parse_time("20160701") == datetime(2016, 7, 1)
    assert parse_time("1949-01") == datetime(1949, 1, 1)
    assert parse_time("2020-01-01T02:00:00+02:00") == datetime(2020, 1, 1)
    assert parse_time("17") == 17
    assert parse_time("yesterday") is None
    assert [Frequency.parse(name).season for name in ("h", "15min", "d", "m", "q", "b", "step")] == [
        24,
        96,
        7,
        12,
        4,
        5,
        1,
    ]


@pytest.mark.parametrize(("name", "season"), [("us", 1000), ("500ms", 2), ("10ms", 100), ("1500ms", 1), ("s", 60)])
def test_frequencies_below_a_second_have_a_name(name: str, season: int) -> None:
    frequency = Frequency.parse(name)
    assert frequency.name == name
    assert frequency.season == season
    first = datetime(2020, 1, 1)
    assert find_frequency([frequency.after(first, step) for step in range(4)]) == frequency


@pytest.mark.parametrize(
    ("name", "message"), [("0h", "not one of"), ("00h", "not one of"), ("MS", "write m for months")]
)
def test_frequencies_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Frequency.parse(name)


def test_a_few_rows_have_the_frequency_of_the_model(tmp_path: Path) -> None:
    weekdays = written(tmp_path, "date,a\n2024-01-01,1\n2024-01-02,2\n2024-01-03,3\n")
    assert read_series(weekdays, SeriesForm(expected="b")).frequency == Frequency.parse("b")
    one = written(tmp_path, "date,a\n2024-01-01,1\n")
    assert read_series(one, SeriesForm(expected="h")).series[0].values.tolist() == [1]
    for other in ("h", "w", "m", "step"):
        with pytest.raises(DataError, match=f"s.csv: its times are d apart, and the model forecasts steps of {other}"):
            read_series(written(tmp_path, WIDE), SeriesForm(expected=other))
