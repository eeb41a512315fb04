"""Prepares series for training: reads the file, cuts each series into training, validation and test part, and measures its scale."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.inputs import digest_of
from regard.data.scales import Scale, SeriesScale, SeriesScales, measured, stored_time, time_text
from regard.data.series import Series, SeriesTable
from regard.data.series_config import SeriesData
from regard.data.series_files import SeriesForm, read_series
from regard.data.series_windows import ScaledSeries, SeriesWindows
from regard.errors import DataError
from regard.files import to_json

VALID_SHARE, TEST_SHARE = 0.1, 0.2


@dataclass(frozen=True)
class Parts:
    """The ends of the parts of a series, in steps from its start."""

    train: int
    valid: int
    test: int


@dataclass(frozen=True)
class PreparedSeries:
    """Series that are ready to train on."""

    key: str
    table: SeriesTable
    parts: tuple[Parts, ...]
    scales: SeriesScales
    season: int
    examples: SeriesWindows
    notes: tuple[str, ...]
    too_short: int
    """Series without a window of training."""


def prepare_series(data: SeriesData, base: SeriesScales | None = None) -> PreparedSeries:
    """Read and cut the series of `data`. base: the scales of the model that is fine-tuned; series of the same name keep theirs."""
    assert data.series is not None, "settings without a file are refused when they are read"
    form = SeriesForm(data.time, data.targets, data.known, data.frequency, data.missing, data.repair)
    table = read_series(data.series, form)
    season = data.season or table.frequency.season
    parts = tuple(cut(len(one.values), data) for one in table.series)
    table = table.known_at([part.train for part in parts], data.missing)
    scales = _scales(table, parts, season, data.scale == "standard", base)
    scaled = [ScaledSeries.of(one, scales.series[one.name], scales.known, data.context) for one in table.series]
    ends = [part.train for part in parts]
    examples = SeriesWindows(scaled, [one.name for one in table.series], ends, data.horizon)
    _refuse_short(table, parts, data, len(examples))
    too_short = sum(end < data.context + data.horizon for end in ends)
    constant = [
        one.name for one, end in zip(table.series, ends, strict=True) if end and np.ptp(one.values[:end]) == 0.0
    ]
    return PreparedSeries(
        _key(data), table, parts, scales, season, examples, (*table.notes, *_notes(constant, too_short)), too_short
    )


def cut(steps: int, data: SeriesData) -> Parts:
    """The parts of a series of so many steps: those of the settings, else 70, 10 and 20 percent, the latter at least a horizon."""
    valid = data.valid_steps or max(data.horizon, round(VALID_SHARE * steps))
    test = data.test_steps or max(data.horizon, round(TEST_SHARE * steps))
    train = data.train_steps if data.train_steps is not None else max(0, steps - valid - test)
    ends = np.minimum(np.cumsum([train, valid, test]), steps).tolist()
    return Parts(*ends)


def _refuse_short(table: SeriesTable, parts: Sequence[Parts], data: SeriesData, windows: int) -> None:
    """Refuse series of which none has a window to train on, or to validate on."""
    lengths = [len(one.values) for one in table.series]
    longest = int(np.argmax([part.train for part in parts]))
    need = data.context + data.horizon
    what = f"{table.name}: the longest series, {table.series[longest].name!r}, has {lengths[longest]:,} steps"
    if not windows:
        raise DataError(
            f"{what}, {parts[longest].train:,} of them to train on, and a window needs {need:,} (context {data.context} and "
            f"horizon {data.horizon}); lower --context or --horizon, or give longer series"
        )
    for part, first, last in (
        ("valid", [one.train for one in parts], [one.valid for one in parts]),
        ("test", [one.valid for one in parts], [one.test for one in parts]),
    ):
        if max(end - begin for begin, end in zip(first, last, strict=True)) < data.horizon:
            raise DataError(
                f"{what}, which leaves too few for a horizon of {data.horizon} in data.{part}_steps; lower --horizon, "
                "data.train_steps or data.valid_steps"
            )


def _scales(
    table: SeriesTable, parts: Sequence[Parts], season: int, standard: bool, base: SeriesScales | None
) -> SeriesScales:
    series: dict[str, SeriesScale] = {}
    for one, part in zip(table.series, parts, strict=True):
        own = measured(one.values[: part.train or part.valid], season, standard=standard)
        kept = None if base is None else base.series.get(one.name)
        series[one.name] = own.model_copy(
            update={
                "mean": own.mean if kept is None else kept.mean,
                "deviation": own.deviation if kept is None else kept.deviation,
                "trained_until": time_text(one, part.valid) if part.valid else None,
                "tested_until": time_text(one, part.test) if part.test else None,
            }
        )
    if base is not None:
        return SeriesScales(series={**base.series, **series}, known=base.known)
    rows = [one.known[: part.train] for one, part in zip(table.series, parts, strict=True) if part.train]
    known = np.concatenate(rows) if rows else np.zeros((0, len(table.columns)))
    columns = tuple(Scale.of(known[:, place]) for place in range(known.shape[1])) if len(known) else ()
    return SeriesScales(series=series, known=columns)


def _notes(constant: list[str], too_short: int) -> list[str]:
    notes = []
    if constant:
        listed = ", ".join(constant[:3]) + (", .." if len(constant) > 3 else "")
        notes.append(f"{len(constant)} series are constant in their training part ({listed}): they have no MASE")
    if too_short:
        notes.append(f"{too_short} series are shorter than a window of training and are not trained on")
    return notes


def _key(data: SeriesData) -> str:
    """The hash of the file and of the settings that decide the windows."""
    assert data.series is not None
    settings = to_json(data.model_dump(mode="json", exclude={"series", "baselines", "baseline_windows"}))
    return hashlib.sha256(f"{digest_of(data.series)}\n{settings}".encode()).hexdigest()


def series_span(series: Series, scale: SeriesScale | None, context: int) -> tuple[int, int]:
    """The steps to evaluate: from the first that the model was not trained on to the end of its test part.

    A series that was not trained on is evaluated from its first whole context on. One without newer values has an empty span.
    """
    length = len(series.values)
    after = None if scale is None else stored_time(scale.trained_until)
    if scale is None or after is None:
        return context, length
    first = series.steps_until(after)
    if first == 0:  # all of it is newer
        return 1, length
    until = stored_time(scale.tested_until)
    last = length if until is None else series.steps_until(until)
    return first, last if first < last else length
