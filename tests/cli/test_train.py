"""`regard train` from a base model, and with too few steps, as a user sees it."""

import json
from pathlib import Path

import pytest

from cli.conftest import SMALL, Command


def test_fine_tuning_shows_its_base_and_says_when_nothing_beat_it(
    command: Command, small_run: Path, tmp_path: Path
) -> None:
    def further(name: str, rate: float) -> tuple[str, str]:
        sets = ("train.max_steps=4", "train.batch_tokens=256", f"train.learning_rate={rate}", "train.select=loss")
        options = [part for value in ("data.pocket=60", *sets) for part in ("--set", value)]
        result = command("train", "--start", small_run, "--out", tmp_path / name, *options)
        assert result.code == 0, result.err
        return result.err, json.loads((tmp_path / name / "metrics.json").read_text(encoding="utf-8"))["model"]

    harmed, model = further("harmed", 3.0)
    assert "the base: validation loss" in harmed
    kept = (
        f"no validation was better than that of the base, by loss: {tmp_path / 'harmed'} serves a copy of {small_run}"
    )
    assert kept in harmed.splitlines()
    assert model == "checkpoints/step-00000000"
    again, _ = further("harmed", 3.0)  # it is finished, and says so again
    assert kept in again.splitlines()
    better, model = further("better", 1e-3)
    assert "no validation was better" not in better
    assert model == "checkpoints/step-00000004"


@pytest.mark.parametrize(
    ("sets", "steps"),
    [
        (["train.max_epochs=5"], "10 steps (5 epochs of 2)"),
        (["train.max_epochs=2.5"], "5 steps (2.5 epochs of 2)"),
        (["train.max_epochs=3", "train.accumulate=2"], "3 steps (3 epochs of 1)"),
        (["train.max_epochs=60"], None),
        (["train.max_steps=3"], None),
    ],
)
def test_a_run_of_few_steps_says_so_and_how_to_have_more(
    command: Command, tmp_path: Path, sets: list[str], steps: str | None
) -> None:
    lines = "".join(f"{'fine' if n % 2 else 'dull'} film {n % 7}\t{'good' if n % 2 else 'bad'}\n" for n in range(300))
    (tmp_path / "reviews.tsv").write_text(lines, encoding="utf-8")
    options = [part for value in ["text.kind=word", "model.kind=bag", *sets] for part in ("--set", value)]
    result = command(
        "train", "--task", "classify", "--data", tmp_path / "reviews.tsv", "--out", tmp_path / "run", *options
    )
    assert result.code == 0, result.err
    notes = [line for line in result.err.splitlines() if line.startswith("note: this run has only")]
    if steps is None:
        assert notes == []
    else:
        [note] = notes
        assert note.startswith(f"note: this run has only {steps}, ")
        assert "; raise train.max_epochs (" in note
        assert note.endswith("or lower train.batch_tokens (1024)")
        done = json.loads((tmp_path / "run/metrics.json").read_text(encoding="utf-8"))["steps"]
        assert done == int(steps.split()[0])


def test_a_time_limit_that_cuts_the_steps_says_so_and_what_to_give(command: Command, tmp_path: Path) -> None:
    """So it is with `regard demo` on a machine that is too slow: its limits are the same two settings."""
    out = tmp_path / "run"
    limits = ("--set", "train.max_steps=100000", "--set", "train.minutes=0.0001")
    cut = command("demo", "--out", out, *SMALL, *limits)
    assert cut.code == 0, cut.err
    steps = json.loads((out / "metrics.json").read_text(encoding="utf-8"))["steps"]
    [note] = [line for line in cut.err.splitlines() if "ended this run" in line]
    assert f"(train.minutes = 0.0001) ended this run after {steps:,} of its 100,000 steps" in note
    more = note.rpartition("--set train.minutes=")[2]
    assert float(more) > 0.0001 * 100_000 / steps
    again = command("demo", "--out", out, *SMALL, *limits)  # it is finished, and says so again
    assert note in again.err.splitlines()


def test_a_run_that_ends_by_its_steps_says_nothing_of_its_time(command: Command, tmp_path: Path) -> None:
    done = command("train", "--out", tmp_path / "run", *SMALL, "--set", "train.minutes=60")
    assert done.code == 0, done.err
    assert "ended this run" not in done.err


@pytest.mark.parametrize(
    ("sets", "told"),
    [(["model.score=additive"], True), (["model.score=additive", "model.positions=sinusoidal"], False), ([], False)],
)
def test_positions_that_the_score_decides_are_told(
    command: Command, tmp_path: Path, sets: list[str], told: bool
) -> None:
    options = [part for value in [*sets, "train.max_steps=1"] for part in ("--set", value)]
    result = command("train", "--out", tmp_path / "run", *SMALL, *options)
    assert result.code == 0, result.err
    note = "note: model.positions = 'sinusoidal', not 'rotary': model.score 'additive' does not read rotary positions"
    assert any(line.startswith(note) for line in result.err.splitlines()) == told
    assert "(best so far, by " in result.err


def test_time_beyond_the_minutes_is_announced(command: Command, tmp_path: Path) -> None:
    result = command("train", "--out", tmp_path / "run", *SMALL, "--set", "train.minutes=0.0001")
    assert "evaluating the best checkpoint, which the limit of minutes does not count .." in result.err.splitlines()
