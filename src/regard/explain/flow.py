"""From the `diagnosed` events of a run to a table of parts by steps: what the heat maps of gradients and updates draw.

Knows the names of log.jsonl's fields and no file, model or page.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from regard.explain.curves import Event, of_kind

COLUMNS = 120  # steps that a map can show
JUMP = 30.0  # from one look to the next, a gradient so many times as long, or as short, is told in words
FIELDS = ("gradient", "weight", "update", "ratio")

Row = list[float | None]


def gradient_flow(events: Sequence[Event], columns: int = COLUMNS) -> dict[str, Any] | None:
    """For each field of `FIELDS` a row a part and a column a step; None where nothing was logged.

    `parts` are in the order of the log, input first. `ends` are the first and the last self-attention of each stack, which are of one size
    and can be compared. `jumps` are those of `JUMP`, over all steps. Of more than `columns` steps each stretch shows its most unusual one.
    """
    looks = of_kind(events, "diagnosed")
    if not looks:
        return None
    numbers = [{part["name"]: part for part in look["parts"]} for look in looks]
    names = list(numbers[-1])
    rows = {field: [[_finite(at.get(name, {}), field) for at in numbers] for name in names] for field in FIELDS}
    steps = [int(look["step"]) for look in looks]
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
    """Where a positive number is at least `factor` times the one before, or that much smaller: its place, and how many times."""
    found = []
    for column, (before, now) in enumerate(pairwise(row), start=1):
        if before and now and not 1.0 / factor < now / before < factor:
            found.append((column, now / before))
    return found


def most_unusual(rows: Sequence[Sequence[float | None]], limit: int) -> list[int]:
    """At most `limit` columns: the first, the last, and of equal stretches between them the one where some row is farthest from its median.

    Distance is that of logarithms, so a spike and a collapse count alike, and the farthest of all is never left out.
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
    """A number of the log to six digits, which is what the page shows."""
    value = part.get(field)
    return float(f"{value:.6g}") if isinstance(value, int | float) and math.isfinite(value) else None


def _ends(names: Sequence[str]) -> list[tuple[int, int]]:
    stacks: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        if name.endswith(".attention"):
            stacks.setdefault(name.split(".")[0], []).append(index)
    return [(found[0], found[-1]) for found in stacks.values() if len(found) > 1]
