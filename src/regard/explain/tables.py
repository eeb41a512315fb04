"""Tables of a comparison, as text cells, Markdown, LaTeX and JSON."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import LONGEST_MESSAGE, shown
from regard.explain.comparison import Comparison, Row
from regard.files import to_json
from regard.metrics.scores import METRICS, Metric
from regard.tasks.sweep import positions_differ
from regard.tasks.table import training_unit

NOTHING = "-"
LONGEST_NAME = 120
"""Characters of a row's name; a longer one loses its middle. JSON has all of it."""
ENGINES = {"ct2": "CTranslate2", "not recorded": "engine not recorded"}


def _clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


COSTS: dict[str, tuple[str, Callable[[float], str]]] = {  # name in metrics.json -> heading, format
    "parameters": ("parameters", "{:,.0f}".format),
    "steps": ("steps", "{:,.0f}".format),
    "tokens": ("training {unit}", "{:,.0f}".format),
    "seconds": ("training time", _clock),
    "sentences_per_second": ("{decoded}/s", "{:,.1f}".format),
}


@dataclass(frozen=True)
class Table:
    """A table of text cells. The first column names the rows."""

    headings: Sequence[str]
    cells: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        """Escape the names and values of others: whatever the table is written as."""
        object.__setattr__(self, "headings", [shown(heading) for heading in self.headings])
        cells = [[shown(name, LONGEST_NAME), *map(shown, row)] for name, *row in self.cells]
        object.__setattr__(self, "cells", cells)


def tables(comparison: Comparison, *, by_length: bool = False) -> list[Table]:
    """The tables of scores and costs and, with `by_length`, of scores by source length."""
    quality_and_cost = [_quality(comparison), _cost(comparison)]
    return [*quality_and_cost, _by_length(comparison)] if by_length and _has_lengths(comparison) else quality_and_cost


def _has_lengths(comparison: Comparison) -> bool:
    return any(row.by_length for row in comparison.rows)


def notes(comparison: Comparison, *, by_length: bool = False) -> list[str]:
    """Notes on how to read the tables, or why there is none by length."""
    several = any(len(row.runs) > 1 for row in comparison.rows)
    lines = [f"{comparison.sentences:,} {comparison.unit} of the {comparison.test_set} set"]
    if several:
        lines[0] += "; mean ± standard deviation over the runs of a row, which differ in train.seed alone"
    if _tested(comparison):
        lines.append(
            f"difference and p: {METRICS[comparison.metric].table_heading} against {comparison.baseline}, paired bootstrap, "
            f"{comparison.resamples:,} resamples of the sentences" + (" and of the runs" if several else "")
        )
    lines += _single_runs(comparison)
    if (positions := _positions(comparison)) is not None:
        lines.append(positions)
    if by_length and not _has_lengths(comparison):
        lines.append("no table by length: these runs are not judged sentence by sentence")
    lines += _engines(comparison)
    signatures = [f"{METRICS[name].table_heading}: {text}" for name, text in comparison.signatures.items()]
    return [shown(line, LONGEST_MESSAGE) for line in (*lines, *signatures)]


def _single_runs(comparison: Comparison) -> list[str]:
    """A note on what p leaves out where a row has one run only."""
    rows = [row for row in comparison.rows if len(row.runs) == 1]
    if not rows or not _tested(comparison):
        return []
    which = "one run each" if len(rows) == len(comparison.rows) else f"one run: {', '.join(row.name for row in rows)}"
    return [f"{which}: p is about the sentences, not about the seeds; another seed may give another order (--seeds 3)"]


def _positions(comparison: Comparison) -> str | None:
    """A note on rows of different scores that also differ in positions; None: there are none."""
    settings = [row.settings for row in comparison.rows]
    used = {str(row["model.positions"]): str(row.get("model.score")) for row in settings if "model.positions" in row}
    scores = {row["model.score"] for row in settings if "model.score" in row}
    return positions_differ(used) if len(used) > 1 and len(scores) > 1 and "rotary" in used else None


def _engines(comparison: Comparison) -> list[str]:
    """Which engine each row was timed with, if there are several."""
    rows: dict[str, list[str]] = {}
    for row in comparison.rows:
        for engine in sorted(row.engines):
            rows.setdefault(ENGINES.get(engine, engine), []).append(row.name)
    if len(rows) < 2:
        return []
    told = "; ".join(f"{engine}: {', '.join(names)}" for engine, names in rows.items())
    return [f"decoded sentences/s compares engines too. {told}"]


def _tested(comparison: Comparison) -> bool:
    return any(row.against is not None for row in comparison.rows)


def _quality(comparison: Comparison) -> Table:
    scores = comparison.rows[0].scores
    names = [name for name in scores if any(_mean(row.scores[name]) is not None for row in comparison.rows)]
    tested = _tested(comparison)
    headings = ["", "runs", *(METRICS[name].table_heading for name in names), *(["difference", "p"] if tested else [])]
    return Table(
        headings,
        [
            [
                row.name,
                str(len(row.runs)),
                *(with_spread(row.scores[name], METRICS[name]) for name in names),
                *(_against(row, METRICS[comparison.metric]) if tested else []),
            ]
            for row in comparison.rows
        ],
    )


def _against(row: Row, metric: Metric) -> list[str]:
    if row.against is None:
        return ["baseline", NOTHING]
    return [metric.number(row.against.difference, "+"), f"{row.against.p_value:.3f}"]


def _cost(comparison: Comparison) -> Table:
    cells = []
    for row in comparison.rows:
        means = [_mean(row.measured(name)) for name in COSTS]
        written = zip(means, COSTS.values(), strict=True)
        cells.append([row.name, *(NOTHING if mean is None else write(mean) for mean, (_, write) in written)])
    unit = training_unit(comparison.rows[0].runs[0].task)
    decoded = "decoded sentences" if comparison.unit == "sentences" else comparison.unit
    return Table(["", *(heading.format(unit=unit, decoded=decoded) for heading, _ in COSTS.values())], cells)


def _by_length(comparison: Comparison) -> Table:
    metric = METRICS[comparison.metric]
    ranges = [bucket_name(bucket) for bucket in comparison.buckets]
    return Table(
        [f"{metric.table_heading} by source words", *ranges],
        [[row.name, *(with_spread(values, metric) for values in row.by_length)] for row in comparison.rows],
    )


def bucket_name(bucket: tuple[int, int]) -> str:
    """The name of a bucket: `4-7`, or `8` if it holds one length."""
    low, high = bucket
    return str(low) if low == high else f"{low}-{high}"


def with_spread(values: Sequence[float | None], metric: Metric) -> str:
    """The mean and, for more than one value, the standard deviation."""
    mean = _mean(values)
    if mean is None:
        return NOTHING
    present = [value for value in values if value is not None]
    spread = f" ± {metric.number(statistics.stdev(present))}" if len(present) > 1 else ""
    return f"{metric.number(mean)}{spread}"


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return statistics.fmean(present) if present else None


def to_markdown(comparison: Comparison, *, by_length: bool = False) -> str:
    """Markdown tables."""
    parts = []
    for table in tables(comparison, by_length=by_length):
        lines = [table.headings, ["---", *["---:"] * (len(table.headings) - 1)]]
        lines += [[cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row] for row in table.cells]
        parts.append("".join(f"| {' | '.join(line)} |\n" for line in lines))
    parts.append("".join(f"- {note.replace('|', chr(92) + '|')}\n" for note in notes(comparison, by_length=by_length)))
    return "\n".join(parts)


LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def to_latex(comparison: Comparison, *, by_length: bool = False) -> str:
    """LaTeX tables for the package booktabs, with the notes in comments above."""
    parts = ["".join(f"% {note}\n" for note in notes(comparison, by_length=by_length))]
    for table in tables(comparison, by_length=by_length):
        body = [" & ".join(map(_latex, line)) + r" \\" for line in table.cells]
        lines = [
            rf"\begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}",
            r"\toprule",
            " & ".join(map(_latex, table.headings)) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _latex(text: str) -> str:
    if text[:1] in "+-" and text[1:2].isdigit():
        return f"${text}$"  # a minus sign, not a hyphen
    return "".join(LATEX.get(character, character) for character in text)


def comparison_to_json(comparison: Comparison, *, by_length: bool = False) -> str:
    """JSON with every number of every run, in the scales of metrics.json."""
    return to_json(
        {
            "metric": comparison.metric,
            "baseline": comparison.baseline,
            "resamples": comparison.resamples,
            "signatures": dict(comparison.signatures),
            "set": comparison.test_set,
            comparison.unit: comparison.sentences,
            "rows": [_row(comparison, row, by_length) for row in comparison.rows],
        }
    )


def _row(comparison: Comparison, row: Row, by_length: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": row.name,
        "settings": dict(row.settings),
        "runs": [str(run.directory) for run in row.runs],
        "scores": {name: _summary(values) for name, values in row.scores.items()},
        **{name: _mean(row.measured(name)) for name in COSTS},
        "against_baseline": None if row.against is None else row.against.record(),
    }
    if by_length:
        fields["by_length"] = [
            {"from": low, "to": high, **_summary(values)}
            for (low, high), values in zip(comparison.buckets, row.by_length, strict=True)
        ]
    return fields


def _summary(values: Sequence[float | None]) -> dict[str, Any]:
    present = [value for value in values if value is not None]
    deviation = statistics.stdev(present) if len(present) > 1 else None
    return {"mean": _mean(values), "deviation": deviation, "values": list(values)}
