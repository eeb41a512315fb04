"""Reads pairs that name their languages: columns three and four of a TSV file, keys or columns `src_lang` and `tgt_lang` of others.

A language pair that the settings do not declare is a `DataError` with file and line.
"""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from regard.data.corpus_config import Direction, direction_name
from regard.data.formats import LanguagePair, pair_format
from regard.data.parquet import parquet_rows
from regard.data.readers import (
    NO_DIGESTS,
    Digests,
    Pair,
    display_name,
    parse_jsonl,
    parse_tsv,
    read_lines,
    unchanged,
    without_breaks,
    without_surrogates,
)
from regard.errors import DataError

KEYS = ("src_lang", "tgt_lang")
NamedPair = tuple[Pair, Direction]
"""A pair and the languages that its line names."""


def read_pairs_of(
    path: str | Path,
    languages: LanguagePair,
    declared: Collection[Direction],
    digests: Digests = NO_DIGESTS,
    *,
    both: bool = False,
) -> Iterator[Pair]:
    """The pairs of one direction; a line without any text is passed over.

    declared: all directions that the file may have; both: whether each is read backwards too, so that no line may be of its reverse.
    """
    for number, (pair, direction) in enumerate(_named_pairs(path, digests), 1):
        if direction == ("", "") and pair == ("", ""):
            continue
        if direction not in declared:
            named, missing = " and ".join(map(repr, direction)), json.dumps(list(direction))
            mend = f"add {missing}"
            if both and direction[::-1] in declared:
                mend = f"leave both out and declare {missing} too"
            raise DataError(
                f"{display_name(path)}:{number}: languages {named}, which its directions do not declare, only "
                f"{', '.join(map(direction_name, declared))}; {mend}, or mend the line"
            )
        if direction == languages:
            yield pair


def _named_pairs(path: str | Path, digests: Digests) -> Iterator[NamedPair]:
    kind, digest = pair_format(path), digests.get(str(path))
    if kind == "tsv":
        for number, line in enumerate(read_lines(path, digest), 1):
            yield _of_tsv(line, path, number)
    elif kind == "jsonl":
        for number, line in enumerate(read_lines(path, digest), 1):
            yield _of_jsonl(line, path, number)
    elif kind == "parquet":
        rows = parquet_rows(path, (None, None), KEYS)
        for source, target, *named in unchanged(rows, path, digest):
            yield without_breaks((source, target)), (named[0], named[1])
    else:
        raise DataError(
            f"{display_name(path)}: directions: a {kind} file does not name the languages of each pair; name it in a "
            "[[data.corpora]] for each direction, with src_lang and tgt_lang"
        )


def _of_tsv(line: str, path: str | Path, number: int) -> NamedPair:
    pair = parse_tsv(line, path, number)
    columns = line.removesuffix("\r").split("\t", 4)
    if pair == ("", "") and len(columns) < 4:
        return pair, ("", "")
    if len(columns) < 4:
        raise DataError(
            f"{display_name(path)}:{number}: {len(columns)} columns; each line must be source<TAB>target<TAB>src_lang<TAB>tgt_lang"
        )
    return pair, (columns[2].strip(), columns[3].strip())


def _of_jsonl(line: str, path: str | Path, number: int) -> NamedPair:
    if not line.strip():
        return ("", ""), ("", "")
    pair = parse_jsonl(line, path, number, (None, None))
    value = json.loads(line)
    named = [value.get(key) for key in KEYS]
    lacking = next((key for key, language in zip(KEYS, named, strict=True) if not isinstance(language, str)), None)
    if lacking is not None:
        raise DataError(
            f"{display_name(path)}:{number}: no language under {lacking!r}; each line must have 'source', 'target', 'src_lang', 'tgt_lang'"
        )
    return without_breaks(without_surrogates(pair)), (str(named[0]), str(named[1]))
