"""Word alignments of a text: read in Pharaoh's notation, kept on disk line by line, and carried over to the tokens of a batch.

    links.ids       source word and target word of every link of every line, one after the other
    links.offsets   where each line begins, and at last where the last one ends

Words are what white space separates: how they are cut into tokens, with BPE-dropout anew in each epoch, is not known on disk.

Shapes: B examples, T target tokens, S source tokens, both with the end mark.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import OFFSET, RowWriter, mapped
from regard.data.readers import Pair, in_step, read_lines, shown
from regard.errors import DataError
from regard.metrics.alignment import Links, parse_pharaoh
from regard.text.config import TextConfig
from regard.text.normalise import normalise
from regard.text.packed import Ids, pack, take

CHUNK_LINES = 20_000
_WORD = np.dtype("<u4")


def read_links(path: str | Path, pairs: Iterable[Pair]) -> Iterator[tuple[Links, Links]]:
    """Sure and possible links of each pair, between words that it has; the file has one line a pair."""

    def unequal(lines: int, sentences: int) -> str:
        return f"{shown(path)}: {lines} lines, but {sentences} sentences; it needs one line a sentence"

    for number, (line, pair) in enumerate(in_step(read_lines(path), iter(pairs), unequal), 1):
        try:
            sure, possible = parse_pharaoh(line)
        except DataError as error:
            raise DataError(f"{shown(path)}:{number}: {error}") from None
        words = [len(text.split()) for text in pair] if possible else [0, 0]
        for one, other in possible:
            if one >= words[0] or other >= words[1]:
                raise DataError(
                    f"{shown(path)}:{number}: link {one}-{other} is outside of the sentence, which has {words[0]} and {words[1]} words; "
                    "words are separated by spaces and count from 0, source first"
                )
        yield sure, possible


def between_normal_words(alignments: Iterable[Links], pairs: Iterable[Pair], text: TextConfig) -> Iterator[Links]:
    """The links of each pair; none where normalising changes how many words there are, for they would then be counted otherwise."""
    for links, pair in zip(alignments, pairs, strict=True):
        steady = all(len(side.split()) == len(normalise(side, text.form, text.lowercase).split()) for side in pair)
        yield links if steady else frozenset()


def write_links(directory: Path, alignments: Iterable[Links]) -> None:
    """Keep the links of every line in `directory`."""
    stream = iter(alignments)
    with ExitStack() as files:
        rows = RowWriter(files, directory / "links", _WORD)
        while some := list(islice(stream, CHUNK_LINES)):
            rows.add(pack([list(chain.from_iterable(sorted(links))) for links in some]))


class WordLinks:
    """The links that `write_links` has kept."""

    def __init__(self, directory: Path) -> None:
        self._words, self._offsets = (
            mapped(path, kind, path.stat().st_size // kind.itemsize)
            for path, kind in ((directory / "links.ids", _WORD), (directory / "links.offsets", OFFSET))
        )

    def of(self, lines: NDArray[np.int64]) -> list[Ids]:
        """[links, 2] of each line, counted from 1: the source word and the target word."""
        starts, ends = self._offsets[lines - 1], self._offsets[lines]
        return [row.reshape(-1, 2) for row in take(self._words, starts, ends - starts).rows()]


def token_links(
    links: Sequence[NDArray[np.integer[Any]]],  # of each example [links, 2]
    source_words: Sequence[Sequence[int]],  # the word of each of its source tokens
    target_words: Sequence[Sequence[int]],  # the word of each of its target tokens
) -> NDArray[np.float32]:
    """[B, T, S]: where each target token should look: at all tokens of the words that its word is linked to, at each alike.

    A row sums to 1, or is zero where there is no link, as of end marks and padding.
    """
    longest = (max(map(len, words)) + 1 for words in (target_words, source_words))
    table = np.zeros((len(links), *longest), dtype=np.float32)
    for rows, some, ours, theirs in zip(table, links, source_words, target_words, strict=True):
        linked = np.zeros((max(theirs) + 1, max(ours) + 1), dtype=np.bool_)
        some = some[(some < linked.shape[::-1]).all(axis=1)]  # of words past the longest that is read
        linked[some[:, 1], some[:, 0]] = True
        wanted = linked[np.ix_(theirs, ours)]
        rows[: len(theirs), : len(ours)] = wanted / np.maximum(1, wanted.sum(axis=1, keepdims=True))
    return table
