"""Training speed: regard beside `torch.nn.Transformer` and Hugging Face's `MarianMTModel`, on the same batches in alternating rounds.

    python benchmarks/training.py                                        # tiny: 4 + 4 layers, width 128
    python benchmarks/training.py --preset base --batches 2 --rounds 5   # 6 + 6 layers, width 512
    python benchmarks/training.py --text DIR     # the folder tok of Multi30k (multi30k_files.py tells its source); else the pocket corpus
    python benchmarks/training.py --only regard "regard, bfloat16" "regard, Muon" "regard, Muon, bfloat16"
    python benchmarks/training.py --only "regard, BPE-dropout" "regard, BPE-dropout, none ahead" --trace waits.csv
    python benchmarks/training.py --only "regard, Muon" --busy           # beside a process that takes one core

Each implementation lives in a process of its own (regard in one a core) and waits while another works. All do the same work: ReLU,
sinusoidal positions, one embedding for source, target and output, dropout on embeddings, residual branches and the inner layer,
label smoothing, clipping, AdamW, float32. `regard, Muon` is regard with its default optimiser. A second table tells where the time of
a step of regard goes: the gradient, adding up gradients, the optimiser. A third tells how long steps waited for their batches: the time
from asking for a batch to having it, of the slower worker, without the steps of the first round. `--trace` writes it step by step.

MFU is the FLOPs of the model (six a real token and weight of a matrix that it meets; none for scores, norms or padding) over the rate
that a large `torch.mm` reaches on all threads between the rounds, at best and beside the round. MFU by processor time divides by the
seconds that the processes of regard had a core, and the best product by its own: it leaves out what other programs take, and the time
that one worker waits for the other. Peak memory is that of one more round,
untimed: the proportional set size of the process and its children. Needs `transformers` (the extra `benchmarks`).
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from multi30k_files import file_of
from timings import memory, processor_time, report_waits, time_calls, time_waits

DROPOUT, SMOOTHING, CLIP, RATE, SEED = 0.15, 0.1, 1.0, 1e-3, 1
SIZES = {"tiny": (4, 128, 4, 256), "base": (6, 512, 8, 2048)}  # layers, width, heads, feed-forward
SIDES = {"src": "en", "tgt": "de"}
ROWS: dict[str, dict[str, Any]] = {
    "regard": {},
    "regard, Muon": {"optimizer": "muon"},
    "regard, BPE-dropout": {"dropout": 0.1},  # more tokens than were counted: compare it with the next row
    "regard, BPE-dropout, none ahead": {"dropout": 0.1},
    "regard, bfloat16": {"precision": "bfloat16"},
    "regard, Muon, bfloat16": {"optimizer": "muon", "precision": "bfloat16"},
}
"""The settings of regard in each row that differ from the peers'."""
PEERS = ("torch.nn.Transformer", "MarianMTModel")
SHOWN = ("regard", "regard, Muon", *PEERS)


@dataclass
class About:
    """The data that an implementation works on, and its size."""

    corpus: str
    torch: str
    vocabulary: int
    processor: str
    tokens: int  # real target tokens of a round
    flops: float  # of a round
    parameters: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=SIZES, default="tiny")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--vocabulary", type=int, default=9700)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=5, help="in a round")
    parser.add_argument("--text", type=Path, help="the folder tok of Multi30k; without it the pocket corpus is read")
    parser.add_argument("--only", nargs="+", default=SHOWN, choices=(*ROWS, *PEERS))
    parser.add_argument("--trace", type=Path, help="a CSV file: the seconds of each step and of its wait for data")
    parser.add_argument("--busy", action="store_true", help="every other round beside a process that takes one core")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        runners = {name: Runner(name, vars(arguments) | {"home": home}) for name in arguments.only}
        (report_busy if arguments.busy else report)(arguments, runners, Runner("sgemm", vars(arguments)))


def report(arguments: argparse.Namespace, runners: dict[str, "Runner"], sgemm: "Runner") -> None:
    """Let all warm up, then take turns, and print the table."""
    about: dict[str, About] = {name: runner.ask("about") for name, runner in runners.items()}
    rates = [sgemm.ask("round")]
    seconds: dict[str, list[float]] = {name: [] for name in runners}
    used: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(arguments.rounds):
        for name, runner in runners.items():
            before = runner.processor_time()
            seconds[name].append(runner.ask("round"))
            used[name].append(runner.processor_time() - before)
            rates.append(sgemm.ask("round"))
    by_core = sgemm.ask("by core")
    parts = {name: runner.ask("parts") for name, runner in runners.items() if name in ROWS}
    waits = {name: runner.ask("waits") for name, runner in runners.items() if name in ROWS}
    peaks = {name: runner.peak() for name, runner in runners.items()}
    sgemm.dismiss()
    leader, *_ = runners
    print(heading(arguments, about[leader], rates))
    print(
        "| | parameters | target tokens/s | MFU, best sgemm | MFU, sgemm beside | MFU, processor time | peak memory (MB) | "
        f"{leader} is faster by |"
    )
    print("|" + " --- |" * 8)
    for place, name in enumerate(runners):
        one = about[name]
        speed = one.tokens / statistics.median(seconds[name])
        beside = [rates[place + number * len(runners) :][:2] for number in range(arguments.rounds)]
        local = statistics.median(
            one.flops / s / statistics.mean(pair) for s, pair in zip(seconds[name], beside, strict=True)
        )
        ratios = [theirs / ours for theirs, ours in zip(seconds[name], seconds[leader], strict=True)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        own = (
            f"{one.flops / statistics.median(used[name]) / by_core:.2f}" if name in ROWS else ""
        )  # waiting threads spin
        print(
            f"| {name} | {one.parameters:,} | {speed:,.0f} | {one.flops / one.tokens * speed / max(rates):.2f} | {local:.2f} | {own} | "
            f"{peaks[name]:.0f} | {spread} |"
        )

    print("\n| share of a step | gradient | sum | optimiser |\n|" + " --- |" * 4)
    for name, part in parts.items():
        shares = [part[what] / part["step"] for what in ("gradient", "norm", "update")]
        print(f"| {name} | {' | '.join(f'{share:.1%}' for share in shares)} |")
    report_waits(waits, parts)
    if arguments.trace is not None:
        rows = [(name, *step) for name, steps in waits.items() for step in steps]
        arguments.trace.write_text("row,step,seconds,wait\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))


def heading(arguments: argparse.Namespace, first: About, rates: list[float]) -> str:
    return (
        f"{first.corpus}, {first.vocabulary:,} subwords, {arguments.batch_tokens:,}-token batches, {arguments.preset}, "
        f"{first.flops / first.tokens / 1e6:.1f} MFLOP a target token; torch {first.torch}, {first.processor}, "
        f"{os.cpu_count()} cores, sgemm {max(rates) / 1e9:.0f} GFLOP/s at best, {statistics.median(rates) / 1e9:.0f} in the median; "
        f"{arguments.rounds} rounds of {arguments.batches} batches\n"
    )


def report_busy(arguments: argparse.Namespace, runners: dict[str, "Runner"], sgemm: "Runner") -> None:
    """Alternate rounds on the idle machine and beside a process that takes one core, and print the ratio of speeds."""
    about: dict[str, About] = {name: runner.ask("about") for name, runner in runners.items()}
    rates: list[float] = []
    ratios: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(arguments.rounds):
        rates.append(sgemm.ask("round"))
        for name, runner in runners.items():
            idle = runner.ask("round")
            other = multiprocessing.get_context("spawn").Process(target=_spin, daemon=True)
            other.start()
            time.sleep(0.5)  # it has begun
            ratios[name].append(idle / runner.ask("round"))
            other.kill()
            other.join()
    print(heading(arguments, next(iter(about.values())), rates))
    print("| | speed beside a process that takes one core, of the idle machine's |\n| --- | --- |")
    for name, values in ratios.items():
        print(f"| {name} | {statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}) |")
    for runner in (*runners.values(), sgemm):
        runner.dismiss()


def _spin() -> None:
    while True:
        pass


class Runner:
    """An implementation in a process of its own, which does what it is asked."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, pipe = context.Pipe()
        self._process = context.Process(target=_serve, args=(name, options, pipe))
        self._process.start()
        pipe.close()
        self.ask("ready")

    def ask(self, what: str) -> Any:
        self._pipe.send(what)
        return self._pipe.recv()

    def processor_time(self) -> float:
        """The seconds that the process and its descendants have had a core."""
        return processor_time(self._process.pid or 0)

    def peak(self) -> float:
        """The megabytes it holds at most during a round; its last."""
        self._pipe.send("round")
        highest = 0.0
        while not self._pipe.poll(0.01):
            highest = max(highest, memory(self._process.pid or 0))
        self._pipe.recv()
        self.dismiss()
        return highest

    def dismiss(self) -> None:
        self.ask("end")
        self._process.join()


def _serve(name: str, options: dict[str, Any], pipe: Connection) -> None:
    answers = _sgemm() if name == "sgemm" else _implementation(name, options)
    for question in iter(pipe.recv, "end"):
        pipe.send(answers[question]())
    answers["end"]()
    pipe.send(None)


Answers = dict[str, Callable[[], Any]]


def _sgemm(size: int = 2048) -> Answers:
    import torch

    a, b = torch.randn(size, size), torch.randn(size, size)

    def measure() -> float:
        """The best of a few products, in FLOP/s."""
        best = 0.0
        for _ in range(8):
            began = time.perf_counter()
            torch.mm(a, b)
            best = max(best, 2 * size**3 / (time.perf_counter() - began))
        return best

    def measure_core() -> float:
        """The same by one core's processor time."""
        torch.set_num_threads(1)
        best = 0.0
        for _ in range(8):
            began = time.process_time()
            torch.mm(a, b)
            best = max(best, 2 * size**3 / (time.process_time() - began))
        return best

    return {"ready": measure, "round": measure, "by core": measure_core, "end": lambda: None}


def _implementation(name: str, options: dict[str, Any]) -> Answers:
    import torch

    from regard.data.batches import make_batch, plan
    from regard.data.config import PairData
    from regard.data.prepare import prepare
    from regard.text.config import TextConfig
    from regard.training.precision import processor

    text = options["text"]
    files = {} if text is None else {side: str(file_of(text, "train", one)) for side, one in SIDES.items()}
    data = PairData(**files, pocket=20_000)
    dropout = ROWS.get(name, {}).get("dropout", 0.0)
    settings = TextConfig(vocabulary=options["vocabulary"] if files else 500, dropout=dropout)
    prepared = prepare(data, settings, Path(options["home"]))
    corpus, tokenizers = prepared.train, prepared.tokenizers
    chosen = plan(corpus.source_lengths, corpus.target_lengths, options["batch_tokens"], SEED, 0)[: options["batches"]]
    batches = [make_batch(corpus, examples, tokenizers) for examples in chosen]
    vocabulary = len(tokenizers.target.vocabulary)
    layers, width, heads, inner = SIZES[options["preset"]]
    source_tokens = sum(int((batch.source != vocabulary - 1).sum()) for batch in batches)
    tokens = sum(batch.tokens for batch in batches)
    at_source = layers * (4 * width**2 + 2 * width * inner) + layers * 2 * width**2  # cross-attention's keys and values
    at_target = layers * (6 * width**2 + 2 * width * inner) + (vocabulary - 1) * width
    torch.manual_seed(SEED)
    if name.startswith("regard"):
        step, end, parameters, parts, waits = _regard(name, options, data, settings, prepared, chosen)
        steps = [partial(step, place) for place in range(len(chosen))]
    else:
        steps, end, parameters = _peer(name, vocabulary, (layers, width, heads, inner), batches)
        parts, waits = None, None
    about = About(
        corpus="Multi30k" if files else "pocket corpus",
        torch=torch.__version__,
        processor=processor(torch.device("cpu")),
        vocabulary=vocabulary,
        tokens=tokens,
        flops=6.0 * (source_tokens * at_source + tokens * at_target),
        parameters=parameters,
    )

    def measure() -> float:
        began = time.perf_counter()
        for step in steps:
            step()
        return time.perf_counter() - began

    measure()
    answers = {"ready": lambda: None, "about": lambda: about, "round": measure, "parts": lambda: parts, "end": end}
    return answers | {"waits": waits} if waits is not None else answers


def _regard(
    name: str, options: dict[str, Any], data: Any, text: Any, prepared: Any, chosen: list[Any]
) -> tuple[
    Callable[[int], object], Callable[[], None], int, dict[str, float], Callable[[], list[tuple[int, float, float]]]
]:
    """regard's own step, as its loop makes it, the seconds of its parts, and the number, seconds and wait of each step."""
    import torch

    from regard.models.config import TransformerConfig
    from regard.tasks.translate.objective import TranslateObjective
    from regard.tasks.translate.settings import TranslateSettings
    from regard.training.loop import advance
    from regard.training.malloc import keep_large_blocks
    from regard.training.objective import StepInfo
    from regard.training.resume import resumed_job

    keep_large_blocks()
    model = TransformerConfig.parse({"preset": options["preset"], "positions": "sinusoidal", "dropout": DROPOUT})
    own = {what: value for what, value in ROWS[name].items() if what != "dropout"}
    train = {"batch_tokens": options["batch_tokens"], "learning_rate": RATE, "schedule": "constant", "clip": CLIP}
    train |= {"label_smoothing": SMOOTHING, "max_steps": 10**6, "optimizer": "adamw", "precision": "float32", **own}
    config = TranslateSettings.model_validate(
        {"task": "translate", "data": data, "text": text, "model": model, "train": train}
    )
    out = Path(options["home"]) / name
    job, _ = resumed_job(config, out, TranslateObjective(config, prepared), torch.device("cpu"))
    job.objective.examples.costly = name == "regard, BPE-dropout"
    waited = time_waits(job.workers)
    team = job.team()
    worker = team._here
    parts = dict.fromkeys(("step", "gradient", "norm", "update", "ahead"), 0.0)
    for part in ("gradient", "norm", "update"):
        time_calls(team, part, parts, part)
    seconds: list[float] = []

    def step(place: int) -> None:
        began = time.perf_counter()
        for ahead in range(1, team.steps_ahead + 1):
            info = StepInfo(job.progress.step + ahead, job.progress.epoch, 1)
            team.prepare(info, [chosen[(place + ahead) % len(chosen)]])
        list(advance(job, team, [chosen[place]], 10**6, began))
        seconds.append(time.perf_counter() - began)
        parts["step"] += seconds[-1]
        if (delivery := worker.delivery) is not None:
            parts["ahead"] = delivery.made_ahead / (delivery.made_ahead + delivery.made_here)

    def waits() -> list[tuple[int, float, float]]:
        longest = waited.amax(dim=0).tolist()
        return [(number, seconds[number], longest[number]) for number in range(len(chosen), len(seconds))]

    return step, team.__exit__, sum(parameter.numel() for parameter in job.network.parameters()), parts, waits


def _peer(
    name: str, vocabulary: int, size: tuple[int, int, int, int], batches: list[Any]
) -> tuple[list[Callable[[], object]], Callable[[], None], int]:
    import peers

    build = peers.TorchTransformer if name == "torch.nn.Transformer" else peers.Marian
    network = build(vocabulary, *size, DROPOUT)
    step = peers.plain_loop(network, RATE, SMOOTHING, CLIP)
    steps = [lambda batch=batch: step(batch.source, batch.target_in, batch.target_out) for batch in batches]
    return steps, lambda: None, sum(parameter.numel() for parameter in network.parameters())


if __name__ == "__main__":
    main()
