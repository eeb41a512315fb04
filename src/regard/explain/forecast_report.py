"""The views that the report of a forecaster has beside the generic page: forecasts against truth, errors by step, baselines, attention."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regard.bundle.opened import OpenBundle
from regard.explain.records import ForecastViews, Report, Row
from regard.metrics.forecasting import intervals
from regard.metrics.scores import METRICS

SHOWN_WINDOWS = 8
SHOWN_PAST = 48
"""Steps of the past that are drawn, or two horizons if these are more."""
SHOWN_SCORES = ("mse", "mae", "smape", "mase")
MOST_ROWS, MOST_COLUMNS = 24, 60
"""Cells of the map of attention: more rows and columns are joined."""


def add_forecast_views(report: Report, rows: Sequence[Row], bundle: OpenBundle | None) -> Report:
    """The report with the views of a forecaster. The map of attention needs the model."""
    if not rows:
        return report
    windows = [_window(row) for row in _spread(rows)]
    attended = None if bundle is None else _attended(rows[-1], bundle)
    views = ForecastViews(
        windows=windows,
        shares=[band["share"] for band in windows[0]["bands"]],
        covered=_covered(report.metrics),
        by_step=_by_step(report.metrics),
        baselines=_table(report.metrics),
        attended=attended,
    )
    return replace(report, forecasts=views)


def _spread(rows: Sequence[Row]) -> list[Row]:
    places = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), SHOWN_WINDOWS)).round().astype(int))
    return [rows[place] for place in places]


def _window(row: Row) -> dict[str, Any]:
    levels = {float(level): values for level, values in row["quantiles"].items()}
    ordered = sorted(levels)
    bands = [
        {"share": f"{100 * share:g}", "low": levels[ordered[low]], "high": levels[ordered[high]]}
        for share, (low, high) in intervals(ordered).items()
    ]
    past = min(len(row["past"]), max(2 * len(row["truth"]), SHOWN_PAST))
    left_out = len(row["past"]) - past
    names = ("series", "origin", "truth", "forecast", "mse")
    shown = {name: row[name] for name in names}
    return {**shown, "times": row["times"][left_out:], "past": row["past"][left_out:], "bands": bands}


def _by_step(metrics: Mapping[str, Any]) -> dict[str, Any] | None:
    from regard.tasks.forecast.baselines import HEADINGS

    steps = metrics.get("by_step")
    if not steps:
        return None
    baselines = [
        {"name": HEADINGS.get(name, name), "values": scores["mse_by_step"]}
        for name, scores in metrics.get("baselines", {}).items()
        if scores.get("windows") == metrics.get("windows")
    ]
    return {"model": steps["mse"], "baselines": baselines, "coverage": _coverage_by_step(metrics)}


def _covered(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The coverage of each interval, in percent, after and before calibration."""
    before = metrics.get("uncalibrated", {}).get("coverages", {})
    return [
        {"share": share, "value": _percent(value), "before": _percent(before[share]) if share in before else None}
        for share, value in metrics.get("coverages", {}).items()
    ]


def _percent(value: float) -> float:
    return round(100.0 * value, 1)


def _coverage_by_step(metrics: Mapping[str, Any]) -> dict[str, Any] | None:
    """The coverage of the widest interval by step, in percent; None without an interval."""
    values = metrics["by_step"].get("coverage")
    if values is None or not metrics.get("coverages"):
        return None
    before = metrics.get("uncalibrated", {}).get("coverage_by_step")
    return {
        "share": next(iter(metrics["coverages"])),
        "values": [_percent(value) for value in values],
        "before": None if before is None else [_percent(value) for value in before],
    }


def _table(metrics: Mapping[str, Any]) -> dict[str, Any] | None:
    from regard.tasks.forecast.baselines import HEADINGS

    if "baselines" not in metrics:
        return None
    rows = [_scores("this model", metrics, own=True)]
    told = False
    for name, scores in metrics["baselines"].items():
        there = scores.get("model")
        if there is not None and not told and there["windows"] != metrics["windows"]:
            told = True
            rows.append(_scores("this model, on fewer windows", there, own=True))
        rows.append(_scores(HEADINGS.get(name, name), scores))
    return {"columns": [*(METRICS[name].table_heading for name in SHOWN_SCORES), "windows"], "rows": rows}


def _scores(name: str, scores: Mapping[str, Any], *, own: bool = False) -> dict[str, Any]:
    values = ["–" if scores.get(score) is None else METRICS[score].number(scores[score]) for score in SHOWN_SCORES]
    return {"name": name, "values": values, "windows": scores["windows"], "own": own}


def _attended(row: Row, bundle: OpenBundle) -> dict[str, Any] | None:
    """The weight of each past step in the forecast of one window; None for a network without such weights."""
    from regard.data.frequency import Frequency
    from regard.data.series import Series
    from regard.tasks.table import TASKS

    served = TASKS["forecast"].load(bundle, "cpu", "torch", "float32")
    config = bundle.config
    if config.known:  # the row does not keep the known columns
        return None
    values = np.asarray(row["past"], dtype=np.float64)
    series = Series(row["series"], 0, Frequency("step", 1), values, np.zeros((len(values), 0)))
    found = served.attended(served.scaled(series), len(values))
    if found is None:
        return None
    meaning, weights = found
    shown = min(len(values), config.context)
    weights = weights[:, config.context - shown :]
    joined, labels = _joined(weights, row["times"][len(values) - shown : len(values)])
    many = _groups(len(joined), MOST_ROWS)
    names = [f"{meaning} {group[0] + 1}" for group in many]
    return {
        "rows": names,
        "columns": labels,
        "weights": [joined[group].mean(axis=0).tolist() for group in many],
        "label": f"weight of the past in the forecast of {row['series']} from {row['origin']} on",
    }


def _joined(weights: np.ndarray, times: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The weights with neighbouring steps added up, and the first time of each group."""
    groups = _groups(weights.shape[1], MOST_COLUMNS)
    return np.stack([weights[:, group].sum(axis=1) for group in groups], axis=1), [times[group[0]] for group in groups]


def _groups(count: int, most: int) -> list[np.ndarray]:
    return [group for group in np.array_split(np.arange(count), min(count, most)) if len(group)]
