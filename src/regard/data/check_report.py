"""The report of `regard data check`: what was found in a corpus, as JSON values and as text. It reads no files."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import shown

SHOWN = 20  # line numbers listed for each kind of problem
NOT_TOLD = "cannot be told: too few pairs, or the statistics of the lines do not tell"


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
    surrogates: LineNumbers  # JSONL lines with half of a surrogate pair
    duplicates: LineNumbers  # pairs that occurred before
    repeated_sources: int  # source sentences that occurred before, whatever their translation
    repeated_targets: LineNumbers  # target sentences that occurred before, of other sources
    copies: LineNumbers  # source and target are the same text
    ratio: float  # median of source characters / target characters
    outliers: LineNumbers  # pairs whose ratio is far from it
    swapped: LineNumbers | None  # pairs whose sides look exchanged; None: not to be told
    misaligned: LineNumbers | None  # pairs whose words do not belong together; None: not to be told
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
                f"unequal             {self.source.lines:,} lines in {shown(self.source.name)}, "
                f"{self.target.lines:,} in {shown(self.target.name)}: line n must translate line n"
            )
        if self.malformed.total:
            rows.append(f"not a pair          {self.malformed}")
        if self.wide.total:
            rows.append(f"more columns        {self.wide}: the first two are read, as source and target")
        if self.surrogates.total:
            rows.append(f"half surrogates     {self.surrogates}: no characters; they are read as U+FFFD")
        for role, side in (("source", self.source), ("target", self.target)):
            rows += [
                f"{role}              {shown(side.name)}",
                f"  not UTF-8         {side.misencoded}",
                f"  empty             {side.empty}",
                f"  over-long         {side.over_long}",
                f"  words             {side.words}",
                f"  characters        {side.characters}",
            ]
        rows += [
            f"duplicate pairs     {self.duplicates}",
            f"repeated sources    {self.repeated_sources:,}",
            f"repeated targets    {self.repeated_targets}",
            f"untranslated        {self.copies}",
            f"length ratio        {f'{self.ratio:.2f} (median, source to target in characters)' if self.sound else 'none'}",
            f"ratio outliers      {self.outliers}",
            f"look swapped        {NOT_TOLD if self.swapped is None else self.swapped}",
            f"look misaligned     {NOT_TOLD if self.misaligned is None else self.misaligned}",
        ]
        if self.by_model:
            rows.append(f"unlikely by model   {NOT_TOLD if self.unlikely is None else self.unlikely}")
        refused = "mend the lines above" if self.pairs else "there is no line in it"
        alone = " with validation files beside it, for none of one pair can be held out" if self.sound == 1 else ""
        verdict = f"training will accept it{alone}" if self.usable else f"{refused}: training will refuse it"
        return "\n".join([*rows, f"verdict             {verdict}{self._doubts() if self.usable else ''}"])

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
        if not found:
            return ""
        return f", but of {self.sound:,} pairs {', '.join(found)}: look at the lines above first"
