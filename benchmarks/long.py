"""The cost of every causal mixer by length: time and memory of forward and backward, and of decoding a token.

    python benchmarks/long.py --cores 1 --results long.json
    python benchmarks/long.py --cores 2 --results long.json
    python benchmarks/long.py --draw docs/figures/long.svg --results long.json

One causal layer with its projections: width 256, 4 heads, batch 1, float32; filters of hyena as long as the longest sequence. Each cell is
a process of its own, so that its peak of memory is its own: that above what the process had before. Times are the least of several passes.
Large blocks of memory stay with the process between passes, as in training. Beside the seconds of the clock stand those that the processor
worked, of all cores together: on a machine that is not idle, only they say how the work grows with the length.
Exponents are fitted to the lengths from 4,096 on. `--draw` measures nothing: it prints the tables of all results and draws them.
"""

import argparse
import json
import math
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.explain.figures import COLOURS, MARKS, drawn_figure
from regard.layers.mixers import MIXERS, MixerOptions
from regard.layers.positions import RotaryPositions
from regard.models.config import MIXER_TRAITS
from regard.ops.probe import Probe
from regard.training.malloc import keep_large_blocks

WIDTH, HEADS = 256, 4
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384, 32768)
FITTED = 4096  # the shortest length that an exponent is fitted to
EXPLICIT, LONGEST_EXPLICIT = "attention, written out", 8192  # at 32,768 its weights alone are 16 GB
NAMES = ("attention", EXPLICIT, *(name for name in MIXER_TRAITS if MIXER_TRAITS[name].causal and name != "attention"))
PATIENCE, PASSES, TOKENS = 1.5, 5, 20  # seconds and passes a cell, tokens decoded
LEAST, LONG_PASS = 3, 7.0  # passes of a cell whose first pass took less than so many seconds
PREFILL = 2048  # positions of attention at a time, whose mask would else be of all pairs

Cell = dict[str, Any]


def layer(name: str, longest: int) -> Any:
    """One causal layer with small weights, as training begins."""
    torch.manual_seed(0)
    options = MixerOptions(
        width=WIDTH,
        heads=HEADS,
        causal=True,
        dropout=0.0,
        max_positions=longest + TOKENS + 1,
        rotary=RotaryPositions(WIDTH // HEADS),
        score="scaled_dot",
        score_width=None,
    )
    return MIXERS["attention" if name == EXPLICIT else name](options)


def training(name: str, length: int, longest: int) -> tuple[float, float]:
    """Seconds of forward and backward: by the clock, and of the processor."""
    keep_large_blocks()
    mixer = layer(name, longest)
    x = torch.randn(1, length, WIDTH, requires_grad=True)

    def once() -> None:
        probe = Probe("*.weights", "weights") if name == EXPLICIT else None
        mixer(x, None, probe).sum().backward()
        x.grad = None
        mixer.zero_grad()

    return _least(once)


@torch.no_grad()
def decoding(name: str, length: int, longest: int) -> tuple[float, float]:
    """Seconds of one more token after `length` of them, in the median: by the clock, and of the processor."""
    mixer: nn.Module | Any = layer(name, longest)
    state = mixer.begin(1)
    for part in torch.randn(1, length, WIDTH).split(PREFILL if name == "attention" else length, dim=1):
        _, state = mixer.step(part, state)
    tokens = torch.randn(TOKENS, 1, 1, WIDTH)
    seconds, worked = [], []
    for token in tokens:
        begin, work_begin = time.perf_counter(), time.process_time()
        _, state = mixer.step(token, state)
        seconds.append(time.perf_counter() - begin)
        worked.append(time.process_time() - work_begin)
    return sorted(seconds)[TOKENS // 2], sorted(worked)[TOKENS // 2]


def _least(work: Callable[[], None]) -> tuple[float, float]:
    seconds: list[float] = []
    worked: list[float] = []
    while len(seconds) < PASSES and (sum(seconds) < PATIENCE or (len(seconds) < LEAST and seconds[0] < LONG_PASS)):
        begin, work_begin = time.perf_counter(), time.process_time()
        work()
        seconds.append(time.perf_counter() - begin)
        worked.append(time.process_time() - work_begin)
    return min(seconds), min(worked)


def _memory(key: str) -> float:
    """Megabytes of this process: VmRSS now, VmHWM at most."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    raise AssertionError(key)


def _measure(what: str, name: str, length: int, longest: int, cores: int, answer: Any) -> None:
    torch.set_num_threads(cores)
    before = _memory("VmRSS")
    seconds, worked = (training if what == "training" else decoding)(name, length, longest)
    answer.send({"seconds": seconds, "processor_seconds": worked, "megabytes": _memory("VmHWM") - before})


def cell(what: str, name: str, length: int, longest: int, cores: int) -> Cell:
    """One measurement, in a process of its own."""
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_measure, args=(what, name, length, longest, cores, send)
    )
    process.start()
    send.close()
    try:
        measured = receive.recv()
    finally:
        process.join()
    return {"what": what, "mixer": name, "length": length, "cores": cores, **measured}


def points(cells: list[Cell], what: str, name: str, cores: int, unit: str) -> list[tuple[int, float]]:
    found = {
        one["length"]: one[unit]
        for one in cells
        if (one["what"], one["mixer"], one["cores"]) == (what, name, cores) and unit in one
    }
    return sorted(found.items())


def exponent(measured: list[tuple[int, float]]) -> float | None:
    """The slope of log y over log n, by least squares, from `FITTED` on."""
    logs = [(math.log(n), math.log(y)) for n, y in measured if n >= FITTED and y > 0]
    if len(logs) < 2:
        return None
    x = sum(n for n, _ in logs) / len(logs)
    y = sum(value for _, value in logs) / len(logs)
    return sum((n - x) * (value - y) for n, value in logs) / sum((n - x) ** 2 for n, _ in logs)


def crossover(cells: list[Cell], name: str, cores: int) -> str:
    """The shortest length from which on a mixer trains faster than attention."""
    fused = dict(points(cells, "training", "attention", cores, "seconds"))
    own = dict(points(cells, "training", name, cores, "seconds"))
    faster = [n for n in sorted(own) if n in fused and own[n] < fused[n]]
    slower = [n for n in sorted(own) if n in fused and own[n] >= fused[n]]
    always = [n for n in faster if not slower or n > max(slower)]
    return f"{always[0]:,}" if always else "-"


def tables(cells: list[Cell]) -> str:
    """Markdown of all results."""
    lines = []
    for what, unit, heading, form in (
        ("training", "seconds", "forward and backward, milliseconds", lambda value: f"{1000 * value:,.0f}"),
        ("training", "processor_seconds", "the same, processor milliseconds", lambda value: f"{1000 * value:,.0f}"),
        ("training", "megabytes", "forward and backward, megabytes at most", lambda value: f"{value:,.0f}"),
        ("decoding", "seconds", "one token more, milliseconds", lambda value: f"{1000 * value:.2f}"),
    ):
        for cores in sorted({one["cores"] for one in cells if one["what"] == what}):
            if unit == "megabytes" and cores > 1:
                continue
            timed = unit == "seconds" and what == "training"
            last = ["exponent", *(["faster than attention from", "at the longest"] if timed else [])]
            lines += ["", f"{heading}, {cores} core{'s' * (cores > 1)}:", ""]
            lines += ["| mixer | " + " | ".join(f"{n:,}" for n in LENGTHS) + " | " + " | ".join(last) + " |"]
            lines += ["| --- " * (1 + len(LENGTHS) + len(last)) + "|"]
            fused = points(cells, what, "attention", cores, unit)
            for name in NAMES:
                measured = points(cells, what, name, cores, unit)
                if not measured:
                    continue
                slope, by_length = exponent(measured), dict(measured)
                row = [form(by_length[n]) if n in by_length else "" for n in LENGTHS]
                row.append("" if slope is None else f"{slope:.2f}")
                if timed:
                    ratio = (
                        f"{fused[-1][1] / measured[-1][1]:.1f} x" if fused and measured[-1][0] == fused[-1][0] else ""
                    )
                    row += ["", ""] if name in ("attention", EXPLICIT) else [crossover(cells, name, cores), ratio]
                lines.append(f"| {name} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def draw(cells: list[Cell], path: Path) -> None:
    """Four frames on logarithmic axes: training on one core and on two, its memory, and decoding."""
    frames_of = (
        ("training", "seconds", 1, "seconds, forward and backward, 1 core"),
        ("training", "seconds", 2, "the same, 2 cores"),
        ("training", "megabytes", 1, "megabytes at most, the same"),
        ("decoding", "seconds", 1, "seconds a token, decoding, 1 core"),
    )
    with drawn_figure(path, width=10.4, height=7.6) as figure:
        frames = figure.subplots(2, 2).flatten()
        for frame, (what, unit, cores, title) in zip(frames, frames_of, strict=True):
            for number, name in enumerate(NAMES):
                measured = [(n, y) for n, y in points(cells, what, name, cores, unit) if y > 0]
                if measured:
                    colour = COLOURS[number % len(COLOURS)]
                    style = "--" if name == EXPLICIT or number >= len(COLOURS) else "-"
                    mark = MARKS[number % len(MARKS)]
                    frame.plot(*zip(*measured, strict=True), style, color=colour, marker=mark, label=name)
            frame.set_xscale("log", base=2)
            frame.set_yscale("log")
            frame.set_xticks(LENGTHS, [f"{n // 1024}k" if n >= 1024 else str(n) for n in LENGTHS])
            frame.set_title(title, fontsize=9)
            frame.set_xlabel("tokens")
        frames[0].legend(fontsize=7, frameon=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--mixers", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--lengths", nargs="+", type=int, default=list(LENGTHS))
    parser.add_argument("--results", type=Path, default=Path("long.json"), help="cells are added to this file")
    parser.add_argument("--draw", type=Path, help="measure nothing; print the tables and draw this figure")
    arguments = parser.parse_args()
    cells: list[Cell] = json.loads(arguments.results.read_text("utf-8")) if arguments.results.exists() else []
    if arguments.draw:
        print(tables(cells))
        draw(cells, arguments.draw)
        return
    longest = max(arguments.lengths)
    for name in arguments.mixers:
        for length in arguments.lengths:
            if name == EXPLICIT and length > LONGEST_EXPLICIT:
                continue
            for what in ("training", "decoding"):
                if what == "decoding" and (name == EXPLICIT or arguments.cores > 1):
                    continue
                measured = cell(what, name, length, longest, arguments.cores)
                key = ("what", "mixer", "length", "cores")
                cells = [one for one in cells if any(one[part] != measured[part] for part in key)] + [measured]
                print(
                    f"{name:24} {length:6,} {what:8} {1000 * measured['seconds']:10.2f} ms {measured['megabytes']:8.0f} MB"
                )
                arguments.results.write_text(json.dumps(cells), encoding="utf-8")


if __name__ == "__main__":
    main()
