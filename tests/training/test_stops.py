"""What stops a run: a full disk, a loss that is no number, a signal. It says so in one line, ends with the right code, and can go on."""

import errno
import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.data.batches import plan
from regard.errors import TrainError
from regard.tasks.load import load_served
from regard.tasks.translate.translator import Translator
from regard.training import run as run_module
from regard.training.checkpoint import checkpoint_name, newest_valid
from regard.training.loop import TrainingJob
from training.runs import (
    EVERYTHING,
    Child,
    Gate,
    Undisturbed,
    assert_same_run,
    command,
    kept,
    leftovers,
    logged,
    on_file_calls,
    on_step,
    pointed,
    run,
)

Start = Callable[[Callable[[], object]], Child]
BOTH = [signal.SIGINT, signal.SIGTERM]


def complaint(child: Child) -> str:
    """The last line of a command that failed as it should."""
    assert child.wait() == 2, child.said()
    assert "Traceback" not in child.said()
    complaints = [line for line in child.said().splitlines() if line.startswith("regard: ")]
    assert complaints == child.said().splitlines()[-1:]
    return complaints[0]


def finish(undisturbed: Undisturbed, tmp_path: Path, start: Start, **changes: Any) -> None:
    """The same command again ends the run as if nothing had been."""
    child = start(lambda: command(undisturbed.command(tmp_path, **changes)))
    assert child.wait() == 0, child.said()
    assert_same_run(tmp_path / "run", undisturbed.run(**changes))


@pytest.mark.parametrize("refused", ["model.safetensors", "optimiser.safetensors", "log.jsonl"])
def test_a_full_disk(undisturbed: Undisturbed, tmp_path: Path, start: Start, refused: str) -> None:
    """The system lets no file grow to the size of this one: what was there is intact, and with space the run ends as any other."""
    out = undisturbed.copy_stopped(tmp_path / "run", 7)
    held, written = (out, "log.jsonl") if refused == "log.jsonl" else (out / checkpoint_name(6), checkpoint_name(9))
    limit = (held / refused).stat().st_size + (100 if refused == "log.jsonl" else -1)

    def train() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        command(undisturbed.command(tmp_path))

    line = complaint(start(train))
    assert line.endswith("no space left to write; free some space and run the same command again")
    assert str(out / written) in line
    assert kept(out) == [f"step-0000000{step}" for step in (3, 5, 6)]
    assert newest_valid(out) == (checkpoint_name(6), [])
    assert load_served(out).translate(["ab"], beam=1)
    assert leftovers(out) == []
    finish(undisturbed, tmp_path, start)


def test_a_full_disk_that_only_another_thread_meets(undisturbed: Undisturbed, tmp_path: Path, start: Start) -> None:
    """TensorBoard writes in a thread of its own, whose traceback nobody asked for."""
    records = pytest.importorskip("tensorboard.summary.writer.record_writer")
    undisturbed.run()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def train() -> None:
        records.RecordWriter.write = full
        command(undisturbed.command(tmp_path))

    assert "tensorboard: no space left" in complaint(start(train))
    finish(undisturbed, tmp_path, start)


def captured_job(monkeypatch: pytest.MonkeyPatch) -> list[TrainingJob]:
    """The jobs of the runs to come, to look into them."""
    jobs: list[TrainingJob] = []
    whole = run_module.resumed_job

    def resumed_job(*arguments: Any) -> tuple[TrainingJob, tuple[str, ...]]:
        job, notes = whole(*arguments)
        jobs.append(job)
        return job, notes

    monkeypatch.setattr(run_module, "resumed_job", resumed_job)
    return jobs


def everything_of(job: TrainingJob) -> dict[str, Tensor]:
    """Weights, moving average and the optimiser's memory."""
    assert job.average is not None
    parts = {
        "weights": job.network.state_dict(),
        "average": job.average.weights,
        "optimiser": job.optimizer.tensors(),
    }
    return {f"{part} {name}": value.clone() for part, values in parts.items() for name, value in values.items()}


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("where", ["gradient", "loss"])
def test_what_is_no_number_changes_nothing(
    undisturbed: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, value: float
) -> None:
    """Injected into one gradient, or into the embeddings and so into the loss, of step 4."""
    jobs = captured_job(monkeypatch)
    before: dict[str, Tensor] = {}

    def inject() -> None:
        (job,) = jobs
        before.update(everything_of(job))
        if where == "gradient":
            next(p for p in job.network.parameters() if p.dim() == 2).register_hook(lambda gradient: gradient * value)
        else:
            embedding = next(module for module in job.network.modules() if isinstance(module, nn.Embedding))
            embedding.register_forward_hook(lambda module, given, output: output * value)

    with pytest.raises(TrainError) as raised:
        run(undisturbed.settings, tmp_path / "run", on_step(3, inject), **EVERYTHING)
    message, (job,) = str(raised.value), jobs
    assert message.startswith("step 4: loss ")
    assert re.search(r"loss \d" if where == "gradient" else r"loss nan", message)
    assert re.search(r"gradient norm (nan|inf), ", message)
    assert f"on training lines {first_lines(job, step=4)}, ..;" in message
    assert "\n" not in message
    after = everything_of(job)
    assert [name for name in before if not torch.equal(before[name], after[name])] == []
    assert before.keys() == after.keys()
    assert newest_valid(tmp_path / "run") == (checkpoint_name(3), [])
    assert load_served(tmp_path / "run").translate(["ab"], beam=1)
    run(undisturbed.settings, tmp_path / "run", **EVERYTHING)
    assert_same_run(tmp_path / "run", undisturbed.run(**EVERYTHING))


def first_lines(job: TrainingJob, step: int) -> str:
    """The first five training lines of a step of the first epoch."""
    corpus, config = job.objective.prepared.train, job.settings.train
    batches = plan(corpus.source_lengths, corpus.target_lengths, config.batch_tokens, config.seed, epoch=0)
    chosen = batches[(step - 1) * config.accumulate : step * config.accumulate]
    assert len(chosen) == config.accumulate
    return ", ".join(str(corpus.lines[index]) for index in [index for batch in chosen for index in batch][:5])


def test_an_explosion(undisturbed: Undisturbed, tmp_path: Path, start: Start) -> None:
    """A learning rate of 1e20: the command names the step, its lines and the setting; every checkpoint can still be read."""
    changes = {"learning_rate": 1e20, "warmup": 0, "validate_every": 100, "save_every": 1}
    child = start(lambda: command(undisturbed.command(tmp_path, **changes)))
    line = complaint(child)
    assert re.search(
        r"step 2: loss nan, gradient norm nan, on training lines \d+, .*train\.learning_rate \(1e\+20\)", line
    )
    assert [record["step"] for record in logged(tmp_path / "run", "step")] == [1]
    assert newest_valid(tmp_path / "run") == (checkpoint_name(1), [])
    load_served(tmp_path / "run")
    again = start(lambda: command(undisturbed.command(tmp_path, **changes)))
    assert complaint(again) == line


def gated(undisturbed: Undisturbed, tmp_path: Path, gate: Gate, moment: str) -> None:
    """For a child: the command, which waits at a moment."""
    from regard.cli.progress import TrainingProgress
    from regard.training.events import Step

    def waiting(function: Callable[..., Any], when: Callable[..., bool] = lambda *_: True) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if when(*arguments):
                gate.wait()
            return function(*arguments, **options)

        return call

    if moment == "preparation":
        os.environ["REGARD_CACHE"] = str(tmp_path / "fresh")
        on_file_calls(tmp_path / "fresh", lambda call, path: gate.wait() if ".partial-" in path else None)
    elif moment == "step":
        TrainingProgress.__call__ = waiting(  # type: ignore[method-assign]
            TrainingProgress.__call__, lambda _, event: isinstance(event, Step) and event.step == 4
        )
    elif moment == "validation":
        Translator.translate = waiting(Translator.translate)  # type: ignore[method-assign]
    elif moment == "save":
        on_file_calls(
            tmp_path / "run", lambda call, path: gate.wait() if call == "os.rename" and "step-" in path else None
        )
    else:
        assert moment == "final evaluation"
        Translator.score = waiting(Translator.score)  # type: ignore[method-assign]
    command(undisturbed.command(tmp_path))


@pytest.mark.parametrize(
    ("moment", "step", "number"),
    [
        ("step", 4, signal.SIGINT),
        ("step", 4, signal.SIGTERM),
        ("validation", 5, signal.SIGINT),
        ("save", 3, signal.SIGTERM),
    ],
)
def test_a_signal_saves_and_stops(
    undisturbed: Undisturbed, tmp_path: Path, start: Start, moment: str, step: int, number: signal.Signals
) -> None:
    """Whatever the run is doing comes to its end first; then it saves and goes, with the code of the signal."""
    undisturbed.run()  # also imports what a run needs, before the fork
    gate = Gate(tmp_path)
    child = start(lambda: gated(undisturbed, tmp_path, gate, moment))
    gate.reached(child)
    child.send(number)
    gate.open()
    assert child.wait() == 128 + number, child.said()
    out = tmp_path / "run"
    assert child.said().splitlines()[-1] == (
        f"interrupted; everything is saved in {out}: run the same command again to go on, or regard resume {out}"
    )
    assert "Traceback" not in child.said()
    assert pointed(out, "latest") == checkpoint_name(step)
    assert newest_valid(out) == (checkpoint_name(step), [])
    assert [record["reason"] for record in logged(out, "stopped")] == ["interrupted"]
    finish(undisturbed, tmp_path, start)


@pytest.mark.parametrize(
    ("moment", "step", "number"),
    [
        ("step", 3, signal.SIGTERM),
        ("validation", 3, signal.SIGINT),
        ("validation", 3, signal.SIGTERM),
        ("save", None, signal.SIGINT),
    ],
)
def test_a_second_signal_ends_the_run_at_once(
    undisturbed: Undisturbed, tmp_path: Path, start: Start, moment: str, step: int | None, number: signal.Signals
) -> None:
    """What it was doing never comes to its end: only the last checkpoint is there."""
    undisturbed.run()
    gate = Gate(tmp_path)
    child = start(lambda: gated(undisturbed, tmp_path, gate, moment))
    gate.reached(child)
    while child.alive:  # signals that arrive together count as one
        child.send(number)
        time.sleep(0.02)
    assert child.wait() == 128 + number
    assert "Traceback" not in child.said()
    assert "ended at once: the steps since the last checkpoint are lost" in child.said()
    assert newest_valid(tmp_path / "run") == (None if step is None else checkpoint_name(step), [])
    gate.open()
    finish(undisturbed, tmp_path, start)


def test_a_signal_during_validation_is_answered_before_its_end(
    undisturbed: Undisturbed, tmp_path: Path, start: Start
) -> None:
    undisturbed.run()
    gate = Gate(tmp_path)
    child = start(lambda: gated(undisturbed, tmp_path, gate, "validation"))
    gate.reached(child)
    child.send(signal.SIGINT)
    told = "stopping after this validation; Ctrl-C again stops now"
    while told not in child.said():  # it waits at the gate, in the validation
        assert child.alive, child.said()
        time.sleep(0.01)
    gate.open()
    assert child.wait() == 130, child.said()
    assert child.said().count(told) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
@pytest.mark.parametrize("moment", ["preparation", "final evaluation"])
def test_a_signal_before_and_after_the_steps(
    undisturbed: Undisturbed, tmp_path: Path, start: Start, moment: str, number: signal.Signals, code: int
) -> None:
    """There is nothing to save, so the first one ends the run at once."""
    undisturbed.run()
    gate = Gate(tmp_path)
    child = start(lambda: gated(undisturbed, tmp_path, gate, moment))
    gate.reached(child)
    child.send(number)
    assert child.wait() == code
    assert "Traceback" not in child.said()
    assert (tmp_path / "run/checkpoints").exists() == (moment == "final evaluation")
    if number == signal.SIGINT:
        [kept] = [line for line in child.said().splitlines() if line.startswith("interrupted ")]
        if moment == "final evaluation":
            assert f"the trained model is kept in {tmp_path / 'run'}" in kept
            assert f"`regard resume {tmp_path / 'run'}` makes the evaluation" in kept
        else:
            assert "before training began" in kept
        assert leftovers(tmp_path) == []
        assert (tmp_path / "run").exists() == (moment == "final evaluation")
    finish(undisturbed, tmp_path, start)


def test_the_command_in_its_own_interpreter(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """The installed command, from its start: stopped by one signal, resumed, stopped by the other."""
    regard = Path(sys.executable).parent / "regard"
    arguments = [str(regard), *undisturbed.command(tmp_path, max_steps=100_000, validate_every=100_000)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    out = tmp_path / "run"
    reached = 0
    for number in BOTH:
        process = subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and last_step(out) < reached + 3:
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate()
        assert process.returncode == 128 + number, err
        assert "everything is saved" in err
        assert "Traceback" not in err
        assert ("resumed after step" in err) == (reached > 0)
        assert newest_valid(out) == (checkpoint_name(last_step(out)), [])
        reached = last_step(out)


def last_step(out: Path) -> int:
    """The last step that the log tells of; the line that is being written does not count."""
    if not (out / "log.jsonl").exists():
        return 0
    lines = (out / "log.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return max((json.loads(line)["step"] for line in lines), default=0)
