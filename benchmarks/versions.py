"""The speed of two versions of regard, in alternating rounds: training steps, and greedy and beam search by torch.

    python benchmarks/versions.py --before ../regard-before --rounds 21 [--bundle runs/demo]

With a bundle that both versions can read, also: opening it by torch, opening it by CTranslate2, 1,000 lines by CTranslate2, preparing a
corpus, and the whole command `regard translate`.

Each version runs in a process of its own, on its own source tree. Both read the same pairs, which the pocket corpus of this tree makes.
The ratio of a round is (time before) / (time now), so above 1 is faster.
Printed: the median ratio, and the bootstrap interval of the median.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WORKER = """
import importlib.util, json, sys, tempfile, time
from pathlib import Path
import torch

new = importlib.util.find_spec("regard.training") is not None
if new:
    from regard.tasks.settings import parse_settings as parse
    from regard.tasks.translate.objective import TranslateObjective as Objective
    from regard.tasks.translate.translator import Translator
    from regard.training.loop import advance
    from regard.training.resume import resumed_job
    from regard.training.config import RunSettings
else:
    from regard.engine.model import Model as Translator
    from regard.train.config import RunConfig
    from regard.train.loop import advance
    from regard.train.resume import resumed_job
    from regard.train.translating import Translating as Objective
    parse = RunConfig.parse
from regard.data.prepare import prepare

torch.set_num_threads(2)
home = Path(tempfile.mkdtemp())
train_files = {"src": sys.argv[1] + ".fr", "tgt": sys.argv[1] + ".en", "src_lang": "fr", "tgt_lang": "en"}
config = parse({"data": train_files, "text": {"vocabulary": 2000}, "model": {"preset": "tiny"}, "train": {"max_steps": 100000}})
prepared = prepare(config.data, config.text, home / "corpora")
job, _ = resumed_job(config, home / "run", Objective(config, prepared), torch.device("cpu"))
batches = job.objective.examples.plan(config.train.batch_tokens, 1, 0)
sources = Path(train_files["src"]).read_text(encoding="utf-8").split("\\n")[:100]
team = job.team()
place = 0


def train():
    global place
    for _ in range(10):
        list(advance(job, team, [batches[place % len(batches)]], len(batches), time.perf_counter()))
        place += 1


def translate(beam):
    Translator(job.network, prepared.tokenizers).translate(sources, beam=beam, min_length=20, max_length=20)  # equally many steps


work = {"train": train, "greedy": lambda: translate(1), "beam": lambda: translate(5)}


def opened(engine):
    import regard

    regard.load(sys.argv[2], engine=engine).translate(sources[:1])


def prepare_again():
    prepare(config.data, config.text, Path(tempfile.mkdtemp(dir=home)))


def command():
    import subprocess

    code = "import sys; from regard.cli.main import run; sys.argv[0] = 'regard'; run()"
    subprocess.run([sys.executable, "-c", code, "translate", sys.argv[2]], input=sources[0], text=True, capture_output=True, check=True)


if len(sys.argv) > 2:
    import regard

    many = Path(train_files["src"]).read_text(encoding="utf-8").split("\\n")[:1000]
    fast = regard.load(sys.argv[2], engine="ct2")
    work |= {
        "open_torch": lambda: opened("torch"),
        "open_ct2": lambda: opened("ct2"),
        "ct2": lambda: fast.translate(many, beam=5),
        "prepare": prepare_again,
        "command": command,
    }
for name in work.values():
    name()
print("ready", flush=True)
for line in sys.stdin:
    began = time.perf_counter()
    work[line.strip()]()
    print(time.perf_counter() - began, flush=True)
team.__exit__()
"""


WORKS = ("train", "greedy", "beam")
BUNDLE_WORKS = ("open_torch", "open_ct2", "ct2", "prepare", "command")


class Version:
    """One source tree in a process of its own."""

    def __init__(self, tree: Path, pairs: Path, bundle: Path | None) -> None:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
        cache = tempfile.mkdtemp()
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "2", "REGARD_CACHE": cache}
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(pairs), *([str(bundle)] if bundle else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{tree}: the version did not start")

    def time(self, what: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()


def interval(ratios: list[float], resamples: int = 2000) -> tuple[float, float]:
    """Where 95 % of the medians of resampled rounds lie."""
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(resamples))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


def write_pairs(stem: Path) -> Path:
    """Write 8,000 pairs of the pocket corpus to `stem`.fr and `stem`.en."""
    from regard.data.pocket.corpus import pocket_split

    pairs = pocket_split(train=8000, valid=0, test=0).train
    for language, lines in (("fr", [pair.french for pair in pairs]), ("en", [pair.english for pair in pairs])):
        Path(f"{stem}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return stem


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="the other source tree")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--bundle", type=Path, help="a translator that both versions can open")
    parser.add_argument("--only", action="append", help="measure this alone; may be repeated")
    arguments = parser.parse_args()
    here = Path(__file__).resolve().parent.parent
    pairs = write_pairs(Path(tempfile.mkdtemp()) / "pairs")
    bundle = arguments.bundle.resolve() if arguments.bundle else None
    versions = {"before": Version(arguments.before, pairs, bundle), "now": Version(here, pairs, bundle)}
    results: dict[str, Any] = {}
    for what in arguments.only or (*WORKS, *(BUNDLE_WORKS if bundle else ())):
        ratios = []
        for number in range(arguments.rounds):
            order = list(versions) if number % 2 else list(versions)[::-1]
            times = {name: versions[name].time(what) for name in order}
            ratios.append(times["before"] / times["now"])
        low, high = interval(ratios)
        results[what] = {"median": statistics.median(ratios), "low": low, "high": high}
        print(
            f"{what:10} {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}), {arguments.rounds} rounds",
            flush=True,
        )
    for version in versions.values():
        version.close()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
