"""Grid search: the runs of all combinations of settings and seeds, each with its own directory. It trains nothing."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from regard.data.config import STDIN
from regard.errors import ConfigError, TrainError
from regard.settings import last_parts, override
from regard.tasks.fine_tuning import run_settings
from regard.tasks.runs import CONFIG, LATEST, is_done
from regard.tasks.settings import changes_since, parse_stored, restoring
from regard.training.config import RunSettings

SEED = "train.seed"
LONGEST_NAME = 255  # bytes, on nearly every file system
_BRACKETS = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True)
class Cell:
    """One run of a grid."""

    name: str
    sets: tuple[str, ...]
    """Its values as `KEY=VALUE`, as for `regard train --set`."""
    config: RunSettings


def grid(
    values: Mapping[str, Any], assignments: Sequence[str], seeds: int | None = None, where: str = "settings"
) -> list[Cell]:
    """The cells of `KEY=VALUE,VALUE..` assignments over the settings `values`: all combinations with one seed, then with the next.

    seeds: the number of seeds, from train.seed on. The settings of every cell are checked here, before any training.
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
    ordered = [cell for _, cell in sorted(cells, key=lambda numbered: numbered[0])]
    _refuse_twins(ordered)
    return ordered


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
    """Split `a,b,"c,d",[e,f]` at commas outside of quotes and brackets."""
    values, depth, quote, escaped = [""], 0, "", False
    for character in text:
        if not quote and not depth and character == ",":
            values.append("")
            continue
        if escaped:
            escaped = False
        elif quote:
            escaped = character == "\\" and quote == '"'
            quote = "" if character == quote else quote
        elif character in "\"'" and (depth or not values[-1].strip()):  # inside of a word it is an apostrophe
            quote = character
        else:
            depth += _BRACKETS.get(character, 0)
        values[-1] += character
    values = [value.strip() for value in values]
    if quote or depth:
        raise ConfigError(f"--set {assignment}: {'a quote' if quote else 'a bracket'} is not closed")
    if "" in values:
        raise ConfigError(f'--set {assignment}: an empty value; write "" for the empty text')
    return values


def _config(values: Mapping[str, Any], sets: Sequence[str], where: str) -> RunSettings:
    config = run_settings(override(values, sets), " --set ".join([where, *sets]))
    for name, value in _data_settings(getattr(config, "data", ())):
        if value == STDIN:
            raise ConfigError(f"data.{name} = '-': every cell reads the data anew, and standard input can be read once")
    return config


def _data_settings(data: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """(name, value) of the data settings, those of each of several corpora included."""
    for name, value in data:
        yield name, value
        for number, row in enumerate(value if isinstance(value, tuple) else ()):
            if isinstance(row, BaseModel):
                yield from ((f"{name}.{number}.{inner}", text) for inner, text in row)


def _name(sets: Sequence[str]) -> str:
    """The name of a cell's directory, such as `norm=post,seed=1`."""
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


def positions_note(cells: Sequence[Cell]) -> str | None:
    """A note on cells that differ in positions only because of their scores; None: there are none."""
    filled = [cell.config.model for cell in cells if getattr(cell.config.model, "remarks", ())]
    used = {getattr(cell.config.model, "positions", None): None for cell in cells}
    if not filled or len(used) < 2:
        return None
    return positions_differ({str(positions): None for positions in used if positions is not None})


def positions_differ(names: Iterable[str]) -> str:
    """The note on runs whose scores do not read the same positions."""
    return (
        f"model.positions differs too ({', '.join(names)}), because not every model.score reads rotary ones; "
        "with --set model.positions=sinusoidal only the score differs"
    )


def places(cells: Sequence[Cell], out: Path) -> list[Path]:
    """The directory of each cell: that of a run in `out` with the same settings, whatever its name, else a new one.

    A run of the same settings but of another version of an extension is refused, as when it is resumed.
    """
    runs = {path.parent: parse_stored(path) for path in sorted(out.glob(f"*/{CONFIG}"))}
    begun = {run: config for run, config in runs.items() if is_done(run) or (run / LATEST).exists()}
    directories = []
    for cell in cells:
        directory = next((run for run, config in begun.items() if config == cell.config), out / cell.name)
        if directory in begun and (changes := changes_since(directory / CONFIG, cell.config)):
            fix = ", or ".join(filter(None, (restoring(directory / CONFIG), "choose another --out")))
            raise TrainError(f"{directory}: was trained with other settings ({'; '.join(changes)}); {fix}")
        directories.append(directory)
    return directories
