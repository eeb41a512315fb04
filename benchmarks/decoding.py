"""Decoding speed: regard's two engines beside CTranslate2 called directly and Hugging Face's `generate`, in alternating rounds.

    python benchmarks/decoding.py runs/en-de --text test.en --ref test.de            # 1,000 sentences, and one at a time
    python benchmarks/decoding.py runs/en-de --text test.en --stream 20000           # and text to text, as `regard translate` does it
    python benchmarks/decoding.py runs/en-de --text test.en --memory 20000 200000    # and the memory that this takes

One trained model in every program. Each lives in a process of its own and waits while another works; standard error tells how far it is.
`regard` gets text and gives text. `CTranslate2` gets the pieces, made and sorted beforehand, in the batches that were fastest of several
when it warmed up, with one worker of one thread for each core, and gives pieces. `Hugging Face` gets ids in regard torch's batches, and
gives ids; pre-norm models run as its Pegasus, post-norm as its Marian. A ratio is the median over the rounds, with the smallest and
largest. `same` is the share of sentences whose text is that of regard torch. Needs `transformers` and `ctranslate2` (the extra
`benchmarks`).
"""

import argparse
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from importlib.metadata import version
from itertools import cycle, islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

NAMES = (
    "regard torch",
    "regard ct2 float32",
    "regard ct2 int8",
    "CTranslate2 float32",
    "CTranslate2 int8",
    "Hugging Face generate",
)
PAIRS = {
    "regard torch": "Hugging Face generate",
    "regard ct2 float32": "CTranslate2 float32",
    "regard ct2 int8": "CTranslate2 int8",
}
STREAMING = tuple(name for name in NAMES if "ct2" in name or "CTranslate2" in name)
CORES = len(os.sched_getaffinity(0))
CT2_BATCHES = (512, 1024, 2048, 4096)  # tokens
REGARD = [sys.executable, "-c", "from regard.cli.main import run; run()"]
Seconds = dict[tuple[str, str, int], list[float]]  # (task, name, beam) -> of each round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--text", type=Path, required=True, help="source sentences")
    parser.add_argument("--ref", type=Path, help="their translations: adds BLEU")
    parser.add_argument("--tokenize", default="none", help="for BLEU")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--singly", type=int, default=50, help="sentences that are translated one at a time")
    parser.add_argument(
        "--stream", type=int, default=0, help="lines from text to text; the text is repeated up to so many"
    )
    parser.add_argument(
        "--memory", type=int, nargs="+", default=[], help="lines that `regard translate -o` is measured with, greedily"
    )
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument(
        "--alpha", type=float, default=0.0, help="Hugging Face counts the end mark: compare with it at 0"
    )
    parser.add_argument("--batch-tokens", type=int, default=2048, help="of regard torch and of Hugging Face")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES)
    arguments = parser.parse_args()
    runners = {name: Runner(name, vars(arguments)) for name in arguments.only}
    texts = {(name, beam): runner.ask("texts", beam) for beam in arguments.beams for name, runner in runners.items()}
    seconds = rounds(arguments, runners)
    for runner in runners.values():
        runner.dismiss()
    report(arguments, seconds, texts)
    startup(arguments)
    if arguments.memory:
        memory(arguments)


def rounds(arguments: argparse.Namespace, runners: dict[str, "Runner"]) -> Seconds:
    """Every task by everyone, in turns."""
    found: Seconds = {}
    tasks = ["together", "singly"] + ["stream"] * (arguments.stream > 0)
    for number in range(arguments.rounds):
        say(f"round {number + 1} of {arguments.rounds}")
        for task in tasks:
            for beam in arguments.beams:
                for name, runner in runners.items():
                    if task != "stream" or name in STREAMING:
                        found.setdefault((task, name, beam), []).append(runner.ask(task, beam))
    return found


def report(arguments: argparse.Namespace, seconds: Seconds, texts: dict[tuple[str, int], list[str]]) -> None:
    beams = arguments.beams
    count = len(next(iter(texts.values())))
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "ctranslate2", "transformers"))
    print(
        f"{count:,} sentences of {arguments.text.name}, alpha {arguments.alpha:g}, {arguments.rounds} rounds; {versions}, "
        f"{platform.machine()}, {CORES} cores\n"
    )
    heads = [
        *(f"sentences/s, beam {beam}" for beam in beams),
        *(f"ms for one, beam {beam}" for beam in beams),
        *(f"same, beam {beam}" for beam in beams),
        *(f"BLEU, beam {beam}" for beam in beams if arguments.ref),
    ]
    print(f"| | {' | '.join(heads)} |\n|{' --- |' * (1 + len(heads))}")
    for name in arguments.only:
        cells = [f"{count / statistics.median(seconds['together', name, beam]):,.0f}" for beam in beams]
        cells += [f"{1000 * statistics.median(seconds['singly', name, beam]):.1f}" for beam in beams]
        cells += [_same(texts, name, beam) for beam in beams]
        cells += [f"{_bleu(arguments, texts[name, beam]):.2f}" for beam in beams if arguments.ref]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\n| ratio of speeds | {' | '.join(f'beam {beam}' for beam in beams)} |\n|{' --- |' * (1 + len(beams))}")
    for task, said in (
        ("together", "sentences/s"),
        ("singly", "one at a time"),
        ("stream", "text to text beside pieces to pieces"),
    ):
        for ours, theirs in [*PAIRS.items(), ("regard ct2 int8", "regard ct2 float32")]:
            if all((task, name, beams[0]) in seconds for name in (ours, theirs)):
                cells = [_ratio(seconds[task, theirs, beam], seconds[task, ours, beam]) for beam in beams]
                print(f"| {ours} / {theirs}, {said} | {' | '.join(cells)} |")


def startup(arguments: argparse.Namespace) -> None:
    """From the command to the translation of one line, loading included."""
    line = arguments.text.read_text(encoding="utf-8").split("\n")[0]
    print("\n| start to end of one line | seconds |\n| --- | --- |")
    for engine in ("ct2", "torch"):
        found = []
        for _ in range(1 + arguments.rounds):
            began = time.perf_counter()
            command = [*REGARD, "translate", str(arguments.bundle), "--engine", engine]
            subprocess.run(command, input=line, text=True, check=True, stdout=subprocess.DEVNULL)
            found.append(time.perf_counter() - began)
        print(f"| regard translate --engine {engine} | {statistics.median(found[1:]):.2f} |")


def memory(arguments: argparse.Namespace) -> None:
    """The largest resident memory of `regard translate -o` for files of several sizes."""
    lines = cycle(line for line in arguments.text.read_text(encoding="utf-8").split("\n") if line.strip())
    print("\n| lines, from file to file | peak memory (MB) | seconds |\n| --- | --- | --- |")
    for count in arguments.memory:
        with tempfile.TemporaryDirectory() as home:
            Path(home, "in").write_text("".join(f"{line}\n" for line in islice(lines, count)), encoding="utf-8")
            say(f"memory for {count:,} lines")
            began = time.perf_counter()
            command = [*REGARD, "translate", str(arguments.bundle), "-i", f"{home}/in", "-o", f"{home}/out"]
            child = subprocess.Popen([*command, "--engine", "ct2", "--beam", "1"])
            peak = 0
            while child.poll() is None:
                peak = max(peak, _peak_memory(child.pid))
                time.sleep(0.05)
            if child.returncode:
                raise SystemExit(f"regard translate ended with exit code {child.returncode}")
        print(f"| {count:,} | {peak / 1024:,.0f} | {time.perf_counter() - began:,.1f} |", flush=True)


def _peak_memory(pid: int) -> int:
    """The most that a process had so far, in kilobytes. (What `wait4` says of a child counts its parent too.)"""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def say(message: str) -> None:
    """Tell how far it is, beside the results."""
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


def _ratio(theirs: list[float], ours: list[float]) -> str:
    ratios = [one / other for one, other in zip(theirs, ours, strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _same(texts: dict[tuple[str, int], list[str]], name: str, beam: int) -> str:
    expected = texts.get(("regard torch", beam))
    if expected is None:
        return "-"
    return f"{sum(map(str.__eq__, expected, texts[name, beam])) / len(expected):.3f}"


def _bleu(arguments: argparse.Namespace, texts: list[str]) -> float:
    from regard.metrics.translation import bleu

    pairs = zip(
        *(path.read_text(encoding="utf-8").split("\n") for path in (arguments.text, arguments.ref)), strict=True
    )
    references = [reference for line, reference in pairs if line.strip()][: len(texts)]
    return bleu(texts, references, tokenize=arguments.tokenize).value


class Runner:
    """A program in a process of its own, which does what it is asked."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._name = name
        self._pipe, pipe = context.Pipe()
        # a daemon: it does not outlive a benchmark that ends early
        self._process = context.Process(target=_serve, args=(name, options, pipe), daemon=True)
        self._process.start()
        pipe.close()

    def ask(self, task: str, beam: int) -> Any:
        """What the program answers; where it fails or dies, so does the benchmark, and says why."""
        began = time.perf_counter()
        try:
            self._pipe.send((task, beam))
            sound, answer = self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join()
            raise SystemExit(f"{self._name}: died, exit code {self._process.exitcode}") from None
        if not sound:
            raise SystemExit(f"{self._name}: failed\n{answer}")
        say(f"{self._name}: {task}, beam {beam}, {time.perf_counter() - began:.1f} s")
        return answer

    def dismiss(self) -> None:
        self._pipe.send(None)
        self._process.join()


Translate = Callable[[Any, int], Any]


def _serve(name: str, options: dict[str, Any], pipe: Connection) -> None:
    """Answer with (True, what was asked for), or with (False, what went wrong) and end."""
    try:
        answers = _answers(name, options)
        for task, beam in iter(pipe.recv, None):
            pipe.send((True, answers[task](beam)))
    except EOFError:
        pass  # the benchmark has ended
    except SystemExit as refusal:
        pipe.send((False, str(refusal)))
    except Exception:
        pipe.send((False, traceback.format_exc()))


def _answers(name: str, options: dict[str, Any]) -> dict[str, Callable[[int], Any]]:
    """What a program can be asked for: task -> beam -> answer."""
    lines = [line for line in options["text"].read_text(encoding="utf-8").split("\n") if line.strip()]
    lines = lines[: options["sentences"]]
    build = _regard if name.startswith("regard") else _ctranslate2 if name.startswith("CT") else _hugging_face
    prepare, translate, read, stream = build(name, options)
    together = prepare(lines)
    some = [prepare([line]) for line in lines[:: max(1, len(lines) // options["singly"])][: options["singly"]]]

    def timed(work: Callable[[], object]) -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    def singly(beam: int) -> float:
        return statistics.median(timed(lambda one=one: translate(one, beam)) for one in some)

    return {
        "texts": lambda beam: read(lines, translate(together, beam)),
        "together": lambda beam: timed(lambda: translate(together, beam)),
        "singly": singly,
        "stream": lambda beam: stream(list(islice(cycle(lines), options["stream"])), beam),
    }


def _regard(name: str, options: dict[str, Any]) -> tuple[Any, Translate, Any, Any]:
    """Text in, text out."""
    from regard.cli.lines import work_on_lines
    from regard.cli.translate import Job
    from regard.engine.load import load
    from regard.engine.options import SearchOptions

    engine, _, precision = name.removeprefix("regard ").partition(" ")
    if engine == "torch":
        import torch

        torch.set_num_threads(CORES)
    model = load(options["bundle"], engine=engine, precision=precision or "float32")  # type: ignore[arg-type]

    def translate(texts: list[str], beam: int) -> list[str]:
        batch_tokens = options["batch_tokens"]
        found = model.translate(texts, beam=beam, alpha=options["alpha"], batch_tokens=batch_tokens)
        return [one.text for one in found]

    def stream(lines: list[str], beam: int) -> float:
        search = SearchOptions(beam=beam, alpha=options["alpha"])
        job = Job(model, search, with_prefix=False, with_phrases=False, align=False)
        with tempfile.TemporaryDirectory() as home:
            Path(home, "in").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            began = time.perf_counter()
            work_on_lines(job, f"{home}/in", f"{home}/out", settings={})
            return time.perf_counter() - began

    return list, translate, lambda lines, texts: texts, stream


def _ctranslate2(name: str, options: dict[str, Any]) -> tuple[Any, Translate, Any, Any]:
    """Pieces in, pieces out, sorted and with the settings that serve it best."""
    import ctranslate2

    from regard.bundle.ctranslate2 import converted
    from regard.bundle.locate import find_bundle
    from regard.bundle.opened import open_bundle

    bundle, precision = open_bundle(find_bundle(options["bundle"])), name.split()[1]
    translator = ctranslate2.Translator(
        str(converted(bundle, precision)),  # type: ignore[arg-type]
        compute_type=precision,
        inter_threads=CORES,
        intra_threads=1,
    )
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    best: dict[int, int] = {}

    def prepare(texts: list[str]) -> list[list[str]]:
        rows = [[source.vocabulary.pieces[index] for index in ids] for ids in source.encode_batch(texts)]
        return sorted(rows, key=len, reverse=True)

    def run(rows: list[list[str]], beam: int, batch: int) -> list[Any]:
        found: list[Any] = translator.translate_batch(
            rows,
            beam_size=beam,
            length_penalty=options["alpha"],
            max_batch_size=batch,
            batch_type="tokens",
            max_decoding_length=2 * len(rows[0]) + 10,  # as regard's longest; else what does not end goes on to 256
        )
        return found

    def translate(rows: list[list[str]], beam: int) -> list[Any]:
        if beam not in best and len(rows) > 1:
            times = {}
            for batch in CT2_BATCHES * 2:
                began = time.perf_counter()
                run(rows, beam, batch)
                times[batch] = min(times.get(batch, float("inf")), time.perf_counter() - began)
            best[beam] = min(times, key=times.__getitem__)
        return run(rows, beam, best.get(beam, CT2_BATCHES[0]))

    def read(lines: list[str], found: list[Any]) -> list[str]:
        lengths = [len(ids) for ids in source.encode_batch(lines)]
        order = sorted(range(len(lines)), key=lambda number: lengths[number], reverse=True)  # as `prepare` sorts
        texts = dict(zip(order, found, strict=True))
        ids = [[target.vocabulary.id_of(piece) for piece in texts[n].hypotheses[0]] for n in range(len(lines))]
        return [target.decode(row) for row in ids]

    def stream(lines: list[str], beam: int) -> float:
        rows = prepare(lines)
        began = time.perf_counter()
        translate(rows, beam)
        return time.perf_counter() - began

    return prepare, translate, read, stream


def _hugging_face(name: str, options: dict[str, Any]) -> tuple[Any, Translate, Any, Any]:
    """Ids in, ids out, in regard torch's batches."""
    import peers
    import torch

    from regard.bundle.bundle import load_bundle
    from regard.bundle.locate import find_bundle
    from regard.engine.batching import length_batches, padded

    torch.set_num_threads(CORES)
    bundle = load_bundle(find_bundle(options["bundle"]))
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    pad = target.vocabulary.pad
    model = peers.exported(bundle.model, bundle.config.model, len(target.vocabulary))

    def prepare(texts: list[str]) -> list[tuple[list[int], torch.Tensor]]:
        rows = source.encode_batch(texts)
        batches = length_batches([len(ids) for ids in rows], options["batch_tokens"])
        return [(batch, padded([[*rows[n], 0] for n in batch], pad, torch.device("cpu"))) for batch in batches]

    @torch.inference_mode()
    def translate(batches: list[tuple[list[int], torch.Tensor]], beam: int) -> dict[int, list[int]]:
        found = {}
        for numbers, ids in batches:
            said = model.generate(
                ids,
                attention_mask=(ids != pad).long(),
                num_beams=beam,
                do_sample=False,
                **({"length_penalty": options["alpha"]} if beam > 1 else {}),
                max_new_tokens=2 * ids.shape[1] + 10,
            )
            found.update(zip(numbers, said.tolist(), strict=True))
        return found

    def read(lines: list[str], found: dict[int, list[int]]) -> list[str]:
        return [target.decode(found[number]) for number in range(len(lines))]

    return prepare, translate, read, None


if __name__ == "__main__":
    main()
