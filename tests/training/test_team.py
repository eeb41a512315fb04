"""Several processes make the same step as one, every time the same, and end with their parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.data.batches import plan, split
from regard.data.prepare import prepare
from regard.errors import TrainError
from regard.settings import merged
from regard.tasks.run import train_run
from regard.tasks.settings import parse_settings
from regard.tasks.translate.objective import TranslateObjective
from regard.training.forked import ForkedTeam, team_size
from regard.training.loop import TrainingJob, training
from regard.training.objective import StepInfo
from regard.training.resume import resumed_job

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux only")


@pytest.fixture
def two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def job(settings: dict[str, Any], home: Path, **changes: Any) -> TrainingJob:
    config = parse_settings(merged(settings, {"model": {"dropout": 0.0}, "train": changes}))
    prepared = prepare(config.data, config.text, home / "corpora")
    return resumed_job(config, home / "run", TranslateObjective(config, prepared), torch.device("cpu"))[0]


def without_bpe_dropout(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings whose batches no process makes ahead."""
    return merged(settings, {"text": {"dropout": 0.0}})


def weights_after(job: TrainingJob, steps: int) -> tuple[dict[str, Tensor], list[tuple[float, float, int]]]:
    seen = []
    with job.team() as team:
        for step, examples in enumerate(batches(job)[:steps]):
            sums = team.gradient(StepInfo(step, 0, 1), [examples])
            norm = team.norm()
            team.update(1e-3, 1.0 / sums.tokens)
            seen.append((sums.loss, norm, sums.tokens))
    return {name: value.clone() for name, value in job.network.state_dict().items()}, seen


def batches(job: TrainingJob) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    corpus = job.objective.prepared.train
    return list(plan(corpus.source_lengths, corpus.target_lengths, 200, 1, 0))


@pytest.mark.parametrize("optimizer", ["muon", "adamw", "adam", "sgd"])
def test_two_make_the_steps_of_one(settings: dict[str, Any], tmp_path: Path, optimizer: str) -> None:
    alone = job(settings, tmp_path / "one", optimizer=optimizer)
    assert alone.workers == 1
    expected, losses = weights_after(alone, 3)
    torch.set_num_threads(2)
    try:
        together = job(settings, tmp_path / "two", optimizer=optimizer)
        assert together.workers == team_size(torch.device("cpu")) == 2
        found, their_losses = weights_after(together, 3)
        assert torch.get_num_threads() == 2  # what the rest of the program may use
    finally:
        torch.set_num_threads(1)
    for mine, theirs in zip(their_losses, losses, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-4)
    for name, value in expected.items():
        if not name.endswith(
            "key.bias"
        ):  # it moves no softmax, so its gradient is a rounding error that Adam makes a step of
            torch.testing.assert_close(found[name], value, rtol=0, atol=1e-4)
    memory, their_memory = alone.optimizer.tensors(), together.optimizer.tensors()
    assert memory.keys() == their_memory.keys()
    assert all(memory[name].shape == their_memory[name].shape for name in memory)
    assert any(value.abs().max() > 0 for value in their_memory.values()) or not memory  # seen here, though made there


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_the_gradients_of_two_are_those_of_one(settings: dict[str, Any], tmp_path: Path, kind: str) -> None:
    """Before any optimiser: in double precision the sum over the parts is the gradient of the whole."""
    if kind == "recurrent":
        settings["model"] = {"kind": "recurrent", "width": 16, "layers": 2}
    found = {}
    for workers in (1, 2):
        torch.set_num_threads(workers)
        run = job(settings, tmp_path / str(workers))
        assert run.workers == workers
        run.network.double()
        with run.team() as team:
            sums = team.gradient(StepInfo(0, 0, 1), [batches(run)[0]])
            norm = team.norm()
            gradients = [parameter.grad.clone() for parameter in run.network.parameters() if parameter.grad is not None]
        found[workers] = sums, norm, gradients
    (alone, norm, expected), (together, their_norm, gradients) = found[1], found[2]
    assert together.tokens == alone.tokens
    assert together.loss == pytest.approx(alone.loss, rel=1e-12)
    assert their_norm == pytest.approx(norm, rel=1e-10)
    for mine, theirs in zip(gradients, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("two_threads")
def test_twice_the_same_to_the_last_bit(settings: dict[str, Any], tmp_path: Path) -> None:
    dropping = merged(settings, {"model": {"dropout": 0.2}, "text": {"dropout": 0.1}})
    for name in ("a", "b"):
        train_run(parse_settings(dropping), tmp_path / name)
    logs = [(tmp_path / name / "log.jsonl").read_text(encoding="utf-8").splitlines() for name in ("a", "b")]
    losses = [[line.split('"nll"')[0].split('"loss"')[1] for line in log if '"event": "step"' in line] for log in logs]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 12


@pytest.mark.usefixtures("two_threads")
def test_interrupted_and_resumed_equals_uninterrupted(settings: dict[str, Any], tmp_path: Path) -> None:
    train_run(parse_settings(settings), tmp_path / "straight")

    def stop(event: Any) -> None:
        if event.name == "step" and event.step == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_run(parse_settings(settings), tmp_path / "broken", [stop])
    train_run(parse_settings(settings), tmp_path / "broken")
    last = "checkpoints/step-00000012"
    for name in ("model.safetensors", "optimiser.safetensors"):
        assert (tmp_path / "broken" / last / name).read_bytes() == (tmp_path / "straight" / last / name).read_bytes()


def test_parts_of_a_batch() -> None:
    lengths = np.array([9, 9, 9, 9, 9, 40])
    parts = split(np.arange(6), lengths, lengths, 2)
    assert [part.tolist() for part in parts] == [[0, 1, 2, 3, 4], [5]]
    assert sorted(part.tolist() for part in split(np.array([5]), lengths, lengths, 3)) == [[], [], [5]]
    every = split(np.arange(6), lengths, lengths, 4)
    assert np.concatenate(every).tolist() == list(range(6))


@pytest.mark.usefixtures("two_threads")
def test_fewer_examples_than_workers(settings: dict[str, Any], tmp_path: Path) -> None:
    lonely = job(settings, tmp_path)
    with lonely.team() as team:
        sums = team.gradient(StepInfo(0, 0, 1), [np.array([3])])
        assert sums.tokens == lonely.objective.prepared.train.target_lengths[3] + 1
        assert team.norm() > 0.0


@pytest.mark.usefixtures("two_threads")
def test_a_killed_process_is_named(settings: dict[str, Any], tmp_path: Path) -> None:
    before = children(os.getpid())  # such as a server that other tests share
    run = job(without_bpe_dropout(settings), tmp_path)
    steps = training(run, lambda: False)
    next(steps)
    (child,) = {*children(os.getpid())} - {*before}
    os.kill(child, signal.SIGKILL)
    with pytest.raises(TrainError, match="exit code -9"):
        for _ in steps:
            pass
    assert children(os.getpid()) == before


@pytest.mark.usefixtures("two_threads")
def test_a_mistake_in_a_process_is_told_here(settings: dict[str, Any], tmp_path: Path) -> None:
    run = job(settings, tmp_path)
    with run.team() as team, pytest.raises(IndexError):
        team.gradient(StepInfo(0, 0, 1), [np.array([0, -1])])


def test_no_process_is_left_behind(settings: dict[str, Any], tmp_path: Path) -> None:
    """A run that is killed takes its processes with it."""
    import json

    longer = merged(settings, {"train": {"max_steps": 5000, "validate_every": 5000, "save_every": 5000}})
    (tmp_path / "settings.json").write_text(json.dumps(longer), encoding="utf-8")
    code = (
        "import json, sys, torch; from pathlib import Path; torch.set_num_threads(2);"
        "from regard.tasks.settings import parse_settings; from regard.tasks.run import train_run;"
        "train_run(parse_settings(json.loads(Path(sys.argv[1]).read_text())), Path(sys.argv[2]))"
    )
    arguments = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "settings.json"), str(tmp_path / "run")]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE)
    log = tmp_path / "run/log.jsonl"
    assert eventually(lambda: log.exists() and '"event": "step"' in log.read_text(encoding="utf-8"))
    worker_and_preparer = children(process.pid)
    process.kill()
    _, said = process.communicate()
    assert said == b""
    assert len(worker_and_preparer) == 2
    for child in worker_and_preparer:
        assert eventually(lambda child=child: not Path(f"/proc/{child}").exists())


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def eventually(happens: Any, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if happens():
            return True
        time.sleep(0.02)
    return False


def test_one_alone_starts_no_process(settings: dict[str, Any], tmp_path: Path) -> None:
    before = children(os.getpid())
    with job(without_bpe_dropout(settings), tmp_path).team() as team:
        assert isinstance(team, ForkedTeam)
        assert children(os.getpid()) == before
