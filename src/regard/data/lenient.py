"""Reads pairs and goes on after a line that is not UTF-8 or holds no pair: for `regard data check` and `regard data clean`."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from regard.data.encoding_guess import JUDGED, encoding_advice, is_utf16
from regard.data.formats import LanguagePair, PairFormat, pair_format
from regard.data.readers import Pair, parse_jsonl, parse_tsv, read_raw, stored_pairs, without_breaks
from regard.errors import DataError


class SeenBytes:
    """The bytes of a file as far as they tell its encoding."""

    def __init__(self) -> None:
        self._size = self._nuls = 0
        self._start, self._misencoded = bytearray(), bytearray()  # the first lines, and the first that are not UTF-8

    def seen(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """The same lines."""
        for line in lines:
            self._size += len(line) + 1
            self._nuls += line.count(0)
            _append(self._start, line)
            yield line

    def decoded(self, line: bytes) -> str | None:
        """The text of a line; None if it is not UTF-8."""
        text = decoded(line)
        if text is None:
            _append(self._misencoded, line)
        return text

    @property
    def is_utf16(self) -> bool:
        return is_utf16(self._nuls, self._size)

    @property
    def advice(self) -> str | None:
        """The advice of training for such a file; None if it is UTF-8."""
        judged = self._start if self.is_utf16 else self._misencoded
        return encoding_advice(bytes(judged)) if judged else None


def _append(lines: bytearray, line: bytes) -> None:
    if len(lines) < JUDGED:
        lines += line[:JUDGED] + b"\n"


def decoded(raw: bytes) -> str | None:
    """The text of a line; None if it is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def raw_sides(
    source: str, target: str, files: tuple[SeenBytes, SeenBytes] | None = None
) -> Iterator[tuple[bytes | None, bytes | None]]:
    """The lines of two files as bytes; None where one of them has no more."""
    left, right = files or (SeenBytes(), SeenBytes())
    return zip_longest(left.seen(read_raw(source)), right.seen(read_raw(target)))


def pairs_or_faults(
    path: str | Path,
    languages: LanguagePair,
    file: SeenBytes | None = None,
    form: PairFormat | None = None,
    as_stored: bool = False,
) -> Iterator[tuple[int, Pair | DataError | bytes, bool]]:
    """(line number, pair, whether there are more than two columns) of each line.

    as_stored: with the line breaks of a sentence, which else become spaces.
    In place of a pair: the bytes of a line that is not UTF-8, or a `DataError` if it is not a pair.
    """
    kind = form or pair_format(path)
    plain = (lambda pair: pair) if as_stored else without_breaks
    if kind not in ("tsv", "jsonl"):
        stored = stored_pairs(pairs=path, languages=languages, form=kind)
        yield from ((number, plain(pair), False) for number, pair in enumerate(stored, 1))
        return
    file = file or SeenBytes()
    for number, raw in enumerate(file.seen(read_raw(path)), 1):
        text = file.decoded(raw)
        if text is None:
            yield number, raw, False
            continue
        try:
            if kind == "tsv":
                yield number, parse_tsv(text, path, number), text.count("\t") > 1
            else:
                yield number, plain(parse_jsonl(text, path, number, languages)), False
        except DataError as error:
            yield number, error, False
