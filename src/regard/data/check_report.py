"""The report of `regard data check`: what was found in a corpus, as JSON values and as text. It reads no files."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import shown

SHOWN = 20  # line numbers listed for each kind of problem
MORE = ".."  # after the numbers that are shown, if there are further ones
NOT_TOLD = "cannot be told: too few pairs, or the statistics of the lines do not tell"


@dataclass(frozen=True, slots=True)
class LineNumbers:
    """The lines with one kind of problem: how many they are, and their numbers, counted from 1."""

    total: int
    lines: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, numbers: NDArray[np.integer[Any]]) -> "LineNumbers":
        return cls(len(numbers), numbers)

    @property
    def first(self) -> tuple[int, ...]:
        """The numbers that a terminal shows."""
        return tuple(self.lines[:SHOWN].tolist())

    def __str__(self) -> str:
        if not self.total:
            return "none"
        more = f", {MORE}" if self.total > len(self.first) else ""
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
    utf16: bool  # whether its bytes are those of UTF-16, which may be UTF-8 too
    advice: str | None  # how to convert it, if it is not UTF-8
    over_long: LineNumbers
    words: Lengths
    characters: Lengths


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The report on a corpus. Lengths, duplicates and outliers cover the sound pairs only: UTF-8, text on both sides."""

    source: SideReport
    target: SideReport
    sound: int
    too_long: int  # sound pairs with an over-long side, which training drops
    empty: int  # pairs with an empty side, which training drops
    malformed: LineNumbers  # TSV or JSONL lines that hold no pair
    fault: str | None  # the reader's message on the first of them
    wide: LineNumbers  # TSV lines with more columns than the two that are read
    surrogates: LineNumbers  # JSONL lines with half of a surrogate pair
    duplicates: LineNumbers  # pairs that occurred before
    repeated_sources: LineNumbers  # source sentences that occurred before, whatever their translation
    repeated_targets: LineNumbers  # target sentences that occurred before, of other sources
    copies: LineNumbers  # source and target are the same text
    ratio: float  # median of source characters / target characters
    outliers: LineNumbers  # pairs whose ratio is far from it
    swapped: LineNumbers | None  # pairs whose sides look exchanged; None: not to be told
    misaligned: LineNumbers | None  # pairs whose words do not belong together; None: not to be told
    shift: int | None  # target n + shift belongs to source n; None: no such shift, or not to be told
    by_model: bool  # whether a model was asked
    unlikely: LineNumbers | None  # pairs that it scores like random ones; None: no model, or not to be told
    max_length: int

    @property
    def pairs(self) -> int:
        return min(self.source.lines, self.target.lines)

    @property
    def unequal(self) -> bool:
        return self.source.lines != self.target.lines

    @property
    def kept(self) -> int:
        """The pairs that are left to train on, at most: of some tokenisers further ones are too long."""
        return self.sound - self.too_long

    @property
    def usable(self) -> bool:
        """Whether training would accept the files. Repeated or unusual pairs do not matter, nor do dropped ones if others are left."""
        return self.kept > 0 and not self._broken

    @property
    def _broken(self) -> bool:
        """Whether there are lines that training does not read."""
        faults = (self.malformed, self.source.misencoded, self.target.misencoded)
        return self.unequal or self.source.utf16 or self.target.utf16 or any(lines.total for lines in faults)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "pairs": self.pairs,
            "unequal": self.unequal,
            "usable": self.usable,
            **asdict(self, dict_factory=json_values),
        }

    def to_text(self) -> str:
        """The report for a terminal."""
        rows = [f"pairs               {self.pairs:,} ({self.sound:,} sound)"]
        if self.unequal:
            rows.append(
                f"unequal             {self.source.lines:,} lines in {shown(self.source.name)}, "
                f"{self.target.lines:,} in {shown(self.target.name)}: line n must translate line n"
            )
        if self.malformed.total:
            rows += [f"not a pair          {self.malformed}", f"                    {shown(self.fault)}"]
        if self.wide.total:
            rows.append(f"more columns        {self.wide}: the first two are read, as source and target")
        if self.surrogates.total:
            rows.append(f"half surrogates     {self.surrogates}: no characters; they are read as U+FFFD")
        for role, side in (("source", self.source), ("target", self.target)):
            found = "all lines, as UTF-16" if side.utf16 else str(side.misencoded)
            rows += [
                f"{role}              {shown(side.name)}",
                f"  not UTF-8         {found}{'' if side.advice is None else f': {side.advice}'}",
                f"  empty             {side.empty}",
                f"  over-long         {side.over_long}",
                f"  words             {side.words}",
                f"  characters        {side.characters}",
            ]
        rows += [
            f"duplicate pairs     {self.duplicates}",
            f"repeated sources    {self.repeated_sources}",
            f"repeated targets    {self.repeated_targets}",
            f"untranslated        {self.copies}",
            f"length ratio        {f'{self.ratio:.2f} (median, source to target in characters)' if self.sound else 'none'}",
            f"ratio outliers      {self.outliers}",
            f"look swapped        {NOT_TOLD if self.swapped is None else self.swapped}",
            f"look misaligned     {self._misaligned()}",
        ]
        if self.by_model:
            rows.append(f"unlikely by model   {NOT_TOLD if self.unlikely is None else self.unlikely}")
        if any(f", {MORE})" in row for row in rows):
            rows.append(f"line numbers        the first {SHOWN} of each row; --json lists all")
        return "\n".join([*rows, f"verdict             {self._verdict()}"])

    def _misaligned(self) -> str:
        if self.misaligned is not None:
            return str(self.misaligned)
        if self.shift is None:
            return NOT_TOLD
        by = "one line" if abs(self.shift) == 1 else f"{abs(self.shift)} lines"
        source, target = 1 + max(0, -self.shift), 1 + max(0, self.shift)
        return f"looks shifted by {by} (line {source} of the source fits line {target} of the target)"

    def _verdict(self) -> str:
        """Whether training will accept the corpus, and without which pairs."""
        if not self.usable:
            refused = "mend the lines above" if self.pairs else "there is no line in it"
            if self.pairs and not self._broken:
                refused = f"no pair is left{self._dropped()}"
            return f"{refused}: training will refuse it"
        alone = " with validation files beside it, for none of one pair can be held out" if self.kept == 1 else ""
        without = self._dropped()
        return f"training will accept it{alone}{without and f' without {self.too_long + self.empty:,} pairs{without}'}{self._doubts()}"

    def _dropped(self) -> str:
        """The pairs that training drops, in brackets; empty if it drops none."""
        kinds = {f"longer than {self.max_length} tokens": self.too_long, "with an empty side": self.empty}
        dropped = [f"{count:,} {what}" for what, count in kinds.items() if count]
        return f" ({', '.join(dropped)})" if dropped else ""

    def _doubts(self) -> str:
        """The suspect pairs in words, for the verdict; empty if there are none."""
        kinds = {
            "have the same text on both sides": self.copies,
            "look swapped": self.swapped,
            "look misaligned": self.misaligned,
            "are unlikely by the model": self.unlikely,
            "have an unusual length ratio": self.outliers,
        }
        found = [f"{lines.total:,} {what}" for what, lines in kinds.items() if lines is not None and lines.total]
        if self.shift is not None:
            return ", but one side looks shifted: mend that first"
        if not found:
            return ""
        return f", but of {self.sound:,} pairs {', '.join(found)}: look at the lines above first"


def json_values(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields of a report with lists in place of arrays."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields}


def lengths_of(lengths: NDArray[np.integer[Any]], lines: NDArray[np.integer[Any]]) -> Lengths:
    """The statistics of lengths; `lines`: the line number of each."""
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


def text_hash(text: str) -> int:
    """64 bits that stand for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
