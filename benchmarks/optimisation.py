"""The experiments on optimisation of docs/experiments.md: trains what is not trained yet, prints the tables, draws the figures.

    python benchmarks/optimisation.py --out runs/optimisation

Every run is `regard train` with a recipe of recipes/optimisation and a few --set, in a process of its own, and can be interrupted: the
same command goes on. `--under "nice -n 19"` starts each training under another command.
"""

import argparse
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECIPES = ROOT / "recipes" / "optimisation"
FAILED = "failed.txt"  # why a run came to no end, in its directory

RATES: dict[str, tuple[str, ...]] = {  # a factor of about three apart
    "sgd": ("0.1", "0.3", "1", "3", "10"),
    "momentum": ("0.03", "0.1", "0.3", "1"),
    "adam": ("1e-3", "3e-3", "1e-2"),
    "adamw": ("3e-3",),
    "muon": ("1e-3", "3e-3", "1e-2", "3e-2"),
}
NAMES = {"sgd": "SGD", "momentum": "SGD, momentum 0.9", "adam": "Adam", "adamw": "AdamW, decay 0.1", "muon": "Muon"}
# Tokens a batch, and how many batches have the tokens of 320 of 1,024; a tenth of them is the warm-up, a fifth lies between validations.
BATCHES = {256: 1280, 1024: 320, 4096: 80, 16384: 20}
BATCH_RATES = {  # up to where a higher one is worse
    256: ("1e-3", "3e-3", "1e-2"),
    1024: RATES["muon"],
    4096: ("1e-3", "3e-3", "1e-2", "3e-2", "1e-1"),
    16384: ("1e-3", "3e-3", "1e-2", "3e-2", "1e-1"),
}


@dataclass(frozen=True)
class Trial:
    """One run: a recipe and what is changed of it."""

    name: str
    recipe: str
    changes: tuple[str, ...] = ()

    def command(self, out: Path) -> list[str]:
        regard = [sys.executable, "-c", "from regard.cli.main import run; run()", "train"]
        sets = [part for change in self.changes for part in ("--set", change)]
        return [*regard, str(RECIPES / f"{self.recipe}.toml"), "--out", str(out / self.name), *sets]


def optimiser_trial(kind: str, rate: str) -> Trial:
    return Trial(f"{kind}-{rate}", kind, (f"train.learning_rate={rate}",))


def batch_trial(tokens: int, rate: str) -> Trial:
    """At 1,024 tokens it is the trial of Muon itself."""
    if tokens == 1024:
        return optimiser_trial("muon", rate)
    steps = BATCHES[tokens]
    changes = {
        "learning_rate": rate,
        "batch_tokens": tokens,
        "max_steps": steps,
        "save_every": steps,
        "warmup": steps // 10,
        "validate_every": steps // 5,
        "diagnose_every": max(1, steps // 40),
    }
    return Trial(f"batch-{tokens}-{rate}", "muon", tuple(f"train.{key}={value}" for key, value in changes.items()))


FLOWS = {
    "post-norm": Trial("post-norm", "gradient-flow"),
    "pre-norm": Trial("pre-norm", "gradient-flow", ("model.norm=pre",)),
}


def train(trial: Trial, out: Path, under: list[str]) -> None:
    """Run it unless it is done; a run that diverges leaves word of it."""
    home = out / trial.name
    if (home / "metrics.json").exists() or (home / FAILED).exists():
        return
    print(f"-- {trial.name}", file=sys.stderr, flush=True)
    done = subprocess.run([*under, *trial.command(out)], stderr=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode == 2 and "gradient norm" in done.stderr:
        (home / FAILED).write_text(done.stderr.strip().splitlines()[-1] + "\n", encoding="utf-8")
    elif done.returncode:
        sys.exit(done.stderr)


def events_of(trial: Trial, out: Path) -> list[dict[str, Any]]:
    from regard.explain.report import read_events

    return read_events(out / trial.name / "log.jsonl")


def last_validation(trial: Trial, out: Path) -> dict[str, Any] | None:
    """How it ended, or nothing where it diverged."""
    if (out / trial.name / FAILED).exists():
        return None
    return [event for event in events_of(trial, out) if event["event"] == "validated"][-1]


def best(trials: list[Trial], out: Path) -> Trial:
    """The trial with the lowest validation loss at its end."""
    ended = {trial: last_validation(trial, out) for trial in trials}
    return min((trial for trial in trials if ended[trial]), key=lambda trial: ended[trial]["loss"])


def print_table(head: str, rows: dict[str, list[Trial]], out: Path) -> None:
    """The end of every trial, the best of each row's in bold."""
    print(f"\n| {head} | rate | validation loss | BLEU | seconds |\n| --- | --- | --- | --- | --- |")
    for label, trials in rows.items():
        chosen = best(trials, out)
        for trial in trials:
            rate = next(change for change in trial.changes if "learning_rate" in change).partition("=")[2]
            end = last_validation(trial, out)
            if end is None:
                print(f"| {label} | {rate} | diverged | - | - |")
                continue
            loss = f"**{end['loss']:.3f}**" if trial == chosen else f"{end['loss']:.3f}"
            print(f"| {label} | {rate} | {loss} | {end['bleu']:.1f} | {end['seconds']:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/optimisation"))
    parser.add_argument("--figures", type=Path, default=ROOT / "docs" / "figures")
    parser.add_argument("--under", type=shlex.split, default=[], help="a command that each training is started under")
    arguments = parser.parse_args()
    out: Path = arguments.out.resolve()
    optimisers = {NAMES[kind]: [optimiser_trial(kind, rate) for rate in rates] for kind, rates in RATES.items()}
    batches = {f"{tokens:,} tokens": [batch_trial(tokens, rate) for rate in BATCH_RATES[tokens]] for tokens in BATCHES}
    for trials in (*optimisers.values(), *batches.values(), list(FLOWS.values())):
        for trial in trials:
            train(trial, out, arguments.under)

    print_table("optimiser", optimisers, out)
    print_table("batch", batches, out)
    from regard.explain.figures import draw_gradient_flow, draw_learning_curves

    chosen = {label: events_of(best(trials, out), out) for label, trials in optimisers.items()}
    draw_learning_curves(chosen, arguments.figures / "optimisers.svg")
    sizes = {label: events_of(best(trials, out), out) for label, trials in batches.items()}
    draw_learning_curves(sizes, arguments.figures / "batch-size.svg", across=("step", "tokens"), ordered=True)
    flows = {label: events_of(trial, out) for label, trial in FLOWS.items()}
    draw_gradient_flow(flows, arguments.figures / "gradient-flow.svg")


if __name__ == "__main__":
    main()
