"""Splits a corpus of pairs into training, validation and test text: `regard data split`.

    OUT/train.src  OUT/train.tgt  OUT/valid.src  OUT/valid.tgt  OUT/test.src  OUT/test.tgt

| order | the last pairs are the test, those before them validate | for |
| --- | --- | --- |
| `random` | sources in a seeded order; all pairs of a source are in one part | words with several pronunciations |
| `given` | as they stand in the file | a split that others use |
| `length` | by the words of the target, shortest first | generalisation to longer outputs |

With `random`, a source of the validation and of the test is there once. Its further targets are alternatives, in `test.tgt2`, `test.tgt3`
.., with a blank line where a source has none: `regard evaluate --ref test.tgt --ref test.tgt2`. They are 16 at most. The corpus is held
in memory.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from regard.activity import activity
from regard.data.config import STDIN
from regard.data.convert import PairReader, blocks_of, corpus_languages
from regard.data.formats import LanguagePair, PairFiles
from regard.data.readers import MOST_WHOLE, Pair
from regard.data.writers import open_writer
from regard.errors import ConfigError, DataError, shown
from regard.files import refuse_taken, whole_directory

Order = Literal["random", "given", "length"]
ORDERS: tuple[Order, ...] = get_args(Order)
PARTS = ("train", "valid", "test")
MOST_ALTERNATIVES = 16
_A_PAIR = 200  # bytes that a pair takes beside its characters, about


@dataclass(frozen=True)
class SplitPart:
    """A part of a corpus that was written."""

    name: str
    sources: int
    pairs: int
    references: int
    """The files of targets: 1, or more with alternatives."""


def split_corpus(
    files: PairFiles,
    read: PairReader,
    out: Path,
    *,
    valid: int,
    test: int,
    order: Order = "random",
    seed: int = 1,
    languages: LanguagePair = (None, None),
) -> list[SplitPart]:
    """Write the parts of a corpus to the new directory `out`. valid, test: their sizes, in sources."""
    refuse_taken(out)
    groups = _groups(files, partial(read, files, corpus_languages(files, None, languages)), together=order == "random")
    if valid + test >= len(groups):
        unit = "different sources" if order == "random" else "pairs"
        raise DataError(
            f"{files.name}: {len(groups):,} {unit}, and --valid {valid} and --test {test} leave nothing to train on; take fewer"
        )
    if order == "random":
        random.Random(seed).shuffle(groups)
    elif order == "length":
        groups.sort(key=lambda group: len(group[0][1].split()))  # stable: pairs of a length stay in order
    if order == "random":
        for group in groups[len(groups) - valid - test :]:
            _check_alternatives(files.name, group)
    bounds = (0, len(groups) - valid - test, len(groups) - test, len(groups))
    with activity("writing"), whole_directory(out) as staging:
        return [
            _write(staging, name, groups[first:last], alternatives=order == "random" and name != "train")
            for name, first, last in zip(PARTS, bounds, bounds[1:], strict=False)
            if last > first
        ]


def _groups(files: PairFiles, read: Callable[[], Iterator[Pair]], together: bool) -> list[list[Pair]]:
    """The pairs in the order of the corpus: those of a source together, or each alone. Pairs without a side are left out."""
    groups: dict[object, list[Pair]] = {}
    size = 0
    with activity("reading", unit="pairs") as progress:
        for block in blocks_of(read()):
            for source, target in block:
                pair = " ".join(source.split()), " ".join(target.split())
                if not all(pair):
                    continue
                size += len(pair[0]) + len(pair[1]) + _A_PAIR
                if size > MOST_WHOLE:
                    raise DataError(
                        f"{files.name}: more than {MOST_WHOLE:,} bytes of memory for its pairs; split a smaller corpus"
                    )
                own = groups.setdefault(pair[0] if together else len(groups), [])
                if not together or pair not in own:
                    own.append(pair)
            progress.advance(len(block))
    return list(groups.values())


def _check_alternatives(name: str, group: Sequence[Pair]) -> None:
    """Refuse a source with so many targets that each would be nearly a file of its own."""
    if len(group) > MOST_ALTERNATIVES:
        raise DataError(
            f"{name}: {shown(group[0][0], 40)} has {len(group):,} different targets, and a source of the validation or test text "
            f"has at most {MOST_ALTERNATIVES}, each in a file of its own; leave some out, or split with --order given"
        )


def _write(directory: Path, name: str, groups: Sequence[Sequence[Pair]], *, alternatives: bool) -> SplitPart:
    pairs = sum(map(len, groups))
    if not alternatives:
        rows = [pair for group in groups for pair in group]
        _write_pairs(directory / f"{name}.src", directory / f"{name}.tgt", rows)
        return SplitPart(name, len(groups), pairs, 1)
    most = max(map(len, groups))
    for number in range(most):
        rows = [(group[0][0], group[number][1] if number < len(group) else "") for group in groups]
        _write_pairs(directory / f"{name}.src", directory / f"{name}.tgt{number + 1 if number else ''}", rows)
    return SplitPart(name, len(groups), pairs, most)


def _write_pairs(source: Path, target: Path, rows: Iterable[Pair]) -> None:
    """Write both files of a part; the sources that are there already stay."""
    sources, targets = zip(*rows, strict=True)
    if source.exists():
        target.write_text("".join(f"{line}\n" for line in targets), encoding="utf-8")
        return
    with open_writer(PairFiles("moses", (str(source), str(target))), (None, None)) as writer:
        writer.write(sources, targets)


def check_split(valid: int, test: int, order: str, seed: int | None, paths: Sequence[str]) -> Order:
    """Refuse sizes and options that do not fit together, before anything is read."""
    found = next((name for name in ORDERS if name == order), None)
    if found is None:
        raise ConfigError(f"--order {order}: not one of {', '.join(ORDERS)}")
    if valid + test == 0:
        raise ConfigError("--valid 0 and --test 0: nothing is taken from the training text; give one of them")
    if seed is not None and found != "random":
        raise ConfigError(f"--seed {seed}: the order {found} draws nothing; leave it out")
    if STDIN in paths[-1:]:
        raise ConfigError("OUT is a new directory, not standard output; give its path")
    return found
