"""The findings of a failure analysis as values: numbers with units and intervals, tables, examples, and a verdict of each check.

It runs no model. `analysis.py` makes a `FailureAnalysis`, `page.py` draws it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from regard.errors import shown
from regard.explain.document import to_json_types

FORMAT = 1
EXAMPLES = 5
"""Examples that a finding keeps at most."""

Status = Literal["sound", "look", "fault", "left out"]
"""sound: nothing to see. look: worth a look. fault: the model has this fault. left out: the check does not apply."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Number:
    """A measured number."""

    name: str
    """A stable key, such as `agreement_feminine`."""
    label: str
    """The number in words."""
    value: float | None
    """None: there was nothing to measure."""
    unit: str
    """Such as %, points, chrF or nats a token."""
    interval: Interval | None = None
    """The 95 % confidence interval, where there is one."""
    count: int | None = None
    """The number of things it is a share or mean of."""

    @property
    def text(self) -> str:
        """The number with its unit, such as "12.5 %"."""
        return "-" if self.value is None else f"{_short(self.value)} {self.unit}".rstrip()

    @property
    def interval_text(self) -> str:
        """The interval, such as "8.1 to 18.6"; empty if there is none."""
        return "" if self.interval is None else f"{_short(self.interval[0])} to {_short(self.interval[1])}"


@dataclass(frozen=True)
class Example:
    """An input with the output of the model."""

    source: str
    output: str
    reference: str | None = None
    note: str = ""
    """The reason why it is shown."""

    @property
    def text(self) -> str:
        """The example in one line."""
        note = f" ({self.note})" if self.note else ""
        return f"{self.source} -> {self.output or '(nothing)'}{note}"


@dataclass(frozen=True)
class Table:
    """Numbers in rows, such as one row an occupation."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | int | None, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    check: str
    """The name of the check, as in `--checks`."""
    title: str
    status: Status
    verdict: str
    """One sentence; of a check that was left out, the reason."""
    numbers: tuple[Number, ...] = ()
    """The first is the one that the verdict is about."""
    tables: tuple[Table, ...] = ()
    examples: tuple[Example, ...] = ()

    def number(self, name: str) -> Number:
        """The number of this name."""
        for number in self.numbers:
            if number.name == name:
                return number
        raise KeyError(f"{self.check} has no number {name!r}, only {', '.join(one.name for one in self.numbers)}")

    def value(self, name: str) -> float | None:
        """The value of the number of this name."""
        return self.number(name).value


@dataclass(frozen=True)
class FailureAnalysis:
    """All findings on one model."""

    model: str
    """The name of the model: the last part of its path."""
    task: str
    languages: tuple[str | None, str | None]
    """Source and target language. Of a language model the first is None."""
    engine: str
    test_set: str
    """The text that was probed with, in words."""
    sentences: int
    training_text: str
    """The training text that memorised sentences and rare words were looked up in, in words; or why there is none."""
    settings: Mapping[str, Any]
    """`most`, `beam`, `seed` and `regard`, its version."""
    findings: tuple[Finding, ...] = field(repr=False)

    def finding(self, check: str) -> Finding:
        """The finding of a check."""
        for finding in self.findings:
            if finding.check == check:
                return finding
        raise KeyError(f"no check {check!r} among {', '.join(one.check for one in self.findings)}")

    def to_dict(self) -> dict[str, Any]:
        """The analysis as JSON values; docs/probing.md lists the keys."""
        return {"format": FORMAT, **to_json_types(self, cut=False)}

    def to_text(self) -> str:
        """A table for the terminal: one line a check, and one example below it."""
        name_width = max(len(one.check) for one in self.findings)
        lines = [
            f"{shown(self.model)}: {_direction(self)}, {self.engine}",
            f"test set: {shown(self.test_set)}, {self.sentences:,} sentences",
            f"training text: {shown(self.training_text)}",
            "",
        ]
        for finding in self.findings:
            headline = finding.numbers[0].text if finding.numbers else "-"
            lines.append(
                f"{finding.check:<{name_width}}  {finding.status:<8}  {headline:>11}  {shown(finding.verdict)}"
            )
            if finding.status in ("look", "fault") and finding.examples:
                lines.append(f"{'':<{name_width}}  e.g. {shown(finding.examples[0].text)}")
        return "".join(f"{line}\n" for line in [*lines, "", _summary(self.findings)])

    def save(self, path: str | Path) -> None:
        """Write the analysis: an offline page if the name ends in .html, JSON if it ends in .json."""
        from regard.explain.failures.page import write_analysis

        write_analysis(self, path)


def _direction(analysis: FailureAnalysis) -> str:
    source, target = analysis.languages
    if analysis.task != "translate":
        return f"a language model of {target}" if target else "a language model"
    return f"a translator from {source or 'an unknown language'} to {target or 'an unknown language'}"


def _summary(findings: Sequence[Finding]) -> str:
    """The number of findings of each status, in words."""
    counts = {status: sum(one.status == status for one in findings) for status in ("fault", "look", "sound")}
    left_out = sum(one.status == "left out" for one in findings)
    names = {"fault": "faults" if counts["fault"] != 1 else "fault", "look": "worth a look", "sound": "sound"}
    told = ", ".join(f"{count} {names[status]}" for status, count in counts.items())
    return f"{told}{f', {left_out} left out' if left_out else ''}"


def _short(value: float) -> str:
    """A number with as many digits as a reader needs."""
    size = abs(value)
    if size >= 1e6:
        return f"{value:.2g}"
    if size >= 1000 or (size >= 100 and value == int(value)):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"
