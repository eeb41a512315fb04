"""Baselines beside every forecast: last value, seasonal naive, exponential smoothing and ARIMA.

The latter two come from `statsforecast` (the extra `forecast`). They are fitted anew at every origin, on the past up to it.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.activity import activity
from regard.data.examples import Numbers
from regard.data.series import Values

NAIVE = ("last", "seasonal")
FITTED = ("ets", "arima")
HEADINGS = {"last": "last value", "seasonal": "seasonal naive", "ets": "exponential smoothing", "arima": "ARIMA"}
LONGEST_ETS_SEASON = 24
"""The longest season of exponential smoothing: with more states it is not estimated."""
SEASONS_OF_PAST = 10
"""Seasons of the past that a model is fitted on, and at least `LEAST_PAST` steps: more would take minutes for each origin."""
LEAST_PAST = 240


def last_value(values: Values, origins: Numbers, horizon: int) -> Values:
    """[N, H] the value before each origin, repeated."""
    result: Values = np.repeat(values[origins - 1][:, None], horizon, axis=1)
    return result


def seasonal_naive(values: Values, origins: Numbers, horizon: int, season: int) -> Values:
    """[N, H] the value one season before each step, or so many seasons that it is known. Before the first season: the last value."""
    ahead = np.arange(horizon)
    places = origins[:, None] + ahead - season * (ahead // season + 1)
    result: Values = np.where(places >= 0, values[np.maximum(places, 0)], values[origins - 1][:, None])
    return result


def fitted_forecasts(name: str, values: Values, origins: Sequence[int], horizon: int, season: int) -> Values:
    """[N, H] forecasts of a model that is fitted on the past of each origin."""
    rows = []
    with activity(f"fitting {HEADINGS[name]}", len(origins), "windows") as progress:
        for origin in origins:
            past = values[max(0, origin - max(LEAST_PAST, SEASONS_OF_PAST * season)) : origin]
            rows.append(_fitted(name, past, horizon, season))
            progress.advance()
    return np.stack(rows)


def _fitted(name: str, past: Values, horizon: int, season: int) -> NDArray[np.float64]:
    """One forecast. A past that is constant, or too short to be fitted, is forecast by its last value."""
    flat = np.full(horizon, past[-1])
    if len(past) < 4 or np.ptp(past) == 0.0:
        return flat
    from statsforecast.models import AutoARIMA, AutoETS

    period = season if len(past) >= 2 * season else 1
    model = (
        AutoETS(season_length=period if period <= LONGEST_ETS_SEASON else 1)
        if name == "ets"
        else AutoARIMA(season_length=period, approximation=True, nmodels=12, max_p=3, max_q=3, max_P=1, max_Q=1)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mean = np.asarray(model.forecast(y=past, h=horizon)["mean"], dtype=np.float64)
        except Exception:
            return flat  # statsforecast raises many kinds where no model can be fitted
    return mean if np.isfinite(mean).all() else flat
