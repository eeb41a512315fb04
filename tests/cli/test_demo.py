"""The promise of `regard demo`. Minutes long: run with `make test-slow`, on a machine that does nothing else."""

import json
from pathlib import Path

import pytest
import torch


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_demo_learns_french(command, tmp_path: Path) -> None:
    torch.set_num_threads(2)
    result = command("demo", "--out", tmp_path / "demo")
    assert result.code == 0, result.err
    assert "je suis étudiant -> I am a student\n" in result.out
    assert "il m'a entarté -> he hit me with a pie\n" in result.out
    metrics = json.loads((tmp_path / "demo/metrics.json").read_text(encoding="utf-8"))
    assert metrics["set"] == "test"
    assert metrics["sentences"] == 1000
    assert metrics["seconds"] <= 181
    assert metrics["exact_match"] >= 0.98
    assert 0.0 < metrics["aer"] < 0.3
