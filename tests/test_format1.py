"""Bundles and finished runs of format 1 still load, evaluate, compare and report; an unfinished run is refused in one line."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from cli.conftest import _command as command
from regard.bundle.bundle import read_network
from regard.bundle.format1 import tensor_name
from regard.bundle.locate import find_bundle
from regard.bundle.rewriting import rewrite_config
from regard.errors import TrainError
from regard.settings import read_json
from regard.tasks.bundles import open_bundle, read_config
from regard.tasks.fine_tuning import run_settings
from regard.tasks.load import load_served
from regard.tasks.run import train_run
from regard.tasks.settings import parse_settings, read_settings
from regard.tasks.table import TASKS

HOME = Path(__file__).parent / "format1"
RUNS = sorted(path.parent.name for path in HOME.glob("*/metrics.json"))
SCORES = {"translate": ("bleu", "perplexity"), "generate": ("perplexity_word",), "classify": ("accuracy", "f1")}


@pytest.fixture(autouse=True)
def _beside_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HOME / "data")


@pytest.mark.parametrize("name", RUNS)
def test_a_bundle_is_read_with_its_weights(name: str) -> None:
    bundle = open_bundle(find_bundle(HOME / name))
    assert bundle.stored_format == 1
    assert bundle.config.format == 2
    network = read_network(bundle)
    stored = load_file(find_bundle(HOME / name) / "model.safetensors")
    tensors: dict[str, Any] = network.tables() if name == "generate-markov" else network.state_dict()  # type: ignore[operator]
    for old, expected in stored.items():
        assert torch.equal(tensors[tensor_name(old)], expected), old


@pytest.mark.parametrize("name", RUNS)
def test_a_finished_run_is_evaluated_to_the_same_scores(name: str) -> None:
    """On what it was judged by then: the validation set, by its task's one `evaluate`."""
    settings = parse_settings(read_settings(HOME / name / "config.json"))
    task = TASKS[settings.task]
    objective = task.objective(settings, None, lambda doing, count: None)
    found = task.evaluate(load_served(HOME / name, engine="torch"), objective.test).metrics
    expected = json.loads((HOME / name / "metrics.json").read_text(encoding="utf-8"))
    for score in SCORES[settings.task]:
        assert found[score] == pytest.approx(expected[score], rel=1e-4), score


@pytest.mark.parametrize("name", RUNS)
def test_the_same_command_says_that_it_is_finished(name: str, tmp_path: Path) -> None:
    shutil.copytree(HOME / name, tmp_path / "run")
    again = train_run(run_settings(read_settings(HOME / name / "config.json")), tmp_path / "run")
    assert again.reason == "finished"


def test_an_unfinished_run_is_refused_in_one_line(tmp_path: Path) -> None:
    shutil.copytree(HOME / "translate-transformer", tmp_path / "run")
    (tmp_path / "run/metrics.json").unlink()
    with pytest.raises(TrainError, match=r"an unfinished run of format 1, which regard .* cannot resume") as raised:
        train_run(run_settings(read_settings(tmp_path / "run/config.json")), tmp_path / "run")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", ["translate", "generate", "classify", "tag"])
def test_they_report_and_compare(kind: str, tmp_path: Path) -> None:
    names = [name for name in RUNS if name.startswith(kind) and name != "generate-recurrent"]
    for name in names:
        shutil.copytree(HOME / name, tmp_path / name)
    page = command("report", tmp_path / names[0]).out.strip()
    assert Path(page).is_file()
    assert command("info", tmp_path / names[0]).out.startswith("run:\n  directory: ")
    same = names[:2] if kind in ("translate", "generate") else names[-1:]
    assert "parameters" in command("compare", *(tmp_path / name for name in same)).out


def test_a_config_that_is_written_again_has_format_2(tmp_path: Path) -> None:
    shutil.copytree(find_bundle(HOME / "translate-alignment"), tmp_path / "bundle")
    before = open_bundle(tmp_path / "bundle")
    assert before.config.alignment.shift  # `said` of format 1
    weights = read_network(before).state_dict()
    rewrite_config(before, before.config)
    after = open_bundle(tmp_path / "bundle")
    assert after.stored_format == read_json(tmp_path / "bundle/config.json")["format"] == 2
    assert read_config(tmp_path / "bundle") == before.config
    for name, tensor in weights.items():
        assert torch.equal(read_network(after).state_dict()[name], tensor)
