"""Recurrent models through the same loop, bundle and engine as any other."""

import json
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.bundle.manifest import write_manifest
from regard.errors import SearchError
from regard.explain.run_report import write_run_report
from regard.settings import override
from regard.tasks.bundles import load_bundle
from regard.tasks.load import load_served
from training.runs import EVERYTHING, Child, assert_same_run, die, logged, on_step, run

Start = Callable[[Callable[[], object]], Child]

ATTENTIVE = {"kind": "recurrent", "width": 16, "layers": 2, "dropout": 0.2, "score": "additive"}
PLAIN = {"kind": "recurrent", "width": 16, "cell": "gru", "attention": False}


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_as_if_it_had_not(settings: dict[str, Any], tmp_path: Path, start: Start) -> None:
    settings["model"] = ATTENTIVE
    straight, out = tmp_path / "straight", tmp_path / "run"
    run(settings, straight, **EVERYTHING)
    for step in (4, 8):
        assert start(partial(run, settings, out, on_step(step, die), **EVERYTHING)).wait() == -signal.SIGKILL
    run(settings, out, **EVERYTHING)
    assert_same_run(out, straight)
    model = load_served(straight)
    assert model.translate(["ab cd"]) == load_served(out).translate(["ab cd"])
    [aligned] = model.align(["ab cd ef"], ["BA DC"])
    assert aligned.weights.shape == (2, 3)
    np.testing.assert_allclose(aligned.weights.sum(axis=1), 1.0)


def test_without_attention_nothing_is_aligned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pocket corpus knows its alignments; a model that looks at nothing is not measured by them."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    sets = ["data.pocket=60", "text.vocabulary=400", "train.max_steps=3", "train.batch_tokens=256"]
    result, _ = run(override({"model": PLAIN}, sets), tmp_path / "run")
    assert result.metrics is not None
    assert result.metrics["aer"] is None
    assert [step["step"] for step in logged(tmp_path / "run", "step")] == [1, 2, 3]
    model = load_served(tmp_path / "run")
    with pytest.raises(SearchError, match="no attention from target to source"):
        model.align(["le chat dort"], ["the cat sleeps"])
    page = write_run_report(tmp_path / "run").read_text(encoding="utf-8")
    assert '"alignments": []' in page or '"alignments":[]' in page


def test_a_bundle_from_before_there_were_kinds_and_scores(settings: dict[str, Any], tmp_path: Path) -> None:
    run(settings, tmp_path / "run", max_steps=2)
    directory = tmp_path / "run/checkpoints/step-00000002"
    before = load_bundle(directory)
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    for key in ("kind", "score", "score_width"):
        del config["model"][key]
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write_manifest(directory)
    after = load_bundle(directory)
    assert after.config == before.config
    source, said = torch.tensor([[5, 6, 0]]), torch.tensor([[before.config.vocabulary.target - 1, 7]])
    assert torch.equal(after.model(source, said), before.model(source, said))
