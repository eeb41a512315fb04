"""Time series whose numbers, times, columns or bytes were attacked."""

from pathlib import Path
from random import Random

from hostile import draw
from hostile.verbs import SMALL, Command

SETTINGS = (
    ("--horizon", "0"),
    ("--horizon", "1000000"),
    ("--context", "-1"),
    ("--target", "nobody"),
    ("--set", "data.season=0"),
    ("--set", "data.frequency=fortnight"),
    ("--repair",),
    (),
)


def series(rng: Random, directory: Path) -> Command:
    """A CSV file to learn from, to go on with or to judge by."""
    path = directory / "a.csv"
    attack = rng.choice(["cell", "cell", "cell", "row", "header", "bytes", "place"])
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    if attack == "cell":
        for _ in range(rng.choice([1, 1, 5])):
            row = rng.randrange(1, len(rows))
            rows[row][rng.randrange(len(rows[row]))] = rng.choice(
                [
                    "inf",
                    "-inf",
                    "nan",
                    "1e400",
                    "1e31",
                    "",
                    "x",
                    "0x10",
                    "1,5",
                    "9" * 5000,
                    "2020-13-45",
                    draw.text(rng),
                    rows[1][0],
                ]
            )
    elif attack == "row":
        place = rng.randrange(1, len(rows))
        rows = rng.choice(
            [
                rows[:place] + rows[place + 1 :],
                rows[:place] * 2,
                rows[:1],
                rows[:2],
                rows[::-1],
                [rows[0], *rows[:0:-1]],
                rows[1:],
            ]
        )
    elif attack == "header":
        rows[0] = rng.choice([["", ""], ["ds", "ds"], ["unique_id", "ds", "y"], [draw.text(rng), "sales"], ["ds"]])
    if attack in ("cell", "row", "header"):
        draw.write_text(path, "\n".join(",".join(row) for row in rows) + rng.choice(["", "\n"]))
    elif attack == "bytes":
        draw.damage_bytes(rng, path)
    else:
        draw.replace_file(rng, path)
    return rng.choice(
        [
            Command(("forecast", "forecaster", "--series", "a.csv", "-o", "out.csv")),
            Command(("forecast", "forecaster", "--series", "a.csv"), escaped_output=True),
            Command(("evaluate", "forecaster", "--series", "a.csv", "--baseline", "last"), escaped_output=True),
            Command(
                (
                    "train",
                    "--task",
                    "forecast",
                    "--series",
                    "a.csv",
                    "--horizon",
                    "2",
                    "--context",
                    "8",
                    "--out",
                    "out",
                    "--set",
                    "data.baseline_windows=1",
                    "--set",
                    "model.patch=4",
                    "--set",
                    "model.stride=4",
                    *SMALL,
                    *rng.choice(SETTINGS),
                )
            ),
        ]
    )
