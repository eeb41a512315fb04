"""The promise of `regard demo`. Minutes long: run with `make test-slow`; what depends on the clock, on a machine that does nothing else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.cli.demo import DEMO

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("_two_threads")]


@pytest.fixture
def _two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def learned(command, out: Path, *options: str, least: float) -> dict[str, Any]:
    """Run the demo, see that it speaks French, and return its metrics. least: the share of exact matches."""
    result = command("demo", "--out", out, *options)
    assert result.code == 0, result.err
    assert "je suis étudiant -> I am a student\n" in result.out
    assert "il m'a entarté -> he hit me with a pie\n" in result.out
    assert "Le chat noir dort. -> The black cat sleeps.\n" in result.out
    assert "Est-ce que tu parles anglais ? -> Do you speak English?\n" in result.out
    metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["set"] == "test"
    assert metrics["sentences"] == 1000
    assert metrics["exact_match"] >= least
    assert 0.0 < metrics["aer"] < 0.3
    rows = [json.loads(line) for line in (out / "translations.jsonl").read_text(encoding="utf-8").splitlines()]
    for written in (True, False):  # with capital and final mark, and without both
        right = [
            row["hypothesis"] == row["reference"]
            for row in rows
            if row["source"][0].isupper() == row["source"].endswith((".", "?", "!")) == written
        ]
        assert len(right) > 200
        assert sum(right) >= (least - 0.01) * len(right)
    return metrics


@pytest.mark.timeout(2100)
def test_the_demo_learns_french(command, tmp_path: Path) -> None:
    """It ends by its steps, however long they take here, up to half an hour."""
    metrics = learned(command, tmp_path / "demo", least=0.97)  # processors round differently
    assert metrics["steps"] == DEMO["train"]["max_steps"]


@pytest.mark.clock
@pytest.mark.timeout(1200)
def test_the_demo_takes_three_minutes_of_an_idle_machine(command, tmp_path: Path) -> None:
    assert learned(command, tmp_path / "demo", least=0.98)["seconds"] <= 210
