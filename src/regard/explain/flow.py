"""Tables for the heat maps of gradients and updates: network parts by steps, from the `diagnosed` events of a log."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from regard.explain.curves import Event, events_of_kind

COLUMNS = 120  # most steps of a map
JUMP = 30.0  # a gradient that grows or shrinks by this factor between two events is reported in words
FIELDS = ("gradient", "weight", "update", "ratio")

Row = list[float | None]


def gradient_flow(events: Sequence[Event], columns: int = COLUMNS) -> dict[str, Any] | None:
    """For each of `FIELDS` a table with a row for each part and a column for each step; None if nothing was logged.

    `parts` are in the order of the log, input first. `ends` are the first and the last self-attention of each stack, whose gradients are
    comparable. `jumps` cover all steps. Above `columns` steps, each stretch of steps shows its most unusual one.
    """
    diagnostics = events_of_kind(events, "diagnosed")
    if not diagnostics:
        return None
    parts_by_name = [{part["name"]: part for part in event["parts"]} for event in diagnostics]
    names = list(parts_by_name[-1])
    rows = {
        field: [[_finite(parts.get(name, {}), field) for parts in parts_by_name] for name in names] for field in FIELDS
    }
    steps = [int(event["step"]) for event in diagnostics]
    shown = most_unusual(rows["gradient"], columns)
    return {
        "logged": len(steps),
        "steps": [steps[column] for column in shown],
        "parts": names,
        "ends": _ends(names),
        "jumps": [
            {"part": part, "step": steps[column], "factor": factor}
            for part, row in enumerate(rows["gradient"])
            for column, factor in jumps(row)
        ],
        **{field: [[row[column] for column in shown] for row in rows[field]] for field in FIELDS},
    }


def jumps(row: Sequence[float | None], factor: float = JUMP) -> list[tuple[int, float]]:
    """(column, ratio to the previous value) of each value that grew or shrank at least `factor` times. Zeros are skipped."""
    changes = []
    for column, (before, now) in enumerate(pairwise(row), start=1):
        if before and now and not 1.0 / factor < now / before < factor:
            changes.append((column, now / before))
    return changes


def most_unusual(rows: Sequence[Sequence[float | None]], limit: int) -> list[int]:
    """At most `limit` columns: the first, the last, and of each stretch between them the one where a row is farthest from its median.

    Distances are between logarithms, so a spike and a collapse count alike. The farthest column of all is always kept.
    """
    count = len(rows[0])
    if count <= limit:
        return list(range(count))
    far = [0.0] * count
    for row in rows:
        middle = median(value for value in row if value is not None) if any(value is not None for value in row) else 0.0
        far = [max(so_far, _distance(value, middle)) for so_far, value in zip(far, row, strict=True)]
    inner, stretches = range(1, count - 1), limit - 2
    bounds = [1 + index * len(inner) // stretches for index in range(stretches + 1)]
    chosen = [max(range(start, end), key=far.__getitem__) for start, end in pairwise(bounds)]
    return [0, *chosen, count - 1]


def _distance(value: float | None, middle: float) -> float:
    if value == middle:
        return 0.0
    return abs(math.log(value) - math.log(middle)) if value and middle else math.inf


def _finite(part: Mapping[str, Any], field: str) -> float | None:
    """A finite number of the log, rounded to the six digits that the page shows; else None."""
    value = part.get(field)
    return float(f"{value:.6g}") if isinstance(value, int | float) and math.isfinite(value) else None


def _ends(names: Sequence[str]) -> list[tuple[int, int]]:
    """Rows of the first and last self-attention of each stack."""
    stacks: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        if name.endswith((".mixer", ".attention")):  # the latter in logs of format 1
            stacks.setdefault(name.split(".")[0], []).append(index)
    return [(rows[0], rows[-1]) for rows in stacks.values() if len(rows) > 1]
