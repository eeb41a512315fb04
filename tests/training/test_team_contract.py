"""The contract of every team: the steps of several are the steps of one, a stop is agreed, a failure ends all, and only the first saves.

It is held to the processes of one machine, and to two members of one process that each run the loop, as those of several machines will.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.prepare import prepare
from regard.settings import merged
from regard.tasks.settings import parse_settings
from regard.tasks.translate.objective import TranslateObjective
from regard.training.events import Event, Saved, Step, Stopped, Validated
from regard.training.loop import TrainingJob, training
from regard.training.resume import resumed_job
from training.paired import Meeting, PairedTeam


@dataclass
class Member:
    """How one member's loop went; of processes that do as they are told, there is one loop."""

    events: list[Event] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    failure: BaseException | None = None


Interrupted = Callable[[int, int], bool]  # (member, steps so far) -> whether it asks for a stop


def job_of(settings: dict[str, Any], home: Path) -> TrainingJob:
    changes = {"text": {"dropout": 0.0}, "model": {"dropout": 0.0}, "train": {"optimizer": "adamw", "max_steps": 6}}
    config = parse_settings(merged(settings, changes))
    prepared = prepare(config.data, config.text, home / "corpora")
    (home / "run").mkdir(parents=True, exist_ok=True)
    return resumed_job(config, home / "run", TranslateObjective(config, prepared), torch.device("cpu"))[0]


def follow(member: Member, number: int, job: TrainingJob, interrupted: Interrupted, make_team: Any) -> None:
    def asked() -> bool:
        return interrupted(number, member.events[-1].step if member.events else 0)

    try:
        for event in training(job, asked, make_team):
            member.events.append(event)
    except BaseException as error:
        member.failure = error
    member.weights = {name: value.clone() for name, value in job.network.state_dict().items()}


def forked(
    settings: dict[str, Any], home: Path, interrupted: Interrupted, spoil: Callable[[TrainingJob, int], None]
) -> list[Member]:
    torch.set_num_threads(2)
    try:
        job = job_of(settings, home)
        assert job.workers == 2
        spoil(job, 0)
        member = Member()
        follow(member, 0, job, interrupted, TrainingJob.team)
    finally:
        torch.set_num_threads(1)
    return [member]


def paired(
    settings: dict[str, Any], home: Path, interrupted: Interrupted, spoil: Callable[[TrainingJob, int], None]
) -> list[Member]:
    meeting, members, threads = Meeting(), [Member(), Member()], []
    jobs = [job_of(settings, home / str(number)) for number in range(2)]
    for number, (member, job) in enumerate(zip(members, jobs, strict=True)):
        spoil(job, number)

        def make_team(job: TrainingJob, number: int = number) -> PairedTeam:
            return PairedTeam(meeting, number, job)

        threads.append(threading.Thread(target=follow, args=(member, number, job, interrupted, make_team)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return members


TEAMS = {"forked": forked, "paired": paired}


def never(member: int, steps: int) -> bool:
    return False


def untouched(job: TrainingJob, member: int) -> None:
    """The job as it is."""


@pytest.fixture(params=TEAMS)
def team(request: pytest.FixtureRequest) -> Callable[..., list[Member]]:
    return TEAMS[request.param]


def lone(settings: dict[str, Any], home: Path) -> Member:
    member = Member()
    follow(member, 0, job_of(settings, home), never, TrainingJob.team)
    return member


def test_the_steps_of_several_are_those_of_one(team: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    alone, members = lone(settings, tmp_path / "one"), team(settings, tmp_path / "several", never, untouched)
    for member in members:
        assert member.failure is None
        mine, theirs = ([event.loss for event in one.events if isinstance(event, Step)] for one in (alone, member))
        assert theirs == pytest.approx(mine, rel=1e-3)
        assert member.weights.keys() == alone.weights.keys()
        for name, value in member.weights.items():
            assert torch.equal(value, members[0].weights[name]), name  # all members have the same weights
            if not name.endswith("key.bias"):  # its gradient is a rounding error that Adam makes a step of
                torch.testing.assert_close(value, alone.weights[name], rtol=0, atol=1e-3)


def test_the_same_team_makes_the_same_run_to_the_last_bit(team: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    first, second = (team(settings, tmp_path / name, never, untouched)[0] for name in "ab")
    assert all(torch.equal(first.weights[name], second.weights[name]) for name in first.weights)


def test_only_the_first_saves_and_all_know_the_best(team: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    members = team(settings, tmp_path, never, untouched)
    saved = [[event for event in member.events if isinstance(event, Saved)] for member in members]
    assert saved[0]
    assert not any(saved[1:])
    best = [[event.best for event in member.events if isinstance(event, Validated)] for member in members]
    assert best[0]
    assert all(flags == best[0] for flags in best)


@pytest.mark.parametrize("who", [0, 1])
def test_a_stop_that_any_member_asks_for_is_agreed(
    who: int, team: Any, settings: dict[str, Any], tmp_path: Path
) -> None:
    if team is forked and who:
        pytest.skip("the processes of one machine leave signals to the first")
    members = team(settings, tmp_path, lambda member, steps: member == who and steps >= 3, untouched)
    for member in members:
        assert isinstance(member.events[-1], Stopped)
        assert (member.events[-1].step, member.events[-1].reason) == (3, "interrupted")


def test_the_failure_of_one_ends_all(team: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    def spoil(job: TrainingJob, member: int) -> None:
        if member == 0:
            original, calls = job.objective.loss, []

            def loss(network: Any, batch: Any, step: Any) -> Any:
                calls.append(step)
                if step.step == 2:
                    raise ValueError("spoilt")
                return original(network, batch, step)

            job.objective.loss = loss  # type: ignore[method-assign]

    members = team(settings, tmp_path, never, spoil)
    assert all(member.failure is not None for member in members)
    assert any("spoilt" in str(member.failure) for member in members)
