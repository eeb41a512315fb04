"""A recipe whose text two other models have added to (data diversification, Nguyen et al. 2020): trains all three and scores the last.

    python benchmarks/diversified.py recipes/multi30k-diversified.toml --data path/to/multi30k            # on the validation set
    python benchmarks/diversified.py recipes/multi30k-diversified.toml --data path/to/multi30k --test     # and on test2016

A model of each direction is trained by the recipe of --forward and --backward, both at once, each on half of the cores, and translates the
training text. Of every pair there are then three: as it is, with the source that the backward model gives its target, and with the target
that the forward model gives its source. A helper whose recipe names the test set is judged by it in the end, and nothing is chosen by
that. Every stage can be interrupted: the same command goes on. The corpus is that of https://github.com/multi30k/dataset.
"""

import argparse
import gzip
import os
import subprocess
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from multi30k import FILES, REGARD, bleu, corpus, train
from multi30k_files import HELP, PARTS, file_of, language_of

FORWARD, BACKWARD = Path("recipes/multi30k-quick.toml"), Path("recipes/compare-multi30k-transformer.toml")


@dataclass(frozen=True)
class Helper:
    """A model of one direction that translates the training text."""

    recipe: Path
    source: str
    target: str

    @property
    def name(self) -> str:
        return f"{self.recipe.stem.removeprefix('multi30k-')}-{self.source}-{self.target}"

    def translated(self, text: Path, seed: int, out: Path, cores: Sequence[int]) -> Path:
        """Train it, unless it is done, and translate the text; returns where the translation is."""
        os.sched_setaffinity(0, cores)  # of this thread, and so of the processes that it starts
        sides = [(part, language) for part in PARTS for language in (self.source, self.target)]
        named = tomllib.loads(self.recipe.read_text(encoding="utf-8"))["data"]  # not every recipe names a test set
        files = {name: file_of(text, *side) for name, side in zip(FILES, sides, strict=True) if name in named}
        run = out / f"{self.name}-{seed}"
        train(self.recipe, files, seed, [], run)
        made = run / f"train.{self.target}"
        if not made.exists():
            subprocess.run([*REGARD, "translate", run, "-i", files["src"], "-o", made], check=True)
        return made


def diversified(helpers: tuple[Helper, Helper], text: Path, seed: int, out: Path) -> tuple[Path, Path]:
    """Both sides of the text and of what the helpers add to it; they work at once."""
    forward, backward = helpers
    cores = sorted(os.sched_getaffinity(0))
    shares = (cores[: len(cores) // 2] or cores, cores[len(cores) // 2 :])
    with ThreadPoolExecutor(len(helpers)) as threads:
        target, source = threads.map(lambda one, share: one.translated(text, seed, out, share), helpers, shares)
    home = out / f"text-{forward.name}-{backward.name}-{seed}"
    home.mkdir(parents=True, exist_ok=True)
    own_source, own_target = (file_of(text, "train", one) for one in (forward.source, forward.target))
    return (
        _joined((own_source, source, own_source), home / f"train.{forward.source}"),
        _joined((own_target, own_target, target), home / f"train.{forward.target}"),
    )


def _joined(parts: Sequence[Path], path: Path) -> Path:
    path.write_bytes(b"".join(_content(part).removesuffix(b"\n") + b"\n" for part in parts))
    return path


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def main() -> None:
    """Print a table of one row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path, help="such as recipes/multi30k-diversified.toml")
    parser.add_argument("--data", type=Path, required=True, help=HELP)
    parser.add_argument("--forward", type=Path, default=FORWARD, help="the recipe of the model in the same direction")
    parser.add_argument("--backward", type=Path, default=BACKWARD, help="the recipe of the model in the other one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--test", action="store_true", help="read test2016 too")
    asked = parser.parse_args()

    files, began = corpus(asked.recipe, asked.data), time.monotonic()
    source, target, text = language_of(files["src"]), language_of(files["tgt"]), files["valid_src"].parent
    helpers = (Helper(asked.forward, source, target), Helper(asked.backward, target, source))
    sides = diversified(helpers, text, asked.seed, asked.out)
    print(f"two models and their translations: {(time.monotonic() - began) / 60:.1f} minutes, or what was left of them")
    files |= dict(zip(FILES, sides, strict=False))
    run = asked.out / "-".join(["diversified", asked.recipe.stem, *(one.name for one in helpers), str(asked.seed)])
    metrics = train(asked.recipe, files, asked.seed, [], run)
    sets = ("val", "test2016") if asked.test else ("val",)
    print(f"| steps | minutes | parameters | {' | '.join(sets)} |\n|{' --- |' * (3 + len(sets))}")
    found = " | ".join(f"{bleu(run, files, which, beam=5, alpha=1.0):.2f}" for which in sets)
    print(f"| {metrics['steps']:,} | {metrics['seconds'] / 60:.1f} | {metrics['parameters']:,} | {found} |")


if __name__ == "__main__":
    main()
