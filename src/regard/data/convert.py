"""Converts a corpus of pairs from one format to another: `regard data convert`. It reads and writes block by block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from regard.activity import activity
from regard.data.config import STDIN
from regard.data.formats import LanguagePair, PairFiles
from regard.data.opus import opus_languages
from regard.data.readers import Pair, stored_pairs
from regard.data.writers import check_output, open_writer
from regard.errors import ConfigError

Item = TypeVar("Item")
PairReader = Callable[[PairFiles, LanguagePair], Iterator[Pair]]
"""Files and their languages -> pairs."""
BLOCK = 1_000
"""Pairs that are written at once."""


@dataclass(frozen=True)
class Converted:
    """The counts of a conversion."""

    pairs: int
    altered: int
    """Sentences that the new format cannot hold as they were."""
    languages: LanguagePair


def read_files(files: PairFiles, languages: LanguagePair) -> Iterator[Pair]:
    """The pairs of the files, as they are stored."""
    return stored_pairs(files.source, files.target, files.pairs, languages, form=files.form)


def convert_corpus(
    source: PairFiles,
    output: PairFiles,
    languages: LanguagePair = (None, None),
    read: PairReader = read_files,
) -> Converted:
    """Read the pairs of `source` and write them to new files. An error leaves no file behind. read: of a format that is only read."""
    languages = corpus_languages(source, output, languages)
    refuse_own_input(source, output)
    check_output(output, languages)
    count = 0
    with activity("converting", unit="pairs") as progress, open_writer(output, languages) as writer:
        for block in blocks_of(read(source, languages)):
            sources, targets = zip(*block, strict=True)
            writer.write(sources, targets)
            count += len(block)
            progress.advance(len(block))
    return Converted(count, writer.altered, languages)


def blocks_of(items: Iterator[Item], size: int = BLOCK) -> Iterator[list[Item]]:
    """The items in blocks."""
    while block := list(islice(items, size)):
        yield block


def corpus_languages(source: PairFiles, output: PairFiles | None, languages: LanguagePair) -> LanguagePair:
    """The languages that are given, else those that the file names tell. Refused is an output whose sides are exchanged."""
    names = [files for files in (source, output) if files is not None]
    found: list[str | None] = []
    for side, given in enumerate(languages):
        found.append(given or next((tag for files in names if (tag := files.languages[side]) is not None), None))
    written = (None, None) if output is None else output.languages
    if None not in written and found[0] != found[1] and written == (found[1], found[0]):
        assert output is not None
        raise ConfigError(
            f"{output.name}: the sides are in the other order than {found[0]}-{found[1]}; give the files of OUT in the order of IN"
        )
    if source.kind == "zip" and None in found:
        return opus_languages(source.paths[0], (found[0], found[1]))
    return found[0], found[1]


def refuse_own_input(source: PairFiles, output: PairFiles) -> None:
    """Refuse to write a file that is read."""
    for path in output.paths:
        for read in source.paths:
            if STDIN not in (path, read) and Path(path).is_file() and Path(read).exists() and Path(path).samefile(read):
                raise ConfigError(f"{path}: that is what is read; choose another place")
