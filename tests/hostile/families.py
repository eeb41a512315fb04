"""The table of hostile families, and how one of their cases is played.

A family is a function `(rng, directory) -> Command`. The directory holds copies of the sound runs and texts of
`Materials`, which it may damage. To add a family, write such a function and give it a row here.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from hostile import (
    bundles,
    configs,
    corpora,
    foreign_models,
    foreign_tokenizers,
    options,
    pictures,
    pointers,
    series,
    shown_names,
    signals,
    streams,
    weights,
)
from hostile.verbs import RUNS, Command, Family, Materials, Outcome, Server, digest_of, problems

FAMILIES: Mapping[str, Family] = {
    "bundles": bundles.bundle,
    "adapters": bundles.adapter,
    "manifests": bundles.manifest,
    "runs": bundles.run,
    "protobufs": bundles.protobuf,
    "safetensors": weights.weights,
    "pointers": pointers.pointer,
    "configs": configs.config,
    "settings": configs.setting,
    "corpora": corpora.corpus,
    "pictures": pictures.picture,
    "series": series.series,
    "imports": foreign_models.directory_of_another_program,
    "tokenizers": foreign_tokenizers.directory,
    "zips": foreign_models.zip_file,
    "exports": foreign_models.export,
    "input": corpora.lines,
    "options": options.option,
    "names": shown_names.name,
    "streams": streams.stream,
    "signals": signals.interrupted,
}


@dataclass(frozen=True)
class Round:
    """One case: what was run, how it ended, and what fell short."""

    family: str
    seed: int
    command: Command
    outcome: Outcome
    problems: list[str]


def play(family: str, seed: int, materials: Materials, server: Server, home: Path) -> Round:
    """Play one case of a family, in a directory that is removed afterwards."""
    place = home / f"{family}-{seed}"
    directory, outside = place / "inside", place / "outside"
    for name in (*RUNS, "ct2", "pictures"):
        shutil.copytree(materials.home / name, directory / name)
    for path in (*materials.home.glob("a.*"), materials.home / "captions.tsv", materials.home / "model.zip"):
        shutil.copy(path, directory)
    outside.mkdir()
    (outside / "secret.txt").write_text("the secret that no message repeats\n" * 3, encoding="utf-8")
    before = digest_of(outside)
    try:
        command = FAMILIES[family](Random(f"{family} {seed}"), directory)
        outcome = server.run(command, directory)
        found = problems(command, outcome)
        if digest_of(outside) != before or {path.name for path in place.iterdir()} != {"inside", "outside"}:
            found.append("something was written outside")
        if "the secret that no message" in outcome.err + outcome.out:
            found.append("a file outside was shown")
        return Round(family, seed, command, outcome, found)
    finally:
        _remove(place)


def _remove(place: Path) -> None:
    """Remove a directory in which something may not be permitted."""
    for path in place.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(place)
