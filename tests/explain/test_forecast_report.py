"""The views of a forecaster's report: what they are made of, and how a browser shows them."""

from pathlib import Path
from typing import Any

import pytest

from explain.browser import BROWSER, dom_of, measured, texts
from regard.explain.forecast_report import add_forecast_views
from regard.explain.records import ForecastViews, Report
from regard.explain.report import render

METRICS: dict[str, Any] = {
    "windows": 3,
    "mse": 0.5,
    "mae": 0.6,
    "smape": 0.1,
    "mase": None,
    "coverages": {"90": 0.875, "50": 0.5},
    "by_step": {"mse": [0.4, 0.6], "mae": [0.5, 0.7], "coverage": [1.0, 0.75]},
    "uncalibrated": {"coverages": {"90": 0.25, "50": 0.125}, "coverage_by_step": [0.5, 0.0]},
    "baselines": {
        "last": {"mse": 1.0, "mae": 0.9, "smape": 0.2, "mase": 1.5, "windows": 3, "mse_by_step": [0.9, 1.1]},
    },
}
ROW = {
    "series": "sales",
    "origin": "2020-03",
    "times": ["2020-01", "2020-02", "2020-03", "2020-04"],
    "past": [1.0, 2.0],
    "truth": [3.0, 4.0],
    "forecast": [2.5, 4.5],
    "quantiles": {"0.05": [1.0, 2.0], "0.25": [2.0, 3.0], "0.75": [3.0, 5.0], "0.95": [4.0, 6.0]},
    "mse": 0.25,
}


def views(metrics: dict[str, Any]) -> ForecastViews:
    found = add_forecast_views(Report("sales", metrics=metrics), [ROW], None).forecasts
    assert found is not None
    return found


def test_coverage_is_shown_before_and_after_calibration() -> None:
    found = views(METRICS)
    assert found.covered == [
        {"share": "90", "value": 87.5, "before": 25.0},
        {"share": "50", "value": 50.0, "before": 12.5},
    ]
    assert found.by_step is not None
    assert found.by_step["coverage"] == {"share": "90", "values": [100.0, 75.0], "before": [50.0, 0.0]}
    plain = views({name: value for name, value in METRICS.items() if name != "uncalibrated"})
    assert [row["before"] for row in plain.covered] == [None, None]
    assert plain.by_step is not None
    assert plain.by_step["coverage"]["before"] is None
    without = views({**METRICS, "coverages": {}, "by_step": {"mse": [0.4, 0.6], "mae": [0.5, 0.7]}})
    assert without.covered == []
    assert without.by_step is not None
    assert without.by_step["coverage"] is None


@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor chromium-browser is on PATH")
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_in_a_browser(tmp_path: Path, width: int) -> None:
    columns = [f"2020-01-{day:02}" for day in range(1, 31)]
    attended = {"rows": ["layer 1"], "columns": columns, "weights": [[1 / 30] * 30], "label": "weight of the past"}
    found = views(METRICS)
    shown = ForecastViews(found.windows, found.shares, found.covered, found.by_step, found.baselines, attended)
    page = render(Report("sales", metrics=METRICS, forecasts=shown))
    dom = dom_of(page, tmp_path, width)
    [note] = [text for text in texts(dom, "p") if text.startswith("Dark: the series.")]
    assert note.endswith(
        "Over all windows they cover 87.5 % for 90 % and 50 % for 50 %; before calibration 25 % for 90 % and 12.5 % for 50 %."
    )
    captions = " ".join(texts(dom, "figcaption"))
    assert "MSE by step of the horizon" in captions
    assert "Coverage of the 90 % interval" in captions
    assert "before calibration" in captions
    words_of_map = "[...document.querySelectorAll('.matrix .word')].map(word => word.textContent)"
    script = f"[document.documentElement.scrollWidth - innerWidth, {words_of_map}]"
    wide, words = measured(page, tmp_path, script, width)
    assert wide <= 0  # the map scrolls in its frame, not the page
    assert "layer 1" in words
    labels = [word for word in words if word.startswith("2020")]
    assert labels == columns[:: 2 if width == 390 else 1]
