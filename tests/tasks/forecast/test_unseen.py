"""Evaluation sees nothing of the future: new series, values that were trained on, gaps at a split; and the times of a few rows."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.data.scales import SeriesScale, measured
from regard.data.series import Series, series_of
from regard.data.series_config import SeriesData
from regard.errors import DataError
from regard.tasks.forecast.evaluate import ForecastTest, evaluate_forecaster
from regard.tasks.forecast.evaluate import test_from_flags as of_flags
from regard.tasks.forecast.forecaster import Forecaster
from regard.tasks.forecast.prepare import prepare_series, series_span
from regard.tasks.load import load_forecaster

HORIZON, CONTEXT, STEPS = 4, 12, 100


def wave(steps: int = STEPS) -> np.ndarray:
    return np.asarray(np.sin(np.arange(steps)) + 0.1 * np.arange(steps))


def written(folder: Path, columns: dict[str, Any], first: int = 0, name: str = "s.csv") -> str:
    rows = zip(*columns.values(), strict=True)
    lines = [f"{first + step},{','.join(str(value) for value in row)}" for step, row in enumerate(rows)]
    (folder / name).write_text("\n".join([f"t,{','.join(columns)}", *lines]) + "\n", encoding="utf-8")
    return str(folder / name)


def settings(series: str, **data: Any) -> dict[str, Any]:
    return {
        "task": "forecast",
        "data": {"series": series, "horizon": HORIZON, "context": CONTEXT, "season": 2, "baselines": ["last"], **data},
        "model": {"kind": "nlinear"},
        "train": {"max_steps": 2, "validate_every": 2, "save_every": 2},
    }


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Forecaster:
    folder = tmp_path_factory.mktemp("unseen")
    regard.train(settings(written(folder, {"a": wave(), "0": 1000.0 + wave()})), folder / "run", progress=False)
    return load_forecaster(folder / "run")


def flags(path: str) -> dict[str, Any]:
    return {"series": path, "baselines": ["last"]}


def test_the_scale_of_a_new_series_is_of_the_values_before_its_first_forecast(
    model: Forecaster, tmp_path: Path
) -> None:
    early, late = wave(), wave()
    late[40:] += 500.0
    results = []
    for values in (early, late):
        test = of_flags(model, flags(written(tmp_path, {"new": values})))
        assert test.spans == [(CONTEXT, STEPS)]
        expected = measured(values[:CONTEXT], 2)
        assert model.scale(test.table.series[0], CONTEXT) == expected
        results.append(evaluate_forecaster(model, test))
    assert results[0].metrics["windows"] == STEPS - CONTEXT - HORIZON + 1
    first, second = (result.rows[0] for result in results)
    assert first["step"] == CONTEXT
    assert first["forecast"] == second["forecast"]
    assert first["mse"] == second["mse"]
    with pytest.raises(DataError, match=r"a new series needs 16 \(context and horizon\)"):
        evaluate_forecaster(model, of_flags(model, flags(written(tmp_path, {"new": wave(15)}))))


def test_values_that_were_trained_on_are_not_scored(model: Forecaster, tmp_path: Path) -> None:
    path = written(tmp_path, {"a": wave(80)})
    with pytest.raises(
        DataError, match=r"s.csv: nothing is newer than what the model was trained on: .* end at 79; give later"
    ):
        of_flags(model, flags(path))
    whole = written(tmp_path, {"a": wave()})
    assert of_flags(model, flags(whole)).spans == [(80, STEPS)]
    later = written(tmp_path, {"a": wave(30)}, first=90)
    assert of_flags(model, flags(later)).spans == [(1, 30)]
    mixed = written(tmp_path, {"a": wave(80), "new": wave(80)})
    assert evaluate_forecaster(model, of_flags(model, flags(mixed))).metrics["series"] == 1


def test_the_span_after_a_time_between_two_steps() -> None:
    step = series_of([[1.0, 2.0, 3.0, 4.0]]).series[0]
    two = Series("a", 1, type(step.frequency)("step", 2), step.values, step.known)  # times 1, 3, 5, 7
    assert series_span(two, SeriesScale(trained_until="4"), 2) == (2, 4)


def test_a_series_without_a_training_part_is_not_scaled_by_its_test_part(tmp_path: Path) -> None:
    lines = [f"long,{step},{step % 5}" for step in range(80)]
    lines += [f"short,{step},{step % 3 if step < 20 else 900}" for step in range(30)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["unique_id,ds,y", *lines]) + "\n", encoding="utf-8")
    data = SeriesData(series=str(path), horizon=4, context=12, season=2, valid_steps=20, test_steps=20)
    prepared = prepare_series(data)
    assert prepared.parts[1].train == 0
    assert prepared.scales.series["short"].mean == pytest.approx(np.mean(np.arange(20) % 3))
    assert prepared.scales.series["short"].naive_error == pytest.approx(measured(np.arange(20.0) % 3, 2).naive_error)


def test_linear_filling_draws_no_line_over_a_split(tmp_path: Path) -> None:
    values: list[Any] = wave().tolist()
    for gap in (slice(20, 22), slice(68, 73), slice(78, 83), slice(90, 92)):  # parts end at 70, 80 and 100
        values[gap] = [""] * (gap.stop - gap.start)
    path = written(tmp_path, {"a": values})
    run = settings(path, missing="linear")
    [series] = prepare_series(SeriesData(**run["data"])).table.series
    assert series.filled == 14
    np.testing.assert_allclose(series.values[20:22], np.interp([20, 21], [19, 22], [values[19], values[22]]))
    for gap, before in ((slice(68, 73), 67), (slice(78, 83), 77), (slice(90, 92), 89)):
        assert set(series.values[gap]) == {values[before]}
    regard.train(run, tmp_path / "run", progress=False)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    served = load_forecaster(tmp_path / "run")
    found = evaluate_forecaster(served, of_flags(served, flags(path))).metrics
    assert [found[name] for name in ("mse", "mase", "windows")] == [
        metrics[name] for name in ("mse", "mase", "windows")
    ]


def test_lists_do_not_take_the_scale_of_a_trained_series(model: Forecaster) -> None:
    values = wave(30).tolist()
    [listed] = model.forecast([values])
    [new] = model.forecast({"new": values})
    [trained] = model.forecast({"0": values})
    assert listed.values == new.values
    assert listed.values != trained.values


def test_the_first_time_of_an_evaluation_is_not_that_of_the_alphabet(model: Forecaster) -> None:
    frequency = series_of([[1.0]]).series[0].frequency
    series = [Series(name, start, frequency, wave(40), np.zeros((40, 0))) for name, start in (("x", 96), ("y", 100))]
    table = series_of([[1.0]])
    table = type(table)(tuple(series), (), frequency, long=True)
    found = evaluate_forecaster(model, ForecastTest(table, [(12, 20), (12, 20)], baselines=())).metrics
    assert (found["from"], found["until"]) == ("108", "119")
    found = evaluate_forecaster(model, ForecastTest(table, [(1, 5), (1, 5)], baselines=())).metrics
    assert (found["from"], found["until"]) == ("97", "104")
