"""Word alignments of a corpus: read in Pharaoh notation, stored on disk, and mapped to the tokens of a batch.

    links.ids       source word and target word of every link of every line, concatenated
    links.offsets   the offset of each line, and the total

Links are stored between words (separated by white space), since BPE-dropout changes the tokens in each epoch.

Shapes: B examples, T target tokens, S source tokens, both with the end mark.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import OFFSET, MappedFiles, RowWriter
from regard.data.readers import Pair, display_name, read_lines, zip_equal
from regard.errors import DataError
from regard.metrics.alignment import Links, parse_pharaoh
from regard.text.config import TextConfig
from regard.text.normalise import normalise
from regard.text.packed import Ids, pack, take
from regard.text.tagged import NO_WORD

CHUNK_LINES = 20_000
FILES = ("links.ids", "links.offsets")
_WORD = np.dtype("<u4")


def read_links(path: str | Path, pairs: Iterable[Pair], digest: str | None = None) -> Iterator[tuple[Links, Links]]:
    """(sure links, possible links) of each pair; the file has one line a pair. Links to missing words are refused.

    digest: the SHA-256 that the file must have.
    """

    def unequal(lines: int, sentences: int) -> str:
        return f"{display_name(path)}: {lines} lines, but {sentences} sentences; it needs one line a sentence"

    for number, (line, pair) in enumerate(zip_equal(read_lines(path, digest), iter(pairs), unequal), 1):
        try:
            sure, possible = parse_pharaoh(line)
        except DataError as error:
            raise DataError(f"{display_name(path)}:{number}: {error}") from None
        words = [len(text.split()) for text in pair] if possible else [0, 0]
        for source_word, target_word in possible:
            if source_word >= words[0] or target_word >= words[1]:
                raise DataError(
                    f"{display_name(path)}:{number}: link {source_word}-{target_word} is outside of the sentence, "
                    f"which has {words[0]} and {words[1]} words; "
                    "words are separated by spaces and count from 0, source first"
                )
        yield sure, possible


def links_of_stable_words(alignments: Iterable[Links], pairs: Iterable[Pair], text: TextConfig) -> Iterator[Links]:
    """The links of each pair; none where normalisation changes the number of words, and so their numbers."""
    for links, pair in zip(alignments, pairs, strict=True):
        stable = all(len(side.split()) == len(normalise(side, text.form, text.lowercase).split()) for side in pair)
        yield links if stable else frozenset()


def write_links(directory: Path, alignments: Iterable[Links]) -> None:
    """Write the links of every line into `directory`."""
    stream = iter(alignments)
    with ExitStack() as files:
        rows = RowWriter(files, directory / "links", _WORD)
        while chunk := list(islice(stream, CHUNK_LINES)):
            rows.add(pack([list(chain.from_iterable(sorted(links))) for links in chunk]))


class WordLinks:
    """The links that `write_links` has written."""

    def __init__(self, directory: Path) -> None:
        self._files = MappedFiles()
        self._words = self._files.map(directory / "links.ids", _WORD)
        self._offsets = self._files.map(directory / "links.offsets", OFFSET)

    def of(self, lines: NDArray[np.int64]) -> list[Ids]:
        """[links, 2] of each line, counted from 1: the source word and the target word."""
        self._files.check()
        starts, ends = self._offsets[lines - 1], self._offsets[lines]
        return [row.reshape(-1, 2) for row in take(self._words, starts, ends - starts).rows()]


def token_links(
    links: Sequence[NDArray[np.integer[Any]]],  # [links, 2] of each example
    source_words: Sequence[Sequence[int]],  # the word of each of its source tokens; `NO_WORD` for a tag before them
    target_words: Sequence[Sequence[int]],  # the word of each of its target tokens
) -> NDArray[np.float32]:
    """[B, T, S]: the attention that each target token should pay: uniform over the source tokens of the linked words.

    A row sums to 1, or to 0 where there is no link, as for end marks and padding.
    """
    longest = (max(map(len, words)) + 1 for words in (target_words, source_words))
    table = np.zeros((len(links), *longest), dtype=np.float32)
    for rows, pairs, source, target in zip(table, links, source_words, target_words, strict=True):
        begin = 1 if source[0] == NO_WORD else 0  # a tag has no links
        linked = np.zeros((max(target) + 1, max(source) + 1), dtype=np.bool_)
        pairs = pairs[(pairs < linked.shape[::-1]).all(axis=1)]  # without links to words that were cut off
        linked[pairs[:, 1], pairs[:, 0]] = True
        token_linked = linked[np.ix_(target, source[begin:])]
        rows[: len(target), begin : len(source)] = token_linked / np.maximum(1, token_linked.sum(axis=1, keepdims=True))
    return table
