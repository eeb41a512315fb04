"""Averages of weights, by hand."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.bundle.locate import find_bundle
from regard.bundle.manifest import open_manifest, write_manifest
from regard.bundle.tensors import read_tensors, write_tensors
from regard.errors import BundleError
from regard.settings import merged
from regard.tasks.bundles import load_bundle
from regard.tasks.classify.objective import ClassifyObjective
from regard.tasks.run import train_run
from regard.tasks.settings import parse_settings
from regard.tasks.translate.objective import TranslateObjective
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


def test_what_is_no_float_is_not_averaged(tmp_path: Path) -> None:
    """Hashes of 32 bits do not fit into 24 bits of a float32, whether they are stored as integers or as doubles."""
    hashes = torch.tensor([4_294_967_291, 16_777_217])
    directories = []
    for number in (1, 2, 4):
        directory = bundle(tmp_path / str(number), number)
        stored = {"w": torch.full((2,), float(number)), "whole": hashes, "double": hashes.double()}
        write_tensors(directory / "model.safetensors", stored)
        write_manifest(directory)
        directories.append(directory)
    mean = mean_weights(directories)
    assert mean["w"].dtype == torch.float32
    assert mean["w"].tolist() == pytest.approx([7 / 3, 7 / 3])
    for name, kind in (("whole", torch.int64), ("double", torch.float64)):
        assert mean[name].dtype == kind
        assert mean[name].tolist() == hashes.tolist()


def test_the_moving_average_leaves_buffers_alone() -> None:
    """A bag's owners are hashes, and infinite where a bucket is free: infinity minus itself is no number."""
    network = torch.nn.Linear(1, 1, bias=False)
    network.register_buffer("owner", torch.tensor([4_294_967_291.0, torch.inf], dtype=torch.float64))
    network.register_buffer("count", torch.tensor(7))
    average = MovingAverage(network, decay=0.5)
    for step in range(3):
        average.update(network, step)
    assert average.weights["owner"].tolist() == [4_294_967_291.0, torch.inf]
    assert average.weights["count"].item() == 7


def test_a_bag_of_bigrams_keeps_them_in_the_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the order of the two words tells the labels apart."""
    rows = [f"{'a b' if n % 2 else 'b a'} {'c' * (n % 5 + 1)}\t{'ab' if n % 2 else 'ba'}\n" for n in range(60)]
    (tmp_path / "rows.tsv").write_text("".join(rows), encoding="utf-8")
    values = {
        "task": "classify",
        "data": {"labelled": str(tmp_path / "rows.tsv")},
        "text": {"kind": "word"},
        "model": {"kind": "bag", "ngrams": 2},
        "train": {"max_steps": 12, "batch_tokens": 64, "save_every": 4, "validate_every": 4, "average": 3},
    }
    prefer_the_last(monkeypatch, ClassifyObjective)
    job = train_run(parse_settings(values), tmp_path / "run")
    assert job.metrics is not None
    assert job.metrics["model"] == "checkpoints/average"
    assert job.metrics["accuracy"] == 1.0
    owners = [load_bundle(path).model.get_buffer("owner") for path in (tmp_path / "run/checkpoints").iterdir()]
    assert len(owners) == 4
    assert all(torch.equal(owner, owners[0]) for owner in owners)


def prefer_the_last(monkeypatch: pytest.MonkeyPatch, objective: type[Any], sign: float = 1.0) -> None:
    """Let each validation be better than the one before; or worse, by the sign."""
    original, values = objective.validate, itertools.count()
    monkeypatch.setattr(
        objective,
        "validate",
        lambda self, network: dataclasses.replace(original(self, network), value=sign * next(values)),
    )


@pytest.mark.parametrize(("sign", "expected"), [(1.0, "average"), (-1.0, "step-00000005")])
def test_the_mean_is_served_where_it_is_better(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign: float, expected: str
) -> None:
    config = parse_settings(merged(settings, {"train": {"average": 3, "keep": 3}}))
    prefer_the_last(monkeypatch, TranslateObjective, sign)
    job = train_run(config, tmp_path / "run")
    assert job.metrics is not None
    served = find_bundle(tmp_path / "run")
    assert served.name == expected
    assert job.metrics["model"] == f"checkpoints/{expected}"
    mean = mean_weights(checkpoints(tmp_path / "run")[-3:])
    stored = read_tensors(open_manifest(served), "model.safetensors")
    assert stored.keys() == mean.keys()
    assert all(torch.equal(stored[name], mean[name]) for name in mean) == (expected == "average")
