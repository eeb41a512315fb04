"""The task `forecast` from a file to forecasts: training, resuming, fine-tuning, evaluation, baselines, and what is refused."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import regard
from regard.bundle.bundle import read_weights
from regard.bundle.locate import find_bundle
from regard.bundle.manifest import write_manifest
from regard.cli.main import app
from regard.data.series import series_of
from regard.data.series_config import SeriesData
from regard.errors import BundleError, ConfigError, DataError, InputTypeError
from regard.extras import is_installed
from regard.tasks.bundles import open_to_load
from regard.tasks.forecast.baselines import fitted_forecasts, last_value, seasonal_naive
from regard.tasks.forecast.objective import ForecastObjective
from regard.tasks.forecast.prepare import Parts, cut, prepare_series
from regard.tasks.forecast.settings import ForecastSettings
from regard.tasks.load import load_forecaster
from regard.tasks.sweep import grid

STEPS, SEASON = 160, 8
SMALL = {
    "kind": "patch",
    "width": 8,
    "heads": 2,
    "feed_forward": 12,
    "layers": 1,
    "patch": 4,
    "stride": 2,
    "dropout": 0.1,
}


def wave(seed: int = 1, steps: int = STEPS) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=steps)
    return 50.0 + 10.0 * np.sin(2.0 * np.pi * np.arange(steps) / SEASON) + 0.05 * np.arange(steps) + 2.0 * noise


def written(folder: Path, columns: dict[str, np.ndarray], name: str = "s.csv") -> str:
    rows = zip(*columns.values(), strict=True)
    lines = [f"{step},{','.join(f'{value:.6f}' for value in row)}" for step, row in enumerate(rows)]
    (folder / name).write_text("\n".join([f"t,{','.join(columns)}", *lines]) + "\n", encoding="utf-8")
    return str(folder / name)


def settings(series: str, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "task": "forecast",
        "data": {"series": series, "horizon": 8, "context": 24, "season": SEASON, "baselines": ["last", "seasonal"]},
        "model": {"kind": "nlinear"},
        "train": {
            "max_steps": 60,
            "batch_tokens": 768,
            "validate_every": 30,
            "save_every": 30,
            "learning_rate": 0.02,
            "warmup": 5,
        },
    }
    for table, given in changes.items():
        values[table] = {**values[table], **given} if table != "model" else given
    return values


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("forecast")
    series = written(folder, {"a": wave(1), "b": 3.0 * wave(2)})
    regard.train(settings(series), folder / "run", progress=False)
    return folder / "run", series


def ran(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_it_beats_its_baselines_and_evaluates_alike_everywhere(trained: tuple[Path, str]) -> None:
    run, series = trained
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["mse"] < metrics["baselines"]["seasonal"]["mse"] < metrics["baselines"]["last"]["mse"]
    assert (metrics["windows"], metrics["series"], metrics["set"]) == (2 * (32 - 8 + 1), 2, "test")
    naive = ("--baseline", "last", "--baseline", "seasonal")
    evaluated = json.loads(ran("evaluate", run, "--series", series, "--json", *naive))
    for name in ("mse", "mae", "smape", "mase", "coverage", "windows", "from", "until"):
        assert evaluated[name] == metrics[name], name
    shown = ran("evaluate", run, "--series", series, *naive)
    assert "50 windows of 2 series, 128 to 159" in shown
    assert "seasonal naive" in shown


def test_the_report_and_its_figure_are_made(trained: tuple[Path, str]) -> None:
    run, _ = trained
    page = (run / "report.html").read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    forecasts = data["forecasts"]
    assert len(forecasts["windows"]) == 8
    assert forecasts["shares"] == ["90", "50"]
    assert len(forecasts["by_step"]["model"]) == 8
    assert [row["name"] for row in forecasts["baselines"]["rows"]] == ["this model", "last value", "seasonal naive"]
    assert np.array(forecasts["attended"]["weights"]).shape == (8, 24)
    assert "perplexity" not in data["logged_scores"]


def test_forecasts_of_a_file_and_of_lists_are_the_same(trained: tuple[Path, str], tmp_path: Path) -> None:
    run, series = trained
    ran("forecast", run, "--series", series, "-o", tmp_path / "out.csv", "--figure", tmp_path / "plot.svg")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8"))))
    assert [(row["unique_id"], row["ds"]) for row in rows] == [
        (name, str(step)) for name in "ab" for step in range(160, 168)
    ]
    levels = np.array([[float(row[f"q{level:g}"]) for level in (0.05, 0.25, 0.5, 0.75, 0.95)] for row in rows])
    assert (np.diff(levels, axis=1) >= 0).all()
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8").startswith("<?xml")
    model = regard.load(run)
    found = model.forecast({"a": np.round(wave(1), 6), "b": np.round(3.0 * wave(2), 6)})
    assert [value for one in found for value in one.values] == pytest.approx([float(row["forecast"]) for row in rows])
    truth = 50.0 + 10.0 * np.sin(2.0 * np.pi * np.arange(160, 168) / SEASON) + 0.05 * np.arange(160, 168)
    assert np.abs(np.array(found[0].values) - truth).mean() < 3.0
    [short] = model.forecast([[1.0, 2.0, 3.0]])
    assert short.padded
    assert np.isfinite(short.values).all()
    with pytest.raises(InputTypeError, match="expected the path of a CSV file, numbers by name"):
        model.forecast([])
    with pytest.raises(InputTypeError, match="expected lists of numbers"):
        model.forecast([["one", "two"]])
    with pytest.raises(DataError, match="value 1 is nan; give finite numbers"):
        model.forecast([1.0, float("nan")])


@pytest.mark.parametrize("kind", ["patch", "recurrent"])
def test_an_interrupted_run_ends_bit_for_bit_as_an_uninterrupted_one(tmp_path: Path, kind: str) -> None:
    series = written(tmp_path, {"a": wave()})
    model = SMALL if kind == "patch" else {"kind": kind, "width": 6, "patch": 4, "stride": 4, "dropout": 0.2}
    values = settings(series, model=model, train={"max_steps": 6, "save_every": 3, "validate_every": 3})

    def stop(event: Any) -> None:
        if event.name == "saved" and event.step == 3:
            raise KeyboardInterrupt

    regard.train(values, tmp_path / "whole", progress=False)
    with pytest.raises(KeyboardInterrupt):
        regard.train(values, tmp_path / "parted", on_event=stop)
    regard.train(values, tmp_path / "parted", progress=False)
    whole, parted = (
        read_weights(open_to_load(tmp_path / name / "checkpoints" / "step-00000006")) for name in ("whole", "parted")
    )
    assert all(torch.equal(whole[name], parted[name]) for name in whole)


def test_training_further_keeps_the_scales_and_the_window(trained: tuple[Path, str], tmp_path: Path) -> None:
    run, _ = trained
    series = written(tmp_path, {"a": wave(5) + 30.0, "c": wave(6)})
    start = {
        "task": "forecast",
        "data": {"series": series, "baselines": []},
        "train": {"start": str(run), "max_steps": 2},
    }
    further = regard.train(start, tmp_path / "further", progress=False)
    assert further.metrics is not None
    base, model = load_forecaster(run), load_forecaster(tmp_path / "further")
    assert model.config.context == base.config.context == 24
    assert model.scales.series["a"].mean == base.scales.series["a"].mean
    assert set(model.scales.series) == {"a", "b", "c"}
    other = {**start, "data": {**start["data"], "horizon": 9}}
    with pytest.raises(ConfigError, match=r"data.horizon = 9: training starts from .*, where it is 8; leave it out"):
        regard.train(other, tmp_path / "refused", progress=False)


def test_known_columns_need_their_future(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    promo = (generator.random(STEPS + 8) < 0.3).astype(float)
    rows = [f"x,{step},{'' if step >= STEPS else 5.0 + 4.0 * promo[step]},{promo[step]:g}" for step in range(STEPS + 8)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["unique_id,ds,y,promo", *rows]) + "\n", encoding="utf-8")
    data = {"known": ["promo"], "context": 8}
    values = settings(str(path), data=data, train={"max_steps": 80, "learning_rate": 0.1, "validate_every": 80})
    regard.train(values, tmp_path / "run", progress=False)
    model = load_forecaster(tmp_path / "run")
    [found] = model.forecast(path)
    np.testing.assert_allclose(found.values, 5.0 + 4.0 * promo[STEPS:], atol=0.4)
    path.write_text("\n".join(["unique_id,ds,y,promo", *rows[: STEPS + 3]]) + "\n", encoding="utf-8")
    with pytest.raises(
        DataError, match="the known columns promo end 3 steps after its last value, and the forecast needs 8"
    ):
        model.forecast(path)


def test_a_constant_series_is_forecast_as_it_is(tmp_path: Path) -> None:
    series = written(tmp_path, {"a": np.full(STEPS, 7.0)})
    run = regard.train(settings(series, train={"max_steps": 2}), tmp_path / "run", progress=False)
    assert run.metrics is not None
    assert run.metrics["mase"] is None
    assert run.metrics["mse"] == pytest.approx(0.0, abs=1e-9)
    [found] = load_forecaster(tmp_path / "run").forecast(series)
    assert found.values == pytest.approx([7.0] * 8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"data": {"horizon": 100}},
            "s.csv: the longest series, 'a', has 160 steps, 0 of them to train on, and a window needs 124",
        ),
        (
            {"data": {"context": 150}},
            "and a window needs 158 (context 150 and horizon 8); lower --context or --horizon",
        ),
        ({"data": {"train_steps": 156}}, "which leaves too few for a horizon of 8 in data.valid_steps"),
        ({"data": {"series": "none.csv"}}, "none.csv"),
    ],
)
def test_series_that_are_too_short_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        regard.train(settings(written(tmp_path, {"a": wave()}), **changes), tmp_path / "run", progress=False)
    assert message in str(caught.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"data": {"series": None}},
            "task 'forecast' needs series to learn from; give data.series, or --series FILE.csv",
        ),
        ({"data": {"quantiles": [0.9, 0.1]}}, "must be ascending numbers between 0 and 1"),
        ({"data": {"frequency": "often"}}, "frequency 'often': not one of s, min, h"),
        ({"train": {"label_smoothing": 0.1}}, "train.label_smoothing is for tokens and labels"),
        ({"train": {"select": "bleu"}}, "train.select 'bleu' is for translations, not for task 'forecast'"),
        ({"model": {"kind": "patch", "patch": 30}}, "model.patch 30 is longer than data.context 24"),
        ({"model": {"kind": "patch", "stride": 17}}, "model.stride 17 is above model.patch 16"),
        ({"model": {"kind": "dlinear", "kernel": 4}}, "model.kernel 4 is even"),
        (
            {"model": {"kind": "patch", "embedding_norm": True}},
            "model.embedding_norm is for embeddings of tokens, and a forecaster reads patches of numbers; leave it out",
        ),
        (
            {"model": {"kind": "transformer", "scale_embedding": False}},
            "model.scale_embedding is for embeddings of tokens",
        ),
        (
            {"model": {"kind": "patch", "positions": "learned", "max_positions": 1}},
            "model.max_positions 1 is below the 2 patches",
        ),
    ],
)
def test_settings_that_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        regard.train(settings("s.csv", **changes), "runs/none", progress=False)
    assert message in str(caught.value)


def test_settings_of_text_are_refused_with_their_tasks() -> None:
    for given in ({"text": {"kind": "bpe"}}, {"text": {"vocabulary": 10}}):
        with pytest.raises(
            ConfigError, match="text has no meaning for task 'forecast'; leave it out, or set task to 'translate'"
        ):
            regard.train({**settings("s.csv"), **given}, "runs/none", progress=False)


def test_a_run_says_what_its_final_evaluation_fits_and_how_few_windows_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = SeriesData(
        series=written(tmp_path, {"a": wave()}), horizon=8, context=24, valid_steps=16, baseline_windows=5
    )
    run = ForecastSettings.parse({"task": "forecast", "data": data.model_dump(), "model": {"kind": "nlinear"}})

    def notes(installed: bool) -> str:
        monkeypatch.setattr("regard.tasks.forecast.objective.is_installed", lambda _: installed)
        return " ".join(ForecastObjective(run, prepare_series(run.data)).notes)

    assert "the intervals are calibrated on 9 validation windows, which is few" in notes(True)
    assert "also fits exponential smoothing and ARIMA, at 5 of 25 windows; without them: --set" in notes(True)
    assert "exponential smoothing and ARIMA are not computed beside the forecasts: they need statsforecast" in notes(
        False
    )
    assert '"seasonal"]' not in notes(False)


def test_an_evaluation_says_which_baselines_it_leaves_out(
    trained: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, series = trained
    monkeypatch.setattr("regard.tasks.forecast.evaluate.is_installed", lambda _: False)
    shown = ran("evaluate", run, "--series", series)
    assert "without exponential smoothing and ARIMA, which need statsforecast: pip install" in shown
    assert "statsforecast" not in ran("evaluate", run, "--series", series, "--baseline", "last")


def test_a_damaged_bundle_is_refused(trained: tuple[Path, str], tmp_path: Path) -> None:
    checkpoint = tmp_path / "bundle"
    shutil.copytree(find_bundle(trained[0]), checkpoint)

    def change(name: str, old: str, new: str) -> None:
        text = (checkpoint / name).read_text(encoding="utf-8")
        assert old in text
        (checkpoint / name).write_text(text.replace(old, new, 1), encoding="utf-8")
        (checkpoint / "manifest.json").unlink()
        write_manifest(checkpoint)

    change("config.json", '"context": 24', '"context": 25')
    with pytest.raises(BundleError, match=r"remainder.value.weight is \[8, 24\] F32, config.json asks for \[8, 25\]"):
        load_forecaster(checkpoint)
    change("config.json", '"context": 25', '"context": 24')
    change("config.json", '"horizon": 8', '"horizon": 9')
    with pytest.raises(BundleError, match=r"scales.json: calibration.corrections are not 9 steps of 5 quantiles"):
        load_forecaster(checkpoint)
    change("config.json", '"horizon": 9', '"horizon": 8')
    change("scales.json", '"deviation": ', '"deviation": -')
    with pytest.raises(BundleError, match=r"scales.json.*series.a.deviation"):
        load_forecaster(checkpoint)


def test_a_file_of_another_frequency_is_refused(trained: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "daily.csv").write_text(
        "t,a\n" + "".join(f"2020-01-{day:02},{day}\n" for day in range(1, 31)), encoding="utf-8"
    )
    with pytest.raises(DataError, match="its times are d apart, and the model forecasts steps of step"):
        load_forecaster(trained[0]).forecast(tmp_path / "daily.csv")


def test_the_usual_parts_of_etth1() -> None:
    usual = SeriesData(series="s", horizon=96, context=336, train_steps=8640, valid_steps=2880, test_steps=2880)
    assert cut(17420, usual) == Parts(8640, 11520, 14400)
    assert len(range(11520, 14400 - 96 + 1)) == 2785
    assert cut(100, SeriesData(series="s", horizon=12)) == Parts(68, 80, 100)
    assert cut(10, SeriesData(series="s", horizon=12)) == Parts(0, 10, 10)


def test_simple_baselines_are_those_of_statsforecast() -> None:
    models = pytest.importorskip("statsforecast.models")
    values, origins = wave(), np.array([9, 50, 51])
    for found, theirs in (
        (last_value(values, origins, 11), models.Naive()),
        (seasonal_naive(values, origins, 11, SEASON), models.SeasonalNaive(season_length=SEASON)),
    ):
        expected = [theirs.forecast(y=values[:origin], h=11)["mean"] for origin in origins]
        np.testing.assert_allclose(found, expected)
    early = seasonal_naive(values, np.array([3]), 2, SEASON)
    assert early.tolist() == [[values[2], values[2]]]  # no season before it


def test_fitted_baselines_have_a_defined_result() -> None:
    if not is_installed("statsforecast"):
        pytest.skip("statsforecast is not installed")
    flat = np.full(40, 3.0)
    for name in ("ets", "arima"):
        assert fitted_forecasts(name, flat, [30], 4, 4).tolist() == [[3.0] * 4]
        assert fitted_forecasts(name, flat, [2], 4, 4).tolist() == [[3.0] * 4]
    seasonal = 50.0 + 10.0 * np.sin(2.0 * np.pi * np.arange(60) / 4) + np.random.default_rng(1).normal(size=60)
    assert np.abs(fitted_forecasts("ets", seasonal, [56], 4, 4)[0] - seasonal[56:]).mean() < 4.0


def test_runs_are_compared_and_swept(trained: tuple[Path, str]) -> None:
    run, series = trained
    assert "MSE" in ran("compare", run)
    cells = grid(settings(series), ["model.kind=nlinear,dlinear", "data.context=16,24"], 2)
    assert len(cells) == 8
    assert {cell.config.data.context for cell in cells} == {16, 24}


def test_runs_of_other_values_at_the_same_times_are_not_compared(trained: tuple[Path, str], tmp_path: Path) -> None:
    run, _ = trained
    other = shutil.copytree(run, tmp_path / "other")
    metrics = json.loads((other / "metrics.json").read_text(encoding="utf-8"))
    metrics["truth_sha256"] = "0" * 64
    (other / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    result = CliRunner().invoke(app, ["compare", str(run), str(other)])
    assert isinstance(result.exception, DataError)
    assert "judged by other values than" in str(result.exception)


def test_a_table_of_lists() -> None:
    table = series_of([[1, 2], [3, 4, 5]])
    assert [one.name for one in table.series] == [" 0", " 1"]  # no file has such names
    with pytest.raises(DataError, match="no series are given"):
        series_of([])
