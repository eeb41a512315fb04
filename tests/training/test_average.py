"""Averages of weights, by hand."""

from pathlib import Path
from typing import Any

import pytest
import torch

from regard.bundle.locate import find_bundle
from regard.bundle.manifest import write_manifest
from regard.bundle.tensors import write_tensors
from regard.errors import BundleError
from regard.settings import merged
from regard.tasks.bundles import load_bundle
from regard.tasks.run import train_run
from regard.tasks.settings import parse_settings
from regard.training.average import MovingAverage, mean_weights
from regard.training.checkpoint import checkpoints


def bundle(directory: Path, value: float) -> Path:
    directory.mkdir()
    write_tensors(directory / "model.safetensors", {"w": torch.full((2,), value)})
    for name in ("config.json", "tokenizer.json"):
        (directory / name).write_text("{}", encoding="utf-8")
    write_manifest(directory)
    return directory


def test_the_mean_of_checkpoints(tmp_path: Path) -> None:
    directories = [bundle(tmp_path / str(value), value) for value in (1.0, 2.0, 6.0)]
    assert mean_weights(directories)["w"].tolist() == [3.0, 3.0]
    (directories[1] / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(BundleError, match=r"2\.0/model\.safetensors"):
        mean_weights(directories)


def test_the_moving_average() -> None:
    """Early decays are (1 + s) / (10 + s): after the first update 0.1 of the old stays, after the second 2/11."""
    network = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        network.weight.fill_(0.0)
        average = MovingAverage(network, decay=0.5)
        network.weight.fill_(1.0)
        average.update(network, 0)
        assert average.weights["weight"].item() == pytest.approx(0.9)
        average.update(network, 1)
        assert average.weights["weight"].item() == pytest.approx(1 - 0.1 * 2 / 11)
        network.weight.fill_(3.0)
        average.update(network, 1000)
        assert average.weights["weight"].item() == pytest.approx((1 - 0.1 * 2 / 11 + 3.0) / 2)


def test_the_mean_is_served_where_it_is_better(settings: dict[str, Any], tmp_path: Path) -> None:
    config = parse_settings(merged(settings, {"train": {"average": 3, "keep": 3, "select": "loss"}}))
    job = train_run(config, tmp_path / "run")
    assert job.metrics is not None
    served = find_bundle(tmp_path / "run")
    mean = mean_weights(checkpoints(tmp_path / "run")[-3:])
    is_mean = all(
        torch.equal(value, mean[name]) for name, value in load_bundle(served).model.state_dict().items() if name in mean
    )
    assert is_mean == (served.name == "average")
    assert job.metrics["model"] == f"checkpoints/{served.name}"
