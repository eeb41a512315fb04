"""What SIGKILL costs a run: small runs are killed at random moments and started again, and compared with runs that nobody killed.

    python benchmarks/faults.py --rounds 100

A round starts the run and kills it at a moment drawn evenly from what is left of it. A run that ends before that is compared
with its undisturbed twin, and the next one, with another seed, takes its place. About half of the rounds have to prepare the
corpus again. One round in ten goes through the command line in an interpreter of its own; the others are forked from this
process, which has torch imported already. The exit code is 1 if an update was lost, a step or a tensor differs, or a file was
left behind.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

PHASES = ("starting", "preparing", "steps", "validating", "saving", "measuring")
WORKERS = 2
STEPS, SAVE_EVERY, VALIDATE_EVERY = 120, 6, 15
WORDS, PAIRS = 300, 8000
COMMAND_EVERY = 10
SHORTEST = 0.25  # of a run: to start, to prepare, to find that no step is missing, and to measure


@dataclass
class Killed:
    """One run and what has become of it so far."""

    home: Path
    seed: int
    secured: int = 0  # the step of the newest whole checkpoint
    lost: int = 0  # updates that were in it, and were not there after the next start
    phases: Counter[str] = field(default_factory=Counter)

    @property
    def out(self) -> Path:
        return self.home / f"run-{self.seed}"

    @property
    def cache(self) -> Path:
        return self.home / "cache" / str(self.seed)


def make_corpus(home: Path) -> None:
    """Sentences of made-up words, and the same words spelled backwards."""
    generator = random.Random(1)
    words = ["".join(generator.choices("abcdefghij", k=generator.randint(2, 6))) for _ in range(WORDS)]
    with (home / "a.xx").open("w") as source, (home / "a.yy").open("w") as target:
        for _ in range(PAIRS):
            chosen = generator.choices(words, k=generator.randint(2, 8))
            source.write(" ".join(chosen) + "\n")
            target.write(" ".join(word[::-1] for word in chosen) + "\n")


def settings(home: Path, seed: int) -> dict[str, Any]:
    """A tiny network with everything on that an exact resume could get wrong."""
    return {
        "data": {"src": str(home / "a.xx"), "tgt": str(home / "a.yy"), "seed": seed},
        "text": {"vocabulary": 400, "dropout": 0.1},
        "model": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 32, "dropout": 0.1},
        "train": {
            "seed": seed,
            "max_steps": STEPS,
            "batch_tokens": 60,
            "ema": 0.9,
            "warmup": 20,
            "validate_every": VALIDATE_EVERY,
            "save_every": SAVE_EVERY,
            "keep": 2,
            "device": "cpu",
        },
    }


def train_here(home: Path, seed: int, out: Path, cache: Path) -> None:
    from regard.tasks.run import train_run
    from regard.tasks.settings import parse_settings
    from regard.training import resume

    # A team as on two threads, but OpenMP keeps to one: after a fork it would wait for threads that are not there.
    resume.team_size = lambda device: WORKERS
    os.environ["REGARD_CACHE"] = str(cache)
    train_run(parse_settings(settings(home, seed)), out)


def start_fork(run: Killed) -> BaseProcess:
    process = multiprocessing.get_context("fork").Process(
        target=train_here, args=(run.home, run.seed, run.out, run.cache)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on: the child uses no thread of ours
        process.start()
    return process


def start_command(run: Killed) -> "subprocess.Popen[bytes]":
    config = run.home / f"{run.seed}.json"
    config.write_text(json.dumps(settings(run.home, run.seed)))
    command = [sys.executable, "-m", "regard.cli.main", "train", str(config), "--out", str(run.out)]
    with (run.home / "stderr").open("w") as stderr:
        return subprocess.Popen(
            command, env={**os.environ, "REGARD_CACHE": str(run.cache), "OMP_NUM_THREADS": str(WORKERS)}, stderr=stderr
        )


def one_round(run: Killed, seconds: float | None, by_command: bool = False, anew: bool = False) -> bool:
    """Start the run and kill it after so many seconds, or never; returns whether it was quicker than that.

    `anew`: the corpus has to be prepared once more.
    """
    if anew:
        shutil.rmtree(run.cache, ignore_errors=True)
    told, partial = events(run.out), leftovers(run.cache)
    if by_command:
        command = start_command(run)
        try:
            code: int | None = command.wait(seconds)
        except subprocess.TimeoutExpired:
            command.kill()
            code = command.wait()
    else:
        process = start_fork(run)
        process.join(seconds)
        process.kill()
        process.join()
        code = process.exitcode
    assert code in (0, -9), f"exit code {code}: {(run.home / 'stderr').read_text() if by_command else 'see above'}"
    look(run, told, partial, killed=code != 0)
    return code == 0


def look(run: Killed, told: list[dict[str, Any]], partial: int, killed: bool) -> None:
    """Note what the round had come to, and what it had lost of the one before."""
    now = events(run.out)
    starts = [event["step"] for event in now if event["event"] == "started"]
    new_start = starts != [event["step"] for event in told if event["event"] == "started"]
    if new_start:
        run.lost += max(0, run.secured - starts[-1])
    secured = newest_whole(run.out)
    run.lost += max(0, run.secured - secured)
    run.secured = secured
    if killed:
        run.phases[phase(run, now) if new_start else "preparing" if leftovers(run.cache) > partial else "starting"] += 1


def newest_whole(out: Path) -> int:
    """The step of the newest checkpoint whose files are what its manifest says; found without the code that is being tested."""
    for directory in sorted(out.glob("checkpoints/step-????????"), reverse=True):
        try:
            files = json.loads((directory / "manifest.json").read_text())["files"].items()
            whole = all(hashlib.sha256((directory / name).read_bytes()).hexdigest() == digest for name, digest in files)
        except (OSError, ValueError):
            continue
        if whole:
            return int(directory.name.removeprefix("step-"))
    return 0


def phase(run: Killed, told: list[dict[str, Any]]) -> str:
    """The work that a started run was doing when it died, from the last event in its log."""
    last, step = told[-1]["event"], told[-1]["step"]
    validates = step % VALIDATE_EVERY == 0 or step == STEPS
    saves = step % SAVE_EVERY == 0 or step == STEPS
    if last == "stopped":
        return "measuring"
    if last == "step" and validates:
        return "validating"
    if leftovers(run.out) or (last == "validated" and (saves or told[-1]["best"])) or (last == "step" and saves):
        return "saving"
    return "steps"


def events(out: Path) -> list[dict[str, Any]]:
    """The events in the log, without a last line that was still being written."""
    if not (out / "log.jsonl").exists():
        return []
    return [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]


def leftovers(home: Path) -> int:
    """Files and directories that were being written."""
    return sum(1 for _ in home.rglob("*.partial-*"))


def differences(out: Path, twin: Path) -> int:
    """Steps, checkpoints and their tensors, and pointers that are not the twin's to the last bit."""
    import torch
    from safetensors.torch import load_file

    exact = ("loss", "nll", "gradient_norm", "learning_rate")
    steps = [
        [
            (event["step"], event["epoch"], event["tokens"], *(event[name].hex() for name in exact))
            for event in events(path)
            if event["event"] == "step"
        ]
        for path in (out, twin)
    ]
    found = abs(len(steps[0]) - len(steps[1])) + sum(mine != theirs for mine, theirs in zip(*steps, strict=False))
    names = [sorted(path.name for path in (path / "checkpoints").iterdir()) for path in (out, twin)]
    found += len(set(names[0]) ^ set(names[1]))
    found += sum((out / pointer).read_text() != (twin / pointer).read_text() for pointer in ("best", "latest"))
    for name in set(names[0]) & set(names[1]):
        for file in ("model.safetensors", "optimiser.safetensors"):
            mine, theirs = (load_file(path / "checkpoints" / name / file) for path in (out, twin))
            found += mine.keys() != theirs.keys()
            found += sum(not torch.equal(mine[key], theirs[key]) for key in mine.keys() & theirs.keys())
    return found


def seconds_of(function: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    generator = random.Random(arguments.seed)
    began, kills, runs, different, left = time.perf_counter(), 0, [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        make_corpus(home)
        by_command = seconds_of(start_command(Killed(home, 0)).wait)
        train_here(home, 1, home / "warm", home / "cache-warm")  # imports all that a run needs before anything is timed
        while kills < arguments.rounds:
            run = Killed(home, 1 + len(runs))
            runs.append(run)
            twin = home / f"twin-{run.seed}"
            here = seconds_of(train_here, home, run.seed, twin, home / "cache-twin")
            over = False
            while not over and kills < arguments.rounds:
                command = kills % COMMAND_EVERY == COMMAND_EVERY - 1
                left_of_it = here * max(SHORTEST, 1.0 - run.secured / STEPS) + (by_command - here if command else 0.0)
                over = one_round(run, generator.uniform(0.0, left_of_it), command, anew=generator.random() < 0.5)
                kills += not over
            if not over:
                one_round(run, None)
            different += differences(run.out, twin)
            left += leftovers(run.out)
    lost = sum(run.lost for run in runs)
    print(
        f"seed {arguments.seed}: {len(runs)} runs of {STEPS} steps; {kills // COMMAND_EVERY} rounds by the command line\n"
    )
    columns = ["rounds", *PHASES, "runs finished", "updates lost", "differences", "files left", "seconds"]
    row = [kills, *(sum(run.phases[phase] for run in runs) for phase in PHASES), len(runs), lost, different, left]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    print(f"| {' | '.join(map(str, row))} | {time.perf_counter() - began:.0f} |")
    sys.exit(1 if lost or different or left else 0)


if __name__ == "__main__":
    main()
