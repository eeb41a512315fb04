"""Evaluates forecasters with a rolling origin: every window of a part of each series, beside the baselines."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.examples import Numbers
from regard.data.frequency import shown_time
from regard.data.scales import Calibration, SeriesScale
from regard.data.series import Series, SeriesTable
from regard.errors import ConfigError, DataError
from regard.extras import is_installed, require
from regard.metrics.calibration import corrections
from regard.metrics.forecasting import ForecastErrors
from regard.tasks.forecast.baselines import FITTED, NAIVE, fitted_forecasts, last_value, seasonal_naive
from regard.tasks.forecast.forecaster import Forecaster
from regard.tasks.forecast.prepare import series_span
from regard.training.objective import Evaluation

KEPT_WINDOWS = 24
"""Windows whose forecasts are kept in forecasts.jsonl, evenly spaced over all."""


@dataclass(frozen=True)
class ForecastTest:
    """The part of each series to forecast, and the baselines beside it."""

    table: SeriesTable
    spans: Sequence[tuple[int, int]]
    """The first step to forecast and the end of each series. Contexts reach back before the first."""
    name: str | None = None
    """The part of the run that it is: test or validation."""
    stride: int = 1
    """Steps between two origins."""
    baselines: Sequence[str] = (*NAIVE, *FITTED)
    baseline_windows: int = 28


@dataclass(frozen=True)
class _Part:
    """A series with its origins and forecasts."""

    series: Series
    scale: SeriesScale
    origins: Numbers
    outputs: np.ndarray  # [N, H, 1 + Q], standardised, as they are served
    learned: np.ndarray  # the same before calibration
    window_scales: np.ndarray  # [N]
    truth: np.ndarray  # [N, H]


def evaluate_forecaster(served: Forecaster, test: ForecastTest) -> Evaluation:
    """Forecast every window and score it, with baselines on the same windows, or on as many as they have time for."""
    began = time.perf_counter()
    parts = _parts(served, test)
    seconds = time.perf_counter() - began
    errors = {part.series.name: _errors(served, part, part.outputs) for part in parts}
    total = _sum(errors.values())
    last_step = served.config.horizon - 1
    metrics: dict[str, Any] = {
        **total.scores(),
        "pinball": total.quantile_loss(),
        "coverages": total.coverages(),
        "by_step": total.by_step(),
        "by_series": {name: own.scores() for name, own in errors.items()},
        "baselines": _baselines(served, parts, test),
        "windows": total.windows,
        "series": len(parts),
        "horizon": served.config.horizon,
        "context": served.config.context,
        "season": served.config.season,
        "from": shown_time(min(part.series.time(int(part.origins[0])) for part in parts)),
        "until": shown_time(max(part.series.time(int(part.origins[-1]) + last_step) for part in parts)),
        "truth_sha256": _truth_hash(parts),
        "decoding_seconds": seconds,
        "set": test.name,
    }
    if not is_installed("statsforecast") and (skipped := [name for name in FITTED if name in test.baselines]):
        metrics["baselines_skipped"] = skipped
    if served.scales.calibration is not None:
        before = _sum(_errors(served, part, part.learned) for part in parts)
        metrics["uncalibrated"] = {
            "coverages": before.coverages(),
            "coverage_by_step": before.by_step().get("coverage"),
            "pinball": before.quantile_loss(),
        }
        metrics["calibration_windows"] = served.scales.calibration.windows
    return Evaluation(metrics, _rows(served, parts))


@dataclass(frozen=True)
class Validation:
    """The results of a validation, without baselines."""

    errors: ForecastErrors
    """The errors of what the network has learned."""
    rows: list[dict[str, Any]]
    """A few forecasts."""
    calibration: Calibration | None
    """What these windows add to its quantiles; None without quantiles, or if an output is not finite."""


def validate_forecaster(served: Forecaster, test: ForecastTest) -> Validation:
    """Forecast every window of validation and learn from it how far the quantiles miss."""
    parts = _parts(served, test)
    errors = _sum([_errors(served, part, part.learned) for part in parts])
    return Validation(errors, _rows(served, parts, 4), _calibration(served, parts))


def _calibration(served: Forecaster, parts: Sequence[_Part]) -> Calibration | None:
    """The corrections of the quantiles, by the errors of all series together."""
    learned = np.concatenate([part.learned for part in parts])
    if not served.config.quantiles or not np.isfinite(learned).all():
        return None
    truth = np.concatenate([part.truth for part in parts])
    scales = np.concatenate([part.window_scales for part in parts])
    found = corrections(truth, learned[..., 1:], scales, served.config.quantiles)
    return Calibration(windows=len(truth), corrections=tuple(map(tuple, found.tolist())))


def _parts(served: Forecaster, test: ForecastTest) -> list[_Part]:
    """The series that have a window in the test, forecast."""
    horizon = served.config.horizon
    parts = []
    for series, (first, last) in zip(test.table.series, test.spans, strict=True):
        origins = np.arange(max(1, first), last - horizon + 1, test.stride)
        if len(origins):
            scale = served.scale(series, int(origins[0]))
            scaled = served.scaled(series, scale)
            learned, window_scales = served.learned_outputs(scaled, origins)
            outputs, truth = served.calibrated(learned, window_scales), scaled.truth(origins, horizon)
            parts.append(_Part(series, scale, origins, outputs, learned, window_scales, truth))
    if not parts:
        longest = max(test.table.series, key=lambda one: len(one.values))
        raise DataError(
            f"{test.table.name}: no window to evaluate: the longest series, {longest.name!r}, has {len(longest.values):,} steps, and "
            f"a new series needs {served.config.context + horizon:,} (context and horizon), a trained one {horizon:,} after those of "
            "training; give a longer series"
        )
    return parts


def _errors(served: Forecaster, part: _Part, outputs: np.ndarray, chosen: Numbers | None = None) -> ForecastErrors:
    """The errors of outputs [N, H, 1 + Q], or of a baseline [N, H], on all windows of a part or on the chosen ones."""
    scale = part.scale
    truth = part.truth if chosen is None else part.truth[chosen]
    levels = outputs[..., 1:] if outputs.ndim == 3 else None
    return ForecastErrors.of(
        truth,
        outputs[..., 0] if outputs.ndim == 3 else outputs,
        mean=scale.mean,
        deviation=scale.deviation,
        naive_error=scale.naive_error,
        quantiles=served.config.quantiles,
        levels=levels,
    )


def _sum(errors: Any) -> ForecastErrors:
    first, *others = errors
    for other in others:
        first = first + other
    total: ForecastErrors = first
    return total


def _baselines(served: Forecaster, parts: Sequence[_Part], test: ForecastTest) -> dict[str, Any]:
    """Name -> scores. Those that are fitted have fewer windows, and the model's scores on the same windows beside them."""
    horizon, season = served.config.horizon, served.config.season
    found: dict[str, Any] = {}
    for name in (name for name in NAIVE if name in test.baselines):
        own = []
        for part in parts:
            values = part.series.values
            forecast = (
                last_value(values, part.origins, horizon)
                if name == "last"
                else seasonal_naive(values, part.origins, horizon, season)
            )
            own.append(_errors(served, part, part.scale.scaled(forecast)))
        found[name] = _named(_sum(own))
    wanted = [name for name in FITTED if name in test.baselines]
    if not wanted or not is_installed("statsforecast"):
        return found
    chosen = _chosen_windows(parts, test.baseline_windows)
    here = _sum(_errors(served, part, part.outputs[places], places) for part, places in chosen)
    for name in wanted:
        own = []
        for part, places in chosen:
            origins = part.origins[places].tolist()
            forecast = fitted_forecasts(name, part.series.values, origins, horizon, season)
            own.append(_errors(served, part, part.scale.scaled(forecast), places))
        found[name] = {**_named(_sum(own)), "model": _named(here)}
    return found


def _named(errors: ForecastErrors) -> dict[str, Any]:
    scores = {name: value for name, value in errors.scores().items() if name != "coverage"}
    return {**scores, "windows": errors.windows, "mse_by_step": errors.by_step()["mse"]}


def _chosen_windows(parts: Sequence[_Part], most: int) -> list[tuple[_Part, Numbers]]:
    """At most `most` windows in all, evenly spaced in each series; at least one of each of the first `most` series."""
    each = max(1, most // len(parts))
    return [(part, _even(len(part.origins), each)) for part in parts[:most]]


def _even(count: int, most: int) -> Numbers:
    """At most `most` of `count` places, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _truth_hash(parts: Sequence[_Part]) -> str:
    """A hash of the values that the forecasts are judged by, which tells two files of the same times apart."""
    total = hashlib.sha256()
    for part in parts:
        total.update(np.ascontiguousarray(part.series.values[int(part.origins[0]) :], dtype=np.float64).tobytes())
    return total.hexdigest()


def _rows(served: Forecaster, parts: Sequence[_Part], most: int = KEPT_WINDOWS) -> list[dict[str, Any]]:
    """The lines of forecasts.jsonl: some windows with their past, truth, forecast and quantiles, in the units of the series."""
    config = served.config
    rows = []
    for part, places in _chosen_windows(parts, most):
        scale = part.scale
        for place in places:
            origin = int(part.origins[place])
            values = scale.unscaled(part.outputs[place])
            first = max(0, origin - config.context)
            rows.append(
                {
                    "series": part.series.name,
                    "origin": shown_time(part.series.time(origin)),
                    "step": origin,
                    "times": [shown_time(part.series.time(step)) for step in range(first, origin + config.horizon)],
                    "past": part.series.values[first:origin].tolist(),
                    "truth": scale.unscaled(part.truth[place]).tolist(),
                    "forecast": values[:, 0].tolist(),
                    "quantiles": {f"{level:g}": values[:, 1 + i].tolist() for i, level in enumerate(config.quantiles)},
                    "mse": float(((part.outputs[place, :, 0] - part.truth[place]) ** 2).mean()),
                }
            )
    return rows


def test_from_flags(served: Forecaster, flags: Mapping[str, Any]) -> ForecastTest:
    """The test set of `regard evaluate --series F`: the values after those of training, or after the first context of a new one."""
    table = served.read(flags["series"], repair=bool(flags.get("repair")))
    config = served.config
    spans = [series_span(one, served.scales.series.get(one.name), config.context) for one in table.series]
    if all(
        one.name in served.scales.series and first >= last
        for one, (first, last) in zip(table.series, spans, strict=True)
    ):
        end = max(one.time(len(one.values) - 1) for one in table.series)
        raise DataError(
            f"{table.name}: nothing is newer than what the model was trained on: the values end at {shown_time(end)}; give later "
            "values, or rename the series if they are others than those of training"
        )
    table = table.known_at([first for first, _ in spans], config.missing)
    wanted = flags.get("baselines") or (*NAIVE, *FITTED)
    if unknown := [name for name in wanted if name not in (*NAIVE, *FITTED)]:
        raise ConfigError(f"--baseline {unknown[0]}: not one of {', '.join((*NAIVE, *FITTED))}")
    for name in flags.get("baselines") or ():
        if name in FITTED:
            require("statsforecast", f"--baseline {name}")
    return ForecastTest(table, spans, baselines=wanted)
