"""A run: what it leaves, how it resumes, and what it refuses."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from regard.engine.load import load
from regard.errors import DataError, DiskError, TrainError
from regard.settings import merged
from regard.train.config import RunConfig
from regard.train.events import Event, Saved, Step, Stopped, Validated
from regard.train.run import Run, train_run


def run(settings: dict[str, Any], out: Path, **changes: Any) -> tuple[Run, list[Event]]:
    events: list[Event] = []
    result = train_run(RunConfig.parse(merged(settings, {"train": changes})), out, [events.append])
    return result, events


def logged(out: Path, name: str) -> list[dict[str, Any]]:
    lines = (out / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["event"] == name]


def losses(out: Path) -> dict[int, tuple[str, str, str]]:
    """Loss, gradient norm and learning rate of every step, to the last bit."""
    return {
        step["step"]: (step["loss"].hex(), step["gradient_norm"].hex(), step["learning_rate"].hex())
        for step in logged(out, "step")
    }


def same_weights(one: Path, other: Path) -> bool:
    for name in ("model.safetensors", "optimiser.safetensors"):
        mine, theirs = load_file(one / name), load_file(other / name)
        if mine.keys() != theirs.keys() or any(not torch.equal(mine[key], theirs[key]) for key in mine):
            return False
    return True


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
    assert (tmp_path / "run/latest").read_text(encoding="utf-8").strip() == "checkpoints/step-00000012"
    assert load(tmp_path / "run").translate(["ab cd"], beam=1)[0].source == "ab cd"
    kept = sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir())
    best = Path((tmp_path / "run/best").read_text(encoding="utf-8").strip()).name
    assert {"step-00000012", best} <= set(kept)
    assert len(kept) <= 3  # the newest two, and the best


def test_it_learns(settings: dict[str, Any], tmp_path: Path) -> None:
    easy = merged(settings, {"text": {"dropout": 0.0}, "model": {"dropout": 0.0, "width": 32, "feed_forward": 64}})
    run(
        easy, tmp_path / "run", max_steps=150, validate_every=150, save_every=150, batch_tokens=400, label_smoothing=0.0
    )
    steps = logged(tmp_path / "run", "step")
    assert steps[0]["nll"] > math.log(200)
    assert steps[-1]["nll"] < 0.5 * steps[0]["nll"]
    assert steps[-1]["learning_rate"] < 0.02 * max(step["learning_rate"] for step in steps)


@pytest.mark.parametrize("extra", [{}, {"optimizer": "adamw", "ema": 0.9, "accumulate": 2, "schedule": "inverse_sqrt"}])
def test_interrupted_and_resumed_equals_uninterrupted(
    settings: dict[str, Any], tmp_path: Path, extra: dict[str, Any]
) -> None:
    run(settings, tmp_path / "straight", **extra)

    class InterruptionError(Exception):
        pass

    for stop_at in (4, 7, 11):  # not at a checkpoint: the steps after the last one are lost and repeated

        def stop(event: Event, at: int = stop_at) -> None:
            if isinstance(event, Step) and event.step == at:
                raise InterruptionError

        with pytest.raises(InterruptionError):
            train_run(RunConfig.parse(merged(settings, {"train": extra})), tmp_path / "broken", [stop])
    result, _ = run(settings, tmp_path / "broken", **extra)
    assert result.reason == "max_steps"
    assert losses(tmp_path / "broken") == losses(tmp_path / "straight")
    last = "checkpoints/step-00000012"
    assert same_weights(tmp_path / "broken" / last, tmp_path / "straight" / last)


def test_sigkill_in_the_middle(settings: dict[str, Any], tmp_path: Path) -> None:
    """A separate process, killed without warning and started again, as a user would."""
    longer = merged(settings, {"train": {"max_steps": 60, "validate_every": 40, "save_every": 4}})
    (tmp_path / "settings.json").write_text(json.dumps(longer), encoding="utf-8")
    code = (
        "import json, sys, torch; from pathlib import Path; torch.set_num_threads(1);"
        "from regard.train.config import RunConfig; from regard.train.run import train_run;"
        "train_run(RunConfig.parse(json.loads(Path(sys.argv[1]).read_text())), Path(sys.argv[2]))"
    )

    def start(out: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "settings.json"), str(tmp_path / out)]
        )

    assert start("straight").wait(timeout=120) == 0
    for step in (9, 30):
        process = start("broken")
        deadline = time.monotonic() + 120
        log = tmp_path / "broken/log.jsonl"
        while process.poll() is None and time.monotonic() < deadline:
            if log.exists() and f'"step": {step},' in log.read_text(encoding="utf-8", errors="replace"):
                os.kill(process.pid, signal.SIGKILL)
                break
        assert process.wait(timeout=60) == -signal.SIGKILL
    assert start("broken").wait(timeout=120) == 0
    assert losses(tmp_path / "broken") == losses(tmp_path / "straight")
    last = "checkpoints/step-00000060"
    assert same_weights(tmp_path / "broken" / last, tmp_path / "straight" / last)


def test_sigterm_saves_and_stops(settings: dict[str, Any], tmp_path: Path) -> None:
    def ask(event: Event) -> None:
        if isinstance(event, Step) and event.step == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    result = train_run(RunConfig.parse(settings), tmp_path / "run", [ask])
    assert result.reason == "interrupted"
    assert result.metrics is None
    assert (tmp_path / "run/latest").read_text(encoding="utf-8").strip() == "checkpoints/step-00000004"
    resumed, events = run(settings, tmp_path / "run")
    assert resumed.reason == "max_steps"
    assert next(event.step for event in events if isinstance(event, Step)) == 5
    run(settings, tmp_path / "straight")
    assert losses(tmp_path / "run") == losses(tmp_path / "straight")
    names = [sorted(path.name for path in (tmp_path / out / "checkpoints").iterdir()) for out in ("run", "straight")]
    assert names[0] == names[1]  # the checkpoint of the interruption is gone


def test_a_mistake_does_not_spoil_the_directory(settings: dict[str, Any], tmp_path: Path) -> None:
    wrong = merged(settings, {"data": {"src": str(tmp_path / "nowhere.xx")}})
    with pytest.raises(DataError, match="nowhere"):
        run(wrong, tmp_path / "run")
    assert run(settings, tmp_path / "run")[0].reason == "max_steps"


def test_a_damaged_best_is_replaced(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train_run(RunConfig.parse(settings), tmp_path / "run", [_stop_after(7)])
    best = tmp_path / "run" / (tmp_path / "run/best").read_text(encoding="utf-8").strip()
    (best / "model.safetensors").write_bytes(b"")
    result, events = run(settings, tmp_path / "run")
    assert "best so far" in events[0].notes[0]  # type: ignore[attr-defined]
    assert result.metrics is not None


def test_no_usable_checkpoint_is_not_a_fresh_start(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train_run(RunConfig.parse(settings), tmp_path / "run", [_stop_after(7)])
    for checkpoint in (tmp_path / "run/checkpoints").iterdir():
        (checkpoint / "state.json").write_text("", encoding="utf-8")
    before = (tmp_path / "run/log.jsonl").read_bytes()
    with pytest.raises(TrainError, match="no checkpoint can be used"):
        run(settings, tmp_path / "run")
    assert (tmp_path / "run/log.jsonl").read_bytes() == before


def test_killed_while_saving(settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Death between the write, the syncs, the rename and the pointer of a save: the run goes on as if nothing had been."""
    from regard import files

    class DeathError(BaseException):
        pass

    run(settings, tmp_path / "straight")
    sync, deaths = files.sync, 0
    for deadly in (1, 2, 4, 7, 10, 11, 12, 13, 14, 15):
        calls = iter(range(1, 10_000))

        def dying(path: Path, calls: Any = calls, deadly: int = deadly) -> None:
            if next(calls) == deadly:
                raise DeathError
            sync(path)

        monkeypatch.setattr(files, "sync", dying)
        try:
            run(settings, tmp_path / "broken")
        except DeathError:
            deaths += 1
    assert deaths >= 6
    monkeypatch.setattr(files, "sync", sync)
    run(settings, tmp_path / "broken")
    assert losses(tmp_path / "broken") == losses(tmp_path / "straight")
    last = "checkpoints/step-00000012"
    assert same_weights(tmp_path / "broken" / last, tmp_path / "straight" / last)


def test_a_finished_run_says_so_and_changed_settings_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    run(settings, tmp_path / "run")
    again, events = run(settings, tmp_path / "run")
    assert (again.reason, events) == ("finished", [])
    assert again.metrics is not None
    with pytest.raises(TrainError, match=r"train\.max_steps: 12 -> 13"):
        run(settings, tmp_path / "run", max_steps=13)


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(settings: dict[str, Any], tmp_path: Path) -> None:
    run(settings, tmp_path / "straight")
    with pytest.raises(KeyboardInterrupt):
        train_run(RunConfig.parse(settings), tmp_path / "run", [_stop_after(7)])
    weights = tmp_path / "run/checkpoints/step-00000006/model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    _, events = run(settings, tmp_path / "run")
    assert "step-00000006/model.safetensors" in events[0].notes[0]  # type: ignore[attr-defined]
    assert next(event.step for event in events if isinstance(event, Step)) == 6  # from the checkpoint of step 5
    assert losses(tmp_path / "run") == losses(tmp_path / "straight")


def test_an_explosion_is_named(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(TrainError, match=r"step \d+: loss .* on training lines \d+.*learning_rate"):
        run(settings, tmp_path / "run", learning_rate=1e20, optimizer="sgd", warmup=0, clip=0.0)


def test_a_gradient_that_is_no_number_leaves_the_weights_alone(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.train import worker as loop

    seen: list[dict[str, torch.Tensor]] = []
    sound = loop.batch_loss

    def broken(network: Any, *arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
        loss, nll = sound(network, *arguments)
        seen.append({name: value.clone() for name, value in network.state_dict().items()})
        networks.append(network)
        return (loss * float("nan") if len(seen) == 3 else loss), nll

    networks: list[Any] = []
    monkeypatch.setattr(loop, "batch_loss", broken)
    with pytest.raises(TrainError, match="step 3: loss nan"):
        run(settings, tmp_path / "run")
    after = networks[-1].state_dict()
    assert all(torch.equal(value, after[name]) for name, value in seen[-1].items())


def test_changed_data_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train_run(RunConfig.parse(settings), tmp_path / "run", [_stop_after(7)])
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


def test_two_processes_may_not_share_a_run(settings: dict[str, Any], tmp_path: Path) -> None:
    def intrude(event: Event) -> None:
        if isinstance(event, Step) and event.step == 2:
            with pytest.raises(TrainError, match="another process"):
                run(settings, tmp_path / "run")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_run(RunConfig.parse(settings), tmp_path / "run", [intrude])


def test_a_full_disk_keeps_the_last_checkpoint(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    from regard.train import checkpoint

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill_the_disk(event: Event) -> None:
        if isinstance(event, Saved) and event.step == 5:
            monkeypatch.setattr(checkpoint, "write_tensors", full)

    with pytest.raises(DiskError, match="no space left"):
        train_run(RunConfig.parse(settings), tmp_path / "run", [fill_the_disk])
    monkeypatch.undo()
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    assert load(tmp_path / "run").translate(["ab"], beam=1)
    assert not list((tmp_path / "run/checkpoints").glob("*partial*"))
    resumed, events = run(settings, tmp_path / "run")
    assert resumed.reason == "max_steps"
    assert next(event.step for event in events if isinstance(event, Step)) == 6


def test_accumulation_equals_one_large_batch(settings: dict[str, Any], tmp_path: Path) -> None:
    """Gradients of two half batches, normalised by their joint token count, are those of the whole."""
    from regard.data.batches import make_batch
    from regard.data.prepare import prepare
    from regard.models.build import build_model
    from regard.train.loss import batch_loss

    config = RunConfig.parse(settings)
    prepared = prepare(config.data, config.text, tmp_path / "c")
    size = len(prepared.tokenizers.source.vocabulary)
    network = build_model(config.model, size, size, joint=True).double().eval()
    cpu = torch.device("cpu")

    def gradient(parts: list[list[int]]) -> torch.Tensor:
        network.zero_grad()
        batches = [make_batch(prepared.train, part, prepared.tokenizers) for part in parts]
        total = sum(batch.tokens for batch in batches)
        for batch in batches:
            (batch_loss(network, batch, 0.1, cpu)[0] / total).backward()
        return torch.cat([parameter.grad.flatten() for parameter in network.parameters()])

    torch.testing.assert_close(gradient([[0, 1, 2, 3, 4, 5]]), gradient([[0, 5], [1, 2, 3, 4]]), rtol=0, atol=1e-6)


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


def _stop_after(step: int) -> Any:
    def listener(event: Event) -> None:
        if isinstance(event, Step) and event.step == step:
            raise KeyboardInterrupt

    return listener
