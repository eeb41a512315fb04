"""Decoding speed: regard's two engines beside CTranslate2 called directly and Hugging Face's `generate`, in alternating rounds.

    python benchmarks/decoding.py runs/en-de --text test.en --ref test.de            # 1,000 sentences, and one at a time
    python benchmarks/decoding.py runs/en-de --text test.en --stream 20000           # and text to text, as `regard translate` does it
    python benchmarks/decoding.py runs/en-de --text test.en --memory 20000 200000    # and the memory that this takes

One trained model in every program. Each lives in a process of its own and waits while another works; standard error tells how far it is.
`regard` gets text and gives text. `CTranslate2` gets the pieces, made and sorted beforehand, in the batches that were fastest of several
when it warmed up, with one worker of one thread for each core, and gives pieces. `Hugging Face` gets ids in regard torch's batches, and
gives ids; pre-norm models run as its Pegasus, post-norm as its Marian. Without `--scores` nobody is asked for scores. A ratio is the
median over the rounds, with the smallest and largest. `same` is the share of sentences whose text is that of regard torch. Needs
`transformers` and `ctranslate2` (the extra `benchmarks`).
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path

from decoding_programs import CORES, Runner, processor, say

NAMES = (
    "regard torch",
    "regard torch shortlist",
    "regard ct2 float32",
    "regard ct2 float32 shortlist",
    "regard ct2 int8",
    "regard ct2 int8 shortlist",
    "CTranslate2 float32",
    "CTranslate2 int8",
    "Hugging Face generate",
)
PAIRS = {
    "regard torch": "Hugging Face generate",
    "regard ct2 float32": "CTranslate2 float32",
    "regard ct2 int8": "CTranslate2 int8",
    "regard ct2 float32 shortlist": "CTranslate2 float32",
    "regard ct2 int8 shortlist": "CTranslate2 int8",
    "regard torch shortlist": "regard torch",
}
STREAMING = tuple(name for name in NAMES if "ct2" in name or "CTranslate2" in name)
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
    parser.add_argument(
        "--scores",
        action="store_true",
        help="regard and CTranslate2 return scores too, which greedy search can do without",
    )
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="count the seconds of processor of all threads, not of the wall: for a machine with other work",
    )
    parser.add_argument("--no-start", action="store_true", help="leave out the time from the command to one line")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES)
    arguments = parser.parse_args()
    arguments.only = [name for name in arguments.only if not left_out(name, arguments.bundle)]
    runners = {name: Runner(name, vars(arguments)) for name in arguments.only}
    texts = {(name, beam): runner.ask("texts", beam) for beam in arguments.beams for name, runner in runners.items()}
    seconds = rounds(arguments, runners)
    for runner in runners.values():
        runner.dismiss()
    report(arguments, seconds, texts)
    if not arguments.no_start:
        startup(arguments)
    if arguments.memory:
        memory(arguments)


def left_out(name: str, path: Path) -> bool:
    """Whether the bundle has nothing to measure by this name; standard error says why."""
    from peers import without_peer

    from regard.bundle.locate import find_bundle
    from regard.bundle.shortlist import has_shortlist
    from regard.tasks.bundles import open_bundle

    bundle, why = open_bundle(find_bundle(path)), None
    if name.startswith("Hugging Face"):
        missing = None if find_spec("transformers") else "the package transformers is not installed"
        why = missing or without_peer(bundle.config.model)
    elif name.endswith("shortlist") and not has_shortlist(bundle):
        why = "the bundle has no shortlist; make it with `regard shortlist`"
    if why is not None:
        say(f"{name}: left out: {why}")
    return why is not None


def rounds(arguments: argparse.Namespace, runners: dict[str, Runner]) -> Seconds:
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
    packages = [name for name in ("torch", "ctranslate2", "transformers") if find_spec(name)]
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    print(
        f"{count:,} sentences of {arguments.text.name}, alpha {arguments.alpha:g}, {arguments.rounds} rounds; {versions}, "
        f"{processor()}, {CORES} cores{', seconds of processor, all threads' if arguments.processor_time else ''}\n"
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
        others = [("regard ct2 int8", "regard ct2 float32"), ("regard torch", "Hugging Face generate")]
        for ours, theirs in dict.fromkeys([*PAIRS.items(), *others]):
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


if __name__ == "__main__":
    main()
