"""A grid of runs: every combination of some settings' values, times seeds, each a cell with a directory of its own. It trains nothing."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.config import STDIN
from regard.errors import ConfigError, TrainError
from regard.settings import last_parts, override, read_json
from regard.train.config import RunConfig
from regard.train.start import run_config

SEED = "train.seed"
CONFIG, METRICS, LATEST = "config.json", "metrics.json", "latest"
LONGEST_NAME = 255  # bytes, on nearly every file system
_BRACKETS = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True)
class Cell:
    """One run of a grid."""

    name: str
    sets: tuple[str, ...]
    """Its values as `KEY=VALUE`, which is how `regard train --set` takes them."""
    config: RunConfig


def grid(
    values: Mapping[str, Any], assignments: Sequence[str], seeds: int | None = None, where: str = "settings"
) -> list[Cell]:
    """The cells of `KEY=VALUE,VALUE..` assignments over the settings `values`: all combinations of one seed, then of the next.

    `seeds` are so many from the settings' own train.seed on. Every cell is checked here, so that nothing trains before all are sound.
    """
    swept = dict(_swept(assignments))
    if SEED in swept and seeds is not None:
        raise ConfigError(f"--seeds {seeds}: --set {SEED} tells the seeds already; give one of the two")
    keys = list(swept)
    cells = []
    for combination in itertools.product(*swept.values()):
        sets = [f"{key}={text}" for key, text in zip(keys, combination, strict=True)]
        first = _config(values, sets, where).train.seed
        for number in range(seeds or 1):
            seeded = sets if SEED in swept else [*sets, f"{SEED}={first + number}"]
            cells.append((number, Cell(_name(seeded), tuple(seeded), _config(values, seeded, where))))
    found = [cell for _, cell in sorted(cells, key=lambda numbered: numbered[0])]
    _refuse_twins(found)
    return found


def _swept(assignments: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    seen = set()
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(f"--set {assignment}: expected KEY=VALUE,VALUE.., for example --set model.layers=2,4")
        if key in seen:
            raise ConfigError(f"--set {assignment}: {key} is given twice; write all its values after one --set")
        seen.add(key)
        yield key, split_values(assignment, text)


def split_values(assignment: str, text: str) -> list[str]:
    """`a,b,"c,d",[e,f]` as its values: a comma inside of quotes or brackets separates nothing."""
    found, depth, quote, escaped = [""], 0, "", False
    for character in text:
        if not quote and not depth and character == ",":
            found.append("")
            continue
        if escaped:
            escaped = False
        elif quote:
            escaped = character == "\\" and quote == '"'
            quote = "" if character == quote else quote
        elif character in "\"'" and (depth or not found[-1].strip()):  # inside of a word it is an apostrophe
            quote = character
        else:
            depth += _BRACKETS.get(character, 0)
        found[-1] += character
    found = [value.strip() for value in found]
    if quote or depth:
        raise ConfigError(f"--set {assignment}: {'a quote' if quote else 'a bracket'} is not closed")
    if "" in found:
        raise ConfigError(f'--set {assignment}: an empty value; write "" for the empty text')
    return found


def _config(values: Mapping[str, Any], sets: Sequence[str], where: str) -> RunConfig:
    config = run_config(override(values, sets), " --set ".join([where, *sets]))
    for name, value in config.data:
        if value == STDIN:
            raise ConfigError(f"data.{name} = '-': every cell reads the data anew, and standard input can be read once")
    return config


def _name(sets: Sequence[str]) -> str:
    """`norm=post,seed=1`: a directory's name that tells what is in it."""
    given = dict(assignment.split("=", 1) for assignment in sets)
    short = last_parts(given)
    safe = {key: re.sub(r"[^\w.+-]+", "_", text).strip("_") for key, text in given.items()}
    name = ",".join(f"{short[key]}={text}" for key, text in safe.items())
    if len(name.encode("utf-8")) > LONGEST_NAME:
        raise ConfigError(
            f"{name}: too long for a directory's name; move what all cells share from --set to CONFIG.toml"
        )
    return name


def _refuse_twins(cells: Sequence[Cell]) -> None:
    seen: dict[str, Cell] = {}
    for cell in cells:
        for mark in (cell.name, cell.config.model_dump_json()):
            twin = seen.setdefault(mark, cell)
            if twin is not cell:
                raise ConfigError(
                    f"--set {' --set '.join(cell.sets)}: the same settings or the same name, {cell.name}, as "
                    f"{' '.join(twin.sets)}; give values that differ"
                )


def places(cells: Sequence[Cell], out: Path) -> list[Path]:
    """The directory of each cell: where a run of just these settings lies in `out`, whatever its name, else a new one."""
    runs = {path.parent: RunConfig.parse(read_json(path), str(path)) for path in sorted(out.glob(f"*/{CONFIG}"))}
    begun = {run: config for run, config in runs.items() if is_done(run) or (run / LATEST).exists()}
    found = []
    for cell in cells:
        there = next((run for run, config in begun.items() if config == cell.config), out / cell.name)
        if there in begun and begun[there] != cell.config:
            changes = "; ".join(cell.config.changed_from(begun[there]))
            raise TrainError(f"{there}: was trained with other settings ({changes}); choose another --out")
        found.append(there)
    return found


def is_done(run: Path) -> bool:
    """Whether the run came to its end."""
    return (run / METRICS).exists()
