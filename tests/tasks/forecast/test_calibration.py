"""Calibrated forecasters: noise that is known is covered, the value stays, the switch, resuming, and files of older versions."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.bundle.locate import find_bundle
from regard.bundle.manifest import write_manifest
from regard.errors import BundleError
from regard.tasks.load import load_forecaster

SERIES, STEPS, HORIZON, CONTEXT = 40, 260, 4, 24


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Series of independent normal noise: a forecaster with many weights and few of them to learn from overfits it."""
    generator = np.random.default_rng(11)
    rows = [
        f"{name},{step},{value:.6f}"
        for name in range(SERIES)
        for step, value in enumerate(generator.normal(size=STEPS).tolist())
    ]
    path = tmp_path_factory.mktemp("noise") / "noise.csv"
    path.write_text("\n".join(["unique_id,ds,y", *rows]) + "\n", encoding="utf-8")
    return str(path)


def run_settings(series: str, **train: Any) -> dict[str, Any]:
    """Few steps to train on, many to validate and test on. All of the past is read, and none of it matters."""
    return {
        "task": "forecast",
        "data": {
            "series": series,
            "horizon": HORIZON,
            "context": CONTEXT,
            "train_steps": CONTEXT + HORIZON + 4,
            "valid_steps": 104,
            "test_steps": 104,
            "baselines": [],
        },
        "model": {"kind": "nlinear", "instance_norm": "none"},
        "train": {
            "max_steps": 150,
            "batch_tokens": 4800,
            "validate_every": 150,
            "save_every": 75,
            "learning_rate": 0.03,
            "warmup": 5,
            **train,
        },
    }


@pytest.fixture(scope="module")
def run(noise: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("calibrated") / "run"
    regard.train(run_settings(noise), out, progress=False)
    return out


def metrics_of(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    return found


def test_known_noise_is_covered_within_the_error_of_sampling(run: Path) -> None:
    metrics = metrics_of(run)
    assert metrics["calibration_windows"] == SERIES * (104 - HORIZON + 1)
    for name, share in (("90", 0.9), ("50", 0.5)):
        # 40 x 104 independent values in each part; the errors of one forecaster on neighbouring windows go together a little
        error = np.sqrt(2.0 * share * (1.0 - share) / (SERIES * 104))
        assert abs(metrics["coverages"][name] - share) < 4.0 * error, (name, metrics["coverages"][name])
        assert metrics["uncalibrated"]["coverages"][name] < share - 8.0 * error
    assert metrics["pinball"] < metrics["uncalibrated"]["pinball"]


def test_the_switch_and_the_value(run: Path, noise: str, tmp_path: Path) -> None:
    """Without calibration the weights, the value and the learned quantiles are the same."""
    regard.train(run_settings(noise, calibrate=False), tmp_path / "plain", progress=False)
    before, after = metrics_of(tmp_path / "plain"), metrics_of(run)
    assert "uncalibrated" not in before
    assert before["coverages"] == after["uncalibrated"]["coverages"]
    assert (before["mse"], before["mae"]) == (after["mse"], after["mae"])
    plain, calibrated = load_forecaster(tmp_path / "plain"), load_forecaster(run)
    assert plain.scales.calibration is None
    past = {"a": np.linspace(-1.0, 1.0, CONTEXT).tolist()}
    [one], [other] = plain.forecast(past), calibrated.forecast(past)
    assert one.values == other.values
    assert one.quantiles[0.5] == pytest.approx(other.quantiles[0.5])
    assert np.less(other.quantiles[0.05], one.quantiles[0.05]).all()
    assert np.greater(other.quantiles[0.95], one.quantiles[0.95]).all()


def test_a_model_without_learned_quantiles_has_intervals_by_its_errors(noise: str, tmp_path: Path) -> None:
    regard.train(run_settings(noise, quantile_weight=0.0), tmp_path / "run", progress=False)
    metrics = metrics_of(tmp_path / "run")
    assert metrics["uncalibrated"]["coverages"] == {"90": 0.0, "50": 0.0}
    assert metrics["coverages"]["90"] == pytest.approx(0.9, abs=0.02)
    assert metrics["coverages"]["50"] == pytest.approx(0.5, abs=0.03)


def test_a_checkpoint_has_the_calibration_of_its_own_weights(run: Path, noise: str, tmp_path: Path) -> None:
    """A checkpoint between two validations has none, and a resumed run ends with the same one."""
    between = load_forecaster(run / "checkpoints" / "step-00000075")
    assert between.scales.calibration is None

    def stop(event: Any) -> None:
        if event.name == "saved" and event.step == 75:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        regard.train(run_settings(noise), tmp_path / "parted", on_event=stop)
    regard.train(run_settings(noise), tmp_path / "parted", progress=False)
    assert load_forecaster(tmp_path / "parted").scales == load_forecaster(run).scales


def test_training_further_calibrates_anew(run: Path, noise: str, tmp_path: Path) -> None:
    values = {
        "task": "forecast",
        "data": {"series": noise, "baselines": []},
        "train": {"start": str(run), "max_steps": 1, "learning_rate": 1e-9, "calibrate": False},
    }
    regard.train(values, tmp_path / "further", progress=False)
    assert load_forecaster(tmp_path / "further").scales.calibration is None


def test_scales_without_a_calibration_are_read_and_damaged_ones_are_refused(run: Path, tmp_path: Path) -> None:
    import shutil

    bundle = tmp_path / "bundle"
    shutil.copytree(find_bundle(run), bundle)
    scales = json.loads((bundle / "scales.json").read_text(encoding="utf-8"))

    def store(calibration: Any) -> None:
        changed = {name: value for name, value in scales.items() if name != "calibration"}
        changed |= {} if calibration is None else {"calibration": calibration}
        (bundle / "scales.json").write_text(json.dumps(changed), encoding="utf-8")
        (bundle / "manifest.json").unlink()
        write_manifest(bundle)

    store(None)  # a bundle of an older version
    assert load_forecaster(bundle).scales.calibration is None
    rows = scales["calibration"]["corrections"]
    for wrong in (rows[:-1], [row[:-1] for row in rows], [*rows[:-1], rows[-1][:-1]], []):
        store({"windows": 5, "corrections": wrong})
        with pytest.raises(BundleError, match=r"scales.json: calibration.corrections are not 4 steps of 5 quantiles"):
            load_forecaster(bundle)
    store({"windows": 0, "corrections": rows})
    with pytest.raises(BundleError, match=r"scales.json.*calibration.windows"):
        load_forecaster(bundle)
