"""Batches made ahead are the batches that a worker would make, and a run never depends on who made them."""

import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.data.batches import Batch
from regard.data.prepare import prepare
from regard.tasks.settings import parse_settings
from regard.tasks.translate.objective import TranslateObjective
from regard.training import forked
from regard.training.ahead import Delivery, Preparer
from regard.training.forked import ForkedTeam
from regard.training.loop import TrainingJob, training
from regard.training.objective import StepInfo
from regard.training.resume import resumed_job
from training.runs import assert_same_run, run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux only")


def job(settings: dict[str, Any], home: Path) -> TrainingJob:
    config = parse_settings(settings)
    prepared = prepare(config.data, config.text, home / "corpora")
    return resumed_job(config, home / "run", TranslateObjective(config, prepared), torch.device("cpu"))[0]


def delivered(delivery: Delivery, info: StepInfo, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> Batch:
    """The batch, as soon as it has come."""
    delivery.take(StepInfo(-1, 0, 1), numbers)  # starts to receive, and drops nothing
    deadline = time.monotonic() + 60
    while not delivery._ready or delivery._ready[-1][0] < info.step:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    batch = delivery.take(info, numbers)
    assert batch is not None
    return batch


def same(one: Batch, other: Batch) -> bool:
    tensors = zip(
        (one.source, one.target_in, one.target_out), (other.source, other.target_in, other.target_out), strict=True
    )
    return all(torch.equal(a, b) for a, b in tensors) and (one.indices, one.tokens) == (other.indices, other.tokens)


def test_a_batch_made_ahead_is_the_batch(settings: dict[str, Any], tmp_path: Path) -> None:
    examples = job(settings, tmp_path).objective.examples
    batches = examples.plan(120, 1, 3)
    preparer = Preparer(examples, 1, 2)
    try:
        preparer.order(
            StepInfo(5, 3, 2), batches[:2]
        )  # gradients of two batches are accumulated; R-Drop reads each twice
        for number, delivery in enumerate(preparer.deliveries):
            for batch in batches[:2]:
                part = examples.split(batch, 2, 1, 3)[number]
                assert same(delivered(delivery, StepInfo(5, 3, 2), part), examples.batch(part, 1, 3, 2))
            assert (delivery.made_ahead, delivery.made_here) == (2, 2)
    finally:
        preparer.close()


def test_what_is_late_or_not_what_was_told_is_made_by_the_worker(settings: dict[str, Any], tmp_path: Path) -> None:
    examples = job(settings, tmp_path).objective.examples
    first, second, third = examples.plan(120, 1, 0)[:3]
    preparer = Preparer(examples, 1, 1)
    [delivery] = preparer.deliveries
    try:
        preparer.reached(1)
        preparer.order(StepInfo(1, 0, 1), [first])  # too late: it is not made
        preparer.order(StepInfo(2, 0, 1), [second])
        preparer.order(StepInfo(3, 0, 1), [third])
        preparer.order(StepInfo(3, 0, 1), [first])  # told before
        assert same(delivered(delivery, StepInfo(3, 0, 1), third), examples.batch(third, 1, 0))
        assert not delivery._ready  # that of step 2 was dropped, that of step 1 never made
        assert delivery.take(StepInfo(4, 0, 1), first) is None
        preparer.order(StepInfo(5, 0, 1), [first])
        delivered(delivery, StepInfo(5, 0, 1), first)
        preparer.order(StepInfo(6, 0, 1), [first])
        while not delivery._ready:
            time.sleep(0.01)
        assert delivery.take(StepInfo(6, 0, 2), first) is None  # read twice, which nobody knew
    finally:
        preparer.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_is_the_same_whoever_makes_its_batches(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    torch.set_num_threads(workers)
    try:
        run(settings, tmp_path / "ahead", consistency=1.0, consistency_from=0.5, accumulate=2)
        monkeypatch.setattr(forked, "_preparer", lambda workers: None)
        run(settings, tmp_path / "here", consistency=1.0, consistency_from=0.5, accumulate=2)
    finally:
        torch.set_num_threads(1)
    assert_same_run(tmp_path / "ahead", tmp_path / "here")


def test_a_run_goes_on_without_the_process_and_leaves_none(settings: dict[str, Any], tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "run").mkdir(parents=True)
    undisturbed, disturbed = job(settings, tmp_path / "one"), job(settings, tmp_path / "two")
    list(training(undisturbed, lambda: False))
    teams: list[ForkedTeam] = []

    def make(job: TrainingJob) -> ForkedTeam:
        teams.append(job.team())
        return teams[0]

    for event in training(disturbed, lambda: False, make):
        preparer = teams[0]._preparer
        assert preparer is not None
        if event.step == 3 and preparer._process.is_alive():
            preparer._process.kill()
            preparer._process.join()
    assert not multiprocessing.active_children()
    for one, other in zip(undisturbed.network.parameters(), disturbed.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_batches_that_are_quickly_made_are_not_made_ahead(settings: dict[str, Any], tmp_path: Path) -> None:
    with job({**settings, "text": {**settings["text"], "dropout": 0.0}}, tmp_path).team() as team:
        assert team.steps_ahead == 0
        assert not multiprocessing.active_children()
