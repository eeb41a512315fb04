"""Scores of forecasts, against utilsforecast and numbers worked out by hand."""

import numpy as np
import pytest

from regard.metrics.forecasting import ForecastErrors, intervals, pinball, smape

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SEASON, MEAN, DEVIATION = 4, 20.0, 3.0


def drawn() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training values, true windows [N, H], forecasts [N, H] and quantiles [N, H, Q], standardised."""
    generator = np.random.default_rng(3)
    truth = generator.normal(size=(6, 5))
    levels = np.sort(truth[..., None] + generator.normal(size=(6, 5, 5)), axis=-1)
    return generator.normal(size=30), truth, truth + 0.5 * generator.normal(size=truth.shape), levels


def test_scores_are_those_of_utilsforecast() -> None:
    losses = pytest.importorskip("utilsforecast.losses")
    pandas = pytest.importorskip("pandas")
    train, truth, forecast, levels = drawn()
    values = train * DEVIATION + MEAN
    naive = float(np.abs(values[SEASON:] - values[:-SEASON]).mean())
    errors = ForecastErrors.of(
        truth, forecast, mean=MEAN, deviation=DEVIATION, naive_error=naive, quantiles=QUANTILES, levels=levels
    )
    found = errors.scores()
    rows = {"unique_id": "a", "y": truth.ravel(), "m": forecast.ravel()}
    rows |= {"lo": levels[..., 0].ravel(), "hi": levels[..., -1].ravel(), "q": levels[..., 3].ravel()}
    scaled = pandas.DataFrame(rows)
    original = scaled.assign(y=truth.ravel() * DEVIATION + MEAN, m=forecast.ravel() * DEVIATION + MEAN)
    past = pandas.DataFrame({"unique_id": "a", "y": values})
    assert found["mse"] == pytest.approx(losses.mse(scaled, ["m"])["m"][0])
    assert found["mae"] == pytest.approx(losses.mae(scaled, ["m"])["m"][0])
    assert found["smape"] == pytest.approx(2 * losses.smape(original, ["m"])["m"][0])  # theirs is from 0 to 1
    assert found["mase"] == pytest.approx(losses.mase(original, ["m"], SEASON, past)["m"][0])
    inside = losses.coverage(scaled.rename(columns={"lo": "m-lo-90", "hi": "m-hi-90"}), ["m"], 90)["m"][0]
    assert found["coverage"] == pytest.approx(inside)
    theirs = losses.quantile_loss(scaled, {"m": "q"}, q=0.75)["m"][0]
    assert pinball(truth, levels[..., 3], 0.75).mean() == pytest.approx(theirs)
    assert errors.pinball[3].mean() / errors.windows == pytest.approx(theirs)


def test_scores_by_hand() -> None:
    truth, forecast = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 4.0], [2.0, 4.0]])
    errors = ForecastErrors.of(truth, forecast, mean=0.0, deviation=10.0, naive_error=5.0)
    assert errors.scores() == pytest.approx(
        {"mse": 1.25, "mae": 0.75, "smape": (2 / 3 + 0.4) / 4, "mase": 1.5, "coverage": None}
    )
    assert errors.by_step() == {"mse": [0.5, 2.0], "mae": [0.5, 1.0]}


def test_zero_beside_zero_is_no_error() -> None:
    assert smape(np.array([0.0, 0.0]), np.array([0.0, 1.0])).tolist() == [0.0, 2.0]


def test_parts_add_up_to_the_whole() -> None:
    _, truth, forecast, levels = drawn()
    options = {"mean": MEAN, "deviation": DEVIATION, "naive_error": 2.0, "quantiles": QUANTILES}
    whole = ForecastErrors.of(truth, forecast, levels=levels, **options)
    parts = [
        ForecastErrors.of(truth[part], forecast[part], levels=levels[part], **options)
        for part in (slice(2), slice(2, 6))
    ]
    assert (parts[0] + parts[1]).scores() == pytest.approx(whole.scores())
    assert (parts[0] + parts[1]).coverages() == pytest.approx(whole.coverages())


def test_a_constant_series_has_no_mase_and_does_not_spoil_that_of_others() -> None:
    _, truth, forecast, _ = drawn()
    constant = ForecastErrors.of(truth, forecast, naive_error=0.0)
    other = ForecastErrors.of(truth, forecast, naive_error=2.0)
    assert constant.scores()["mase"] is None
    assert (constant + other).scores()["mase"] == pytest.approx(other.scores()["mase"])


def test_intervals_of_quantiles() -> None:
    assert intervals(QUANTILES) == {0.9: (0, 4), 0.5: (1, 3)}
    assert intervals((0.1, 0.5)) == {}
    assert intervals(()) == {}
