"""Checks a corpus before training: `regard data check`.

Unlike the readers it does not stop at the first bad line. It keeps about 40 bytes of each pair (two hashes and the
lengths), never the text. It knows lines and characters, not tokens.
"""

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from regard.data.holdout import LONGEST_PIECE
from regard.data.readers import (
    LanguagePair,
    Pair,
    decode_line,
    display_name,
    pair_format,
    parse_jsonl,
    parse_tsv,
    read_pairs,
    read_raw,
)
from regard.errors import DataError

SHOWN = 20  # line numbers listed for each kind of problem
RATIO = 3.0  # a pair is an outlier if its length ratio exceeds or falls below the median ratio by this factor
RATIO_CHARACTERS = 20  # below this length of the longer side, ratios mean little


@dataclass(frozen=True, slots=True)
class LineNumbers:
    """The lines with one kind of problem: their number, and the first line numbers, counted from 1."""

    total: int = 0
    first: tuple[int, ...] = ()

    @classmethod
    def of(cls, numbers: NDArray[np.integer[Any]]) -> "LineNumbers":
        return cls(len(numbers), tuple(numbers[:SHOWN].tolist()))

    def __str__(self) -> str:
        if not self.total:
            return "none"
        more = ", .." if self.total > len(self.first) else ""
        return f"{self.total:,} (line {', '.join(map(str, self.first))}{more})"


@dataclass(frozen=True, slots=True)
class Lengths:
    """Statistics of the sentence lengths of one side."""

    mean: float = 0.0
    median: float = 0.0
    percentile_95: float = 0.0
    longest: int = 0
    longest_line: int = 0

    def __str__(self) -> str:
        if not self.longest_line:
            return "none"
        return (
            f"mean {self.mean:.1f}, median {self.median:g}, 95 % up to {self.percentile_95:.0f}, "
            f"longest {self.longest:,} (line {self.longest_line})"
        )


@dataclass(frozen=True, slots=True)
class SideReport:
    """The report on one side of the corpus."""

    name: str
    lines: int
    empty: LineNumbers
    misencoded: LineNumbers
    over_long: LineNumbers
    words: Lengths
    characters: Lengths


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The report on a corpus. Lengths, duplicates and outliers cover the sound pairs only: UTF-8, text on both sides."""

    source: SideReport
    target: SideReport
    sound: int
    malformed: LineNumbers  # TSV or JSONL lines that hold no pair
    wide: LineNumbers  # TSV lines with more columns than the two that are read
    duplicates: LineNumbers  # pairs that occurred before
    repeated_sources: int  # source sentences that occurred before, whatever their translation
    copies: LineNumbers  # source and target are the same text
    ratio: float  # median of source characters / target characters
    outliers: LineNumbers  # pairs whose ratio is far from it
    max_length: int

    @property
    def pairs(self) -> int:
        return min(self.source.lines, self.target.lines)

    @property
    def unequal(self) -> bool:
        return self.source.lines != self.target.lines

    @property
    def usable(self) -> bool:
        """Whether training would accept the files. Empty, repeated or unusual pairs do not matter."""
        broken = self.unequal or self.malformed.total or self.source.misencoded.total or self.target.misencoded.total
        return self.sound > 0 and not broken

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {"pairs": self.pairs, "unequal": self.unequal, "usable": self.usable, **asdict(self)}

    def to_text(self) -> str:
        """The report for a terminal."""
        rows = [f"pairs               {self.pairs:,} ({self.sound:,} sound)"]
        if self.unequal:
            rows.append(
                f"unequal             {self.source.lines:,} lines in {self.source.name}, "
                f"{self.target.lines:,} in {self.target.name}: line n must translate line n"
            )
        if self.malformed.total:
            rows.append(f"not a pair          {self.malformed}")
        if self.wide.total:
            rows.append(f"more columns        {self.wide}: the first two are read, as source and target")
        for role, side in (("source", self.source), ("target", self.target)):
            rows += [
                f"{role}              {side.name}",
                f"  not UTF-8         {side.misencoded}",
                f"  empty             {side.empty}",
                f"  over-long         {side.over_long}",
                f"  words             {side.words}",
                f"  characters        {side.characters}",
            ]
        rows += [
            f"duplicate pairs     {self.duplicates}",
            f"repeated sources    {self.repeated_sources:,}",
            f"untranslated        {self.copies}",
            f"length ratio        {f'{self.ratio:.2f} (median, source to target in characters)' if self.sound else 'none'}",
            f"ratio outliers      {self.outliers}",
        ]
        refused = "mend the lines above" if self.pairs else "there is no line in it"
        alone = " with validation files beside it, for none of one pair can be held out" if self.sound == 1 else ""
        verdict = f"training will accept it{alone}" if self.usable else f"{refused}: training will refuse it"
        return "\n".join([*rows, f"verdict             {verdict}"])


def check_corpus(
    source: str | Path | None = None,
    target: str | Path | None = None,
    pairs: str | Path | None = None,
    languages: LanguagePair = (None, None),
    max_length: int = 256,
) -> CheckReport:
    """Read the whole corpus and report on it. Over-long: above `max_length` tokens in any tokenisation."""
    collected = _Collector(max_length)
    if pairs is None:
        assert source is not None, "check_corpus needs source and target, or pairs"
        assert target is not None, "check_corpus needs source and target, or pairs"
        names = display_name(source), display_name(target)
        for number, raws in enumerate(zip_longest(read_raw(source), read_raw(target)), 1):
            collected.add_raw(number, raws)
    else:
        names = display_name(pairs), display_name(pairs)
        for number, pair, wide in _pairs_of(pairs, languages):
            collected.add_pair(number, pair, wide)
    return collected.report(names)


def _pairs_of(path: str | Path, languages: LanguagePair) -> Iterator[tuple[int, Pair | DataError | None, bool]]:
    """(line number, pair, whether there are more than two columns) of each line.

    In place of a pair: None if the line is not UTF-8, a `DataError` if it is not a pair.
    """
    kind = pair_format(path)
    if kind == "tmx":
        yield from ((number, pair, False) for number, pair in enumerate(read_pairs(pairs=path, languages=languages), 1))
        return
    for number, raw in enumerate(read_raw(path), 1):
        text = _decoded(raw)
        if text is None:
            yield number, None, False
            continue
        try:
            if kind == "tsv":
                yield number, parse_tsv(text, path, number), text.count("\t") > 1
            elif kind == "jsonl":
                yield number, parse_jsonl(text, path, number, languages), False
            else:
                assert_never(kind)
        except DataError as error:
            yield number, error, False


def _decoded(raw: bytes) -> str | None:
    try:
        return decode_line(raw, "", 0)
    except DataError:
        return None


class _SideCollector:
    """Collects the bad lines of one side, and two lengths of each sound pair."""

    def __init__(self) -> None:
        self.lines = 0
        self.empty, self.misencoded, self.over_long = array("q"), array("q"), array("q")
        self.words, self.characters = array("I"), array("I")

    def report(self, name: str, sound: NDArray[np.integer[Any]]) -> SideReport:
        return SideReport(
            name=name,
            lines=self.lines,
            empty=LineNumbers.of(_numbers(self.empty)),
            misencoded=LineNumbers.of(_numbers(self.misencoded)),
            over_long=LineNumbers.of(_numbers(self.over_long)),
            words=_lengths(_numbers(self.words), sound),
            characters=_lengths(_numbers(self.characters), sound),
        )


class _Collector:
    """Collects the pairs one by one and makes the report."""

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length
        self.source, self.target = _SideCollector(), _SideCollector()
        self.sound, self.malformed, self.wide, self.copies = array("q"), array("q"), array("q"), array("q")
        self.pair_hashes, self.source_hashes = array("Q"), array("Q")

    def add_raw(self, number: int, raws: tuple[bytes | None, bytes | None]) -> None:
        texts: list[str] = []
        for side, raw in zip((self.source, self.target), raws, strict=True):
            if raw is None:
                continue
            side.lines += 1
            text = _decoded(raw)
            if text is None:
                side.misencoded.append(number)
            elif self._has_text(side, number, text):
                texts.append(text)
        if len(texts) == 2:
            self._add_sound(number, (texts[0], texts[1]))

    def add_pair(self, number: int, pair: Pair | DataError | None, wide: bool) -> None:
        if wide:
            self.wide.append(number)
        for side in (self.source, self.target):
            side.lines += 1
            if pair is None:
                side.misencoded.append(number)
        if isinstance(pair, DataError):
            self.malformed.append(number)
        elif pair is not None:
            both = [self._has_text(self.source, number, pair[0]), self._has_text(self.target, number, pair[1])]
            if all(both):
                self._add_sound(number, pair)

    def _has_text(self, side: _SideCollector, number: int, text: str) -> bool:
        if not text.strip():
            side.empty.append(number)
            return False
        if len(text) > LONGEST_PIECE * self.max_length or len(text.split()) > self.max_length:
            side.over_long.append(number)
        return True

    def _add_sound(self, number: int, pair: Pair) -> None:
        source, target = (text.strip() for text in pair)
        self.sound.append(number)
        for side, text in ((self.source, source), (self.target, target)):
            side.words.append(len(text.split()))
            side.characters.append(len(text))
        self.pair_hashes.append(_hash(f"{source}\n{target}"))
        self.source_hashes.append(_hash(source))
        if source == target:
            self.copies.append(number)

    def report(self, names: tuple[str, str]) -> CheckReport:
        sound = _numbers(self.sound)
        repeats = np.ones(len(sound), dtype=bool)
        repeats[np.unique(_numbers(self.pair_hashes), return_index=True)[1]] = False
        distinct_sources = len(np.unique(_numbers(self.source_hashes)))
        characters = np.stack([_numbers(side.characters) for side in (self.source, self.target)]).astype(np.float64)
        ratios = characters[0] / characters[1]
        median = float(np.median(ratios)) if len(sound) else 0.0
        odd = (ratios > RATIO * median) | (ratios * RATIO < median)
        return CheckReport(
            source=self.source.report(names[0], sound),
            target=self.target.report(names[1], sound),
            sound=len(sound),
            malformed=LineNumbers.of(_numbers(self.malformed)),
            wide=LineNumbers.of(_numbers(self.wide)),
            duplicates=LineNumbers.of(sound[repeats]),
            repeated_sources=len(sound) - distinct_sources,
            copies=LineNumbers.of(_numbers(self.copies)),
            ratio=median,
            outliers=LineNumbers.of(sound[odd & (characters.max(axis=0) >= RATIO_CHARACTERS)]),
            max_length=self.max_length,
        )


def _numbers(values: "array[int]") -> NDArray[np.integer[Any]]:
    return np.frombuffer(values, dtype=values.typecode) if values else np.zeros(0, dtype=values.typecode)


def _lengths(lengths: NDArray[np.integer[Any]], lines: NDArray[np.integer[Any]]) -> Lengths:
    if not len(lengths):
        return Lengths()
    where = int(lengths.argmax())
    return Lengths(
        mean=float(lengths.mean()),
        median=float(np.median(lengths)),
        percentile_95=float(np.percentile(lengths, 95)),
        longest=int(lengths[where]),
        longest_line=int(lines[where]),
    )


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
