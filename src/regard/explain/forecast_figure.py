"""A figure of forecasts: the end of each series, its forecast, and a band for each interval."""

from collections.abc import Sequence
from pathlib import Path

from regard.data.series import SeriesTable
from regard.explain.figures import COLOURS, drawn_figure
from regard.metrics.forecasting import intervals
from regard.tasks.forecast.series_forecast import SeriesForecast

MOST_FRAMES = 12
HORIZONS_OF_PAST = 4
MOST_TICKS = 6


def write_figure(path: Path, table: SeriesTable, forecasts: Sequence[SeriesForecast]) -> None:
    """Draw the first forecasts, a frame for each series. The suffix chooses SVG, PNG or PDF."""
    shown = list(zip(table.series, forecasts, strict=True))[:MOST_FRAMES]
    with drawn_figure(path, width=7.2, height=0.4 + 2.3 * len(shown)) as figure:
        frames = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
        for frame, (series, forecast) in zip(frames, shown, strict=True):
            horizon, count = len(forecast.values), len(series.values)
            past = min(count, max(48, HORIZONS_OF_PAST * horizon))
            ahead = range(count, count + horizon)
            levels = sorted(forecast.quantiles)
            for number, (share, (low, high)) in enumerate(intervals(levels).items()):
                lower, upper = forecast.quantiles[levels[low]], forecast.quantiles[levels[high]]
                frame.fill_between(
                    ahead,
                    lower,
                    upper,
                    color=COLOURS[1],
                    alpha=min(0.6, 0.18 * (number + 1)),
                    linewidth=0,
                    label=f"{100 * share:g} %",
                )
            frame.plot(range(count - past, count), series.values[count - past :], color="#333333", label="series")
            frame.plot(ahead, forecast.values, color=COLOURS[1], label="forecast")
            frame.set_title(forecast.series, fontsize=9, loc="left").set_parse_math(False)
            steps = range(count - past, count + horizon)
            ticks = list(steps[:: max(1, len(steps) // MOST_TICKS)])
            from regard.data.frequency import shown_time

            frame.set_xticks(ticks, [shown_time(series.time(step)) for step in ticks], fontsize=7)
        frames[0].legend(fontsize=7, loc="upper left", frameon=False)
