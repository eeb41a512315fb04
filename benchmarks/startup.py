"""How long `regard train` takes from the command to the first step on a prepared corpus, beside `import torch` alone.

    python benchmarks/startup.py --pairs 29000 1000000 --times 5
    python benchmarks/startup.py --pairs --bundle runs/en-de --line "a man walks ." --times 9     # and one line, translated

The corpus is made up and prepared beforehand; medians of several runs. The first step is seen in the run's log.jsonl. With `--bundle`,
`regard translate` of one line is measured too, with each engine, beside the import of what the engine is made of.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from decoding_programs import processor
from preparing import make_corpus

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
POLL = 0.002  # seconds
REGARD = [sys.executable, "-c", "from regard.cli.entry import run; run()"]
TORCH = [sys.executable, "-c", "import torch"]


def train_command(home: Path, out: Path) -> list[str]:
    """Training with a validation set of a few pairs, which is of no interest here."""
    files = [f"--{role}={home / name}" for role, name in (("src", "a.xx"), ("tgt", "a.yy"))]
    files += [f"--valid-{role}={home / name}" for role, name in (("src", "few.xx"), ("tgt", "few.yy"))]
    return [sys.executable, "-m", "regard.cli.main", "train", *files, "--preset=tiny", f"--out={out}"]


def seconds_to_import_torch() -> float:
    began = time.perf_counter()
    subprocess.run(TORCH, check=True)
    return time.perf_counter() - began


def seconds_to_start_and_step(home: Path, out: Path, seconds: float = 600.0) -> tuple[float, float]:
    """From the command to the event `started`, when all is loaded, and to the first step."""
    began, started = time.perf_counter(), 0.0
    process = subprocess.Popen(train_command(home, out), stderr=subprocess.DEVNULL)
    try:
        while (now := time.perf_counter() - began) < seconds and process.poll() is None:
            seen = _events(out / "log.jsonl")
            if "step" in seen:
                return started, now
            if "started" in seen and not started:
                started = now
            time.sleep(POLL)
    finally:
        process.kill()
        process.wait()
    raise RuntimeError(f"no step in {seconds:.0f} seconds, exit code {process.returncode}")


def _events(log: Path) -> set[str]:
    if not log.exists():
        return set()
    whole = log.read_text(encoding="utf-8").rpartition("\n")[0]
    return {json.loads(line)["event"] for line in whole.splitlines()}


def measure(home: Path, pairs: int, times: int) -> None:
    """Print one row of the table."""
    make_corpus(home, pairs)
    for side in ("xx", "yy"):
        (home / f"few.{side}").write_text("".join(_first_lines(home / f"a.{side}", 5)))
    os.environ["REGARD_CACHE"] = str(home / "cache")
    seconds_to_start_and_step(home, home / "prepared")
    torch, started, stepped = [], [], []
    for number in range(times):
        torch.append(seconds_to_import_torch())
        start, step = seconds_to_start_and_step(home, home / f"run-{number}")
        started.append(start)
        stepped.append(step)
    beyond = [step - alone for step, alone in zip(stepped, torch, strict=True)]
    medians = [statistics.median(values) for values in (torch, started, stepped, beyond)]
    print(f"| {pairs:,} | " + " | ".join(f"{value:.2f}" for value in medians) + f" | {max(beyond):.2f} |", flush=True)


def translate_one(bundle: Path, line: str, times: int) -> None:
    """Print what one line takes with each engine, from the command to its translation, in turns with a bare import."""
    print(f"\n{processor()}\n")
    print(
        "| one line | seconds | its import alone | beyond the import (smallest to largest) | processor: seconds, import |"
    )
    print("| --- | --- | --- | --- | --- |")
    for engine, module in (("ct2", "ctranslate2"), ("torch", "torch")):
        command = [*REGARD, "translate", str(bundle), "--engine", engine]
        seconds: tuple[list[float], list[float]] = ([], [])
        busy: tuple[list[float], list[float]] = ([], [])
        for number in range(times + 1):
            for place, wanted in enumerate((command, [sys.executable, "-c", f"import {module}"])):
                began, used = time.perf_counter(), processor_seconds()
                subprocess.run(wanted, input=line, text=True, check=True, stdout=subprocess.DEVNULL)
                if number:  # the first reads the files
                    seconds[place].append(time.perf_counter() - began)
                    busy[place].append(processor_seconds() - used)
        whole, alone = map(statistics.median, seconds)
        beyond = [one - other for one, other in zip(*seconds, strict=True)]
        spread = f"{statistics.median(beyond):.2f} ({min(beyond):.2f} to {max(beyond):.2f})"
        used = ", ".join(f"{statistics.median(own):.2f}" for own in busy)
        print(f"| regard translate --engine {engine} | {whole:.2f} | {alone:.2f} | {spread} | {used} |", flush=True)


def processor_seconds() -> float:
    """The seconds of processor of all processes that have ended. Other work on the machine changes them little."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _first_lines(path: Path, count: int) -> list[str]:
    with path.open() as lines:
        return [next(lines) for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, nargs="*", default=[29_000, 1_000_000])
    parser.add_argument("--bundle", type=Path, help="a translator that one line is translated with")
    parser.add_argument("--line", default="a man walks .", help="that line")
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.bundle is not None:
        translate_one(arguments.bundle, arguments.line, arguments.times)
    if not arguments.pairs:
        return
    print(
        "| pairs | import torch (s) | command to loaded | command to first step | beyond importing torch | its maximum |"
    )
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for pairs in arguments.pairs:
        with tempfile.TemporaryDirectory() as home:
            measure(Path(home), pairs, arguments.times)


if __name__ == "__main__":
    main()
