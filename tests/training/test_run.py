"""An ordinary run: what it leaves, how it ends, and what it refuses. What may happen to it is in test_faults.py and test_stops.py."""

import json
import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.errors import DataError, TrainError
from regard.settings import merged
from regard.tasks.load import load_served
from regard.tasks.settings import parse_settings
from regard.training.events import Event, Step, Stopped, Validated
from regard.training.loop import TrainingJob
from regard.training.muon import FIRST_FORM, FORM
from training.runs import kept, logged, on_step, pointed, run, started, stop_after


def test_what_a_run_leaves(settings: dict[str, Any], tmp_path: Path) -> None:
    result, events = run(settings, tmp_path / "run")
    assert [event.step for event in events if isinstance(event, Step)] == list(range(1, 13))
    assert [event.step for event in events if isinstance(event, Validated)] == [5, 10, 12]
    assert isinstance(events[-1], Stopped)
    assert events[-1].reason == result.reason == "max_steps"
    assert result.metrics is not None
    assert result.metrics == json.loads((tmp_path / "run/metrics.json").read_text(encoding="utf-8"))
    for name in (
        "bleu",
        "chrf",
        "ter",
        "exact_match",
        "length_ratio",
        "aer",
        "perplexity",
        "signatures",
        "parameters",
        "tokens",
        "seconds",
    ):
        assert name in result.metrics
    assert result.metrics["tokens"] == sum(step["tokens"] for step in logged(tmp_path / "run", "step"))
    assert result.metrics["languages"] == {"source": "xx", "target": "yy"}
    assert load_served(tmp_path / "run").translate(["ab cd"], beam=1)[0].source == "ab cd"
    assert pointed(tmp_path / "run", "latest") == "checkpoints/step-00000012"
    best = Path(pointed(tmp_path / "run", "best")).name
    assert kept(tmp_path / "run") == sorted({"step-00000009", "step-00000012", best})  # the newest two, and the best


def test_it_learns(settings: dict[str, Any], tmp_path: Path) -> None:
    easy = merged(settings, {"text": {"dropout": 0.0}, "model": {"dropout": 0.0, "width": 32, "feed_forward": 64}})
    run(
        easy, tmp_path / "run", max_steps=150, validate_every=150, save_every=150, batch_tokens=400, label_smoothing=0.0
    )
    steps = logged(tmp_path / "run", "step")
    assert steps[0]["nll"] > math.log(200)
    assert steps[-1]["nll"] < 0.5 * steps[0]["nll"]
    assert steps[-1]["learning_rate"] < 0.02 * max(step["learning_rate"] for step in steps)


def test_a_mistake_does_not_spoil_the_directory(settings: dict[str, Any], tmp_path: Path) -> None:
    wrong = merged(settings, {"data": {"src": str(tmp_path / "nowhere.xx")}})
    with pytest.raises(DataError, match="nowhere"):
        run(wrong, tmp_path / "run")
    assert run(settings, tmp_path / "run")[0].reason == "max_steps"


def test_a_finished_run_says_so_and_changed_settings_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    run(settings, tmp_path / "run")
    again, events = run(settings, tmp_path / "run")
    assert (again.reason, events) == ("finished", [])
    assert again.metrics is not None
    with pytest.raises(TrainError, match=r"train\.max_steps: 12 -> 13"):
        run(settings, tmp_path / "run", max_steps=13)


def test_changed_data_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "run", stop_after(7))
    source = Path(settings["data"]["src"])
    source.write_text(source.read_text(encoding="utf-8").replace("a", "b"), encoding="utf-8")
    with pytest.raises(TrainError, match="content of the data files has changed"):
        run(settings, tmp_path / "run")


def test_tensorboard_gets_the_same_numbers(settings: dict[str, Any], tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run(settings, tmp_path / "run")
    board = accumulator.EventAccumulator(str(tmp_path / "run/tensorboard"))
    board.Reload()
    written = {scalar.step: scalar.value for scalar in board.Scalars("train/loss")}
    assert written == pytest.approx({step["step"]: step["loss"] for step in logged(tmp_path / "run", "step")}, rel=1e-6)


def test_few_validation_sentences_are_judged_by_loss(settings: dict[str, Any], tmp_path: Path) -> None:
    _, events = run(settings, tmp_path / "run")
    validated = [event for event in events if isinstance(event, Validated)]
    lowest = float("inf")
    for event in validated:
        assert event.best == (event.loss < lowest)
        lowest = min(lowest, event.loss)


def test_an_interrupted_run_says_by_what(settings: dict[str, Any], tmp_path: Path) -> None:
    result, events = run(settings, tmp_path / "run", on_step(4, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    assert (result.reason, result.signal, result.metrics) == ("interrupted", signal.SIGTERM, None)
    assert isinstance(events[-1], Stopped)
    assert (events[-1].step, events[-1].reason) == (4, "interrupted")


def test_another_number_of_threads_is_told(settings: dict[str, Any], tmp_path: Path) -> None:
    """Sums are then added up in another order, and no resume can be exact."""
    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "run", stop_after(4))
    torch.set_num_threads(2)
    try:
        again = started(settings, tmp_path / "run")
    finally:
        torch.set_num_threads(1)
    assert "resumed with threads 2, started with 1: results may differ in the last bits" in again.notes


@pytest.mark.parametrize("optimizer", ["muon", "adamw"])
def test_a_checkpoint_of_an_older_muon_is_told(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimizer: str
) -> None:
    out, settings = tmp_path / "run", merged(settings, {"train": {"optimizer": optimizer}})
    with monkeypatch.context() as patch:
        state = TrainingJob.state
        patch.setattr(TrainingJob, "state", lambda job: {k: v for k, v in state(job).items() if k != "muon"})
        with pytest.raises(KeyboardInterrupt):
            run(settings, out, stop_after(4))
    notes = [note for note in started(settings, out).notes if "muon" in note]
    expected = f"resumed with muon {FORM}, started with {FIRST_FORM}: updates differ, so the run takes another course"
    assert notes == ([expected] if optimizer == "muon" else [])


def test_two_processes_may_not_share_a_run(settings: dict[str, Any], tmp_path: Path) -> None:
    def intrude(event: Event) -> None:
        if isinstance(event, Step) and event.step == 2:
            with pytest.raises(TrainError, match="another process"):
                run(settings, tmp_path / "run")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "run", intrude)


def test_accumulation_equals_one_large_batch(settings: dict[str, Any], tmp_path: Path) -> None:
    """Gradients of two half batches, normalised by their joint token count, are those of the whole."""
    from regard.data.batches import make_batch
    from regard.data.prepare import prepare
    from regard.models.build import build_translator
    from regard.training.loss import batch_loss

    config = parse_settings(settings)
    prepared = prepare(config.data, config.text, tmp_path / "c")
    size = len(prepared.tokenizers.source.vocabulary)
    network = build_translator(config.model, size, size, joint=True).double().eval()
    cpu = torch.device("cpu")

    def gradient(parts: list[list[int]]) -> torch.Tensor:
        network.zero_grad()
        batches = [make_batch(prepared.train, part, prepared.tokenizers) for part in parts]
        total = sum(batch.tokens for batch in batches)
        for batch in batches:
            (batch_loss(network, batch, 0.1, cpu)[0] / total).backward()
        return torch.cat([parameter.grad.flatten() for parameter in network.parameters()])

    torch.testing.assert_close(gradient([[0, 1, 2, 3, 4, 5]]), gradient([[0, 5], [1, 2, 3, 4]]), rtol=0, atol=1e-6)


def test_a_network_that_agrees_with_itself_pays_nothing_for_it(settings: dict[str, Any], tmp_path: Path) -> None:
    from regard.data.batches import make_batch
    from regard.data.prepare import prepare
    from regard.models.build import build_translator
    from regard.training.loss import batch_loss

    config = parse_settings(settings)
    prepared = prepare(config.data, config.text, tmp_path / "c")
    size = len(prepared.tokenizers.source.vocabulary)
    network = build_translator(config.model, size, size, joint=True).double()
    once, twice = (make_batch(prepared.train, range(6), prepared.tokenizers, readings=n) for n in (1, 2))
    cpu = torch.device("cpu")

    def gradient(loss: torch.Tensor) -> torch.Tensor:
        return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(network.parameters()))])

    network.eval()  # without dropout both readings are one
    alone, both = batch_loss(network, once, 0.1, cpu), batch_loss(network, twice, 0.1, cpu, consistency=3.0)
    torch.testing.assert_close(alone, both)
    torch.testing.assert_close(gradient(alone[0]), gradient(both[0]))
    network.train()
    torch.manual_seed(0)
    free, _ = batch_loss(network, twice, 0.1, cpu, consistency=0.0)
    torch.manual_seed(0)
    bound, _ = batch_loss(network, twice, 0.1, cpu, consistency=3.0)
    assert bound > free


def test_the_second_reading_begins_where_it_is_told_to(settings: dict[str, Any], tmp_path: Path) -> None:
    run(settings, tmp_path / "once")
    run(settings, tmp_path / "late", consistency=2.0, consistency_from=0.5)
    once, late = (logged(tmp_path / which, "step") for which in ("once", "late"))
    same = [one["loss"] == other["loss"] for one, other in zip(once, late, strict=True)]
    assert same[:6] == [True] * 6
    assert not any(same[6:])


def test_early_stopping(settings: dict[str, Any], tmp_path: Path) -> None:
    """With a rate so small that BLEU never moves, the first validation stays the best, and three more end the run."""
    result, events = run(
        settings, tmp_path / "run", max_steps=200, validate_every=2, patience=3, learning_rate=1e-9, select="bleu"
    )
    validations = [event for event in events if isinstance(event, Validated)]
    assert result.reason == "patience"
    assert [(event.step, event.best) for event in validations] == [(2, True), (4, False), (6, False), (8, False)]


def test_minutes_bound_a_run_and_bring_the_rate_to_zero(settings: dict[str, Any], tmp_path: Path) -> None:
    unbounded = merged(settings, {"train": {"max_steps": None, "validate_every": 10_000, "save_every": 10_000}})
    result, _ = run(unbounded, tmp_path / "run", minutes=0.03)
    steps = logged(tmp_path / "run", "step")
    assert result.reason == "minutes"
    assert steps[-1]["seconds"] >= 1.8
    assert steps[-2]["seconds"] < 1.8
    assert steps[-1]["learning_rate"] < 0.2 * max(step["learning_rate"] for step in steps)
