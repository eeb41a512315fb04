"""Times of a series and their frequency: parsing, finding the step between two times, and counting steps. It reads no file.

A time is a `datetime` without a zone (one with a zone is turned into UTC), or a whole number.
"""

import calendar
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal

Time = datetime | int
Unit = Literal["step", "microsecond", "business", "month"]

_DAY = 86_400_000_000
_FIXED = {
    "us": 1,
    "ms": 1000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": _DAY,
    "w": 7 * _DAY,
}  # microseconds
_MONTHS = {"m": 1, "q": 3, "y": 12}
_SEASONS = {"us": 1000, "ms": 1000, "s": 60, "min": 60, "h": 24, "d": 7, "w": 52, "m": 12, "q": 4, "y": 1, "b": 5}
_DAY_SEASON = 1440
"""The longest season, in steps: a day of minutes."""
_NAME = re.compile(r"(\d*)(step|min|us|ms|s|h|d|w|b|m|q|y)")
FORMS = "s, min, h, d, b (working days), w, m, q, y, ms, us, step, or a multiple such as 15min"
SATURDAY = 5
_FIRST = datetime(1, 1, 1)
_YEAR_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})")
_WHOLE = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True, slots=True)
class Frequency:
    """The step between two times: so many whole numbers, microseconds, working days or months."""

    unit: Unit
    count: int

    @staticmethod
    def parse(name: str) -> "Frequency":
        """The frequency of a name such as `h`, `15min` or `m`; a `ValueError` names the forms."""
        match = _NAME.fullmatch(name.strip().lower())
        if match is None or int(match[1] or 1) == 0:
            raise ValueError(f"frequency {name!r}: not one of {FORMS}")
        if match[2] == "ms" and name.strip().endswith("MS"):  # what pandas calls the starts of months
            raise ValueError(f"frequency {name!r}: write m for months, or ms for milliseconds")
        count, unit = int(match[1] or 1), match[2]
        if unit in _FIXED:
            return Frequency("microsecond", count * _FIXED[unit])
        if unit in _MONTHS:
            return Frequency("month", count * _MONTHS[unit])
        return Frequency("business" if unit == "b" else "step", count)

    @property
    def name(self) -> str:
        """The name, as `parse` takes it."""
        if self.unit in ("step", "business"):
            short = "step" if self.unit == "step" else "b"
            return short if self.count == 1 else f"{self.count}{short}"
        units = _FIXED if self.unit == "microsecond" else _MONTHS
        fitting = [(unit, size) for unit, size in units.items() if self.count % size == 0]
        unit, size = fitting[-1]
        return unit if self.count == size else f"{self.count // size}{unit}"

    @property
    def season(self) -> int:
        """The usual season in steps: a day of hours or minutes, a week of days, a year of weeks, months and quarters.

        Of milliseconds it is a second, of microseconds a millisecond, and of other steps 1.
        """
        match = _NAME.fullmatch(self.name)
        if match is None or match[2] == "step":
            return 1
        count, unit = int(match[1] or 1), match[2]
        if unit in ("s", "min", "h"):
            step = count * _FIXED[unit]
            whole_day = _DAY // step if _DAY % step == 0 else 1
            return whole_day if whole_day <= _DAY_SEASON else _SEASONS[unit]
        return max(1, _SEASONS[unit] // count)

    def steps(self, first: Time, time: Time) -> int | None:
        """The number of steps from `first` to `time`; None if `time` lies between two steps."""
        if isinstance(first, int) or isinstance(time, int):
            if not (isinstance(first, int) and isinstance(time, int)):
                return None
            distance, size = time - first, self.count
        elif self.unit == "month":
            if not _same_place(first, time):
                return None
            distance, size = (time.year - first.year) * 12 + time.month - first.month, self.count
        elif self.unit == "business":
            if time.weekday() >= SATURDAY or first.time() != time.time():
                return None
            distance, size = _working_days(time) - _working_days(first), self.count
        else:
            distance, size = (time - first) // timedelta(microseconds=1), self.count
        return distance // size if distance % size == 0 else None

    def after(self, first: Time, steps: int) -> Time:
        """The time so many steps after `first`. Beyond the calendar it is an `OverflowError`."""
        if isinstance(first, int):
            return first + steps * self.count
        if self.unit == "month":
            return _months_later(first, steps * self.count)
        if self.unit == "business":
            weeks, days = divmod(first.weekday() + steps * self.count, 5)
            return first + timedelta(days=7 * weeks + days - first.weekday())
        return first + timedelta(microseconds=steps * self.count)


def parse_time(text: str) -> Time | None:
    """The time of a cell: ISO 8601 (`2016-07-01 00:00`), a month (`1949-01`) or a whole number. None: something else."""
    text = text.strip()
    if _WHOLE.fullmatch(text) and len(text) != 8:  # 20160701 is a date
        return int(text)
    match = _YEAR_MONTH.fullmatch(text)
    try:
        if match is not None:
            return datetime(int(match[1]), int(match[2]), 1)
        time = datetime.fromisoformat(text.replace("/", "-"))
        return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return int(text) if _WHOLE.fullmatch(text) else None


def shown_time(time: Time) -> str:
    """The time as files have it: a date alone at midnight."""
    if isinstance(time, int):
        return str(time)
    midnight = time.hour == time.minute == time.second == time.microsecond == 0
    return time.strftime("%Y-%m-%d") if midnight else time.isoformat(sep=" ")


def find_frequency(times: Sequence[Time]) -> Frequency | None:
    """The most common step between ascending times. None: fewer than two different ones."""
    numbers = [time for time in times if isinstance(time, int)]
    if numbers:
        steps = Counter(later - earlier for earlier, later in pairwise(numbers) if earlier != later)
        return Frequency("step", steps.most_common(1)[0][0]) if steps else None
    dates = [time for time in times if not isinstance(time, int)]
    pairs = [(earlier, later) for earlier, later in pairwise(dates) if earlier != later]
    if not pairs:
        return None
    months = Counter(
        (later.year - earlier.year) * 12 + later.month - earlier.month
        for earlier, later in pairs
        if _same_place(earlier, later)
    )
    common = months.most_common(1)
    if common and common[0][0] > 0 and common[0][1] * 2 > len(pairs):
        return Frequency("month", common[0][0])
    sizes = Counter((later - earlier) // timedelta(microseconds=1) for earlier, later in pairs)
    size = sizes.most_common(1)[0][0]
    weekdays = all(time.weekday() < SATURDAY for time in dates)
    if size == _DAY and weekdays and sizes[3 * _DAY] * 5 >= len(pairs) // 2:
        return Frequency("business", 1)
    return Frequency("microsecond", size)


def _same_place(first: datetime, time: datetime) -> bool:
    """Whether two times are at the same place of their months: the same day, or both the last."""
    if first.time() != time.time():
        return False
    return first.day == time.day or (_is_last_day(first) and _is_last_day(time)) or _clipped(first, time)


def _clipped(first: datetime, time: datetime) -> bool:
    """Whether `time` is the last day of a month that is too short for the day of `first`."""
    return first.day > time.day and _is_last_day(time)


def _is_last_day(time: datetime) -> bool:
    return time.day == calendar.monthrange(time.year, time.month)[1]


def _months_later(first: datetime, months: int) -> datetime:
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError("date value out of range")
    last = calendar.monthrange(year, month + 1)[1]
    return first.replace(year=year, month=month + 1, day=last if _is_last_day(first) else min(first.day, last))


def _working_days(time: datetime) -> int:
    weeks, day = divmod((time - _FIRST).days, 7)  # the first of January of the year 1 is a Monday
    return weeks * 5 + day
