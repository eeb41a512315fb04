"""Figures for papers: learning curves of several runs, their gradients by part, and their final scores.

The suffix of the file chooses SVG, PNG or PDF. The same logs give the same SVG, byte for byte. matplotlib is imported only to draw.
"""

import io
import math
import os
import statistics
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ConfigError, DataError
from regard.explain.comparison import Comparison
from regard.explain.curves import Event, Point, events_of_kind, series, smooth, thin
from regard.explain.flow import gradient_flow
from regard.explain.tables import bucket_name
from regard.extras import missing
from regard.files import write_whole
from regard.metrics.scores import METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Runs = Mapping[str, Sequence[Event]]  # label -> the objects of log.jsonl

ACROSS = {"step": "steps", "tokens": "target tokens", "seconds": "seconds of training"}
# Distinguishable with any colour vision (Okabe and Ito 2008), and by their marks in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = "osD^vPX"
STYLE: Any = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same on every machine
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "svg.hashsalt": "regard",
    "svg.fonttype": "path",
}
# Fields that would make two equal drawings differ.
METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
}
MARKS_A_CURVE = 8
LABEL_GAP = 0.062  # least distance of two labels, as a fraction of the frame's height
MANY_TIMES = 8.0  # runs whose lengths differ by this factor share a logarithmic axis


def vertical_axes() -> dict[str, str]:
    """Name -> axis label of everything that a learning curve can show: the loss and every score."""
    return {
        "loss": "validation loss (nats a token)",
        **{name: f"validation {row.table_heading}" for name, row in METRICS.items()},
    }


def draw_learning_curves(
    runs: Runs, path: Path, *, across: Sequence[str] = ("step",), up: str = "loss", ordered: bool = False
) -> None:
    """Draw validation curves of all runs: `up` (of `vertical_axes()`) over each of `across` (of `ACROSS`), one frame each.

    The smoothed training loss is behind a loss. `ordered`: the runs are values of one setting, small to large, and share a colour scale.
    """
    for name, choices in ((up, vertical_axes()), *((name, ACROSS) for name in across)):
        if name not in choices:
            raise ConfigError(f"{name!r} cannot be drawn; there is {', '.join(choices)}")
    for label, events in runs.items():
        if not series(events_of_kind(events, "validated"), up)[0]:
            raise DataError(f"{label}: its log holds no validation {up}; let the run come to a validation first")
    scale = METRICS[up].scale if up in METRICS else 1.0
    with drawn_figure(path, width=1.6 + 3.4 * len(across), height=3.3) as figure:
        from matplotlib.ticker import LogLocator, MaxNLocator

        frames = figure.subplots(1, len(across), sharey=True, squeeze=False)[0]
        colours = _shades(len(runs)) if ordered else COLOURS
        for frame, name in zip(frames, across, strict=True):
            ends = []
            for number, (label, events) in enumerate(runs.items()):
                colour, mark = colours[number % len(colours)], MARKS[number % len(MARKS)]
                if up == "loss":
                    faint = with_x_axis(events, thin(smooth(series(events_of_kind(events, "step"), "nll")[0])), name)
                    frame.plot(*_columns(faint), color=colour, alpha=0.3, linewidth=0.9)
                shown = [(step, scale * value) for step, value in series(events_of_kind(events, "validated"), up)[0]]
                points = with_x_axis(events, shown, name)
                frame.plot(*_columns(points), color=colour, marker=mark, markevery=_marked(points), label=label)
                ends.append(points[-1])
            if max(x for x, _ in ends) > MANY_TIMES * min(x for x, _ in ends):
                frame.set_xscale("log")
            else:
                frame.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
            frame.xaxis.set_major_formatter(_thousands)
            frame.set_xlabel(ACROSS[name])
        if up == "loss":
            frames[0].set_yscale("log")
            frames[0].yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            frames[0].yaxis.set_major_formatter("{x:g}")
            frames[0].yaxis.set_minor_formatter("")
        frames[0].set_ylabel(vertical_axes()[up])
        _label_ends(frames[-1], list(runs), ends, colours)


def with_x_axis(events: Sequence[Event], points: Sequence[Point], name: str) -> list[tuple[float, float]]:
    """The points with each step replaced by its position on the x axis `name`: steps, target tokens or seconds."""
    if name == "step":
        return [(float(step), value) for step, value in points]
    reached, total = {0: 0.0}, 0.0
    for event in events_of_kind(events, "step"):
        total = total + float(event["tokens"]) if name == "tokens" else float(event["seconds"])
        reached[int(event["step"])] = total
    return [(reached[step], value) for step, value in points if step in reached]


def draw_gradient_flow(runs: Runs, path: Path) -> None:
    """Draw the gradient norm of every part of the network by step: one frame for each run, input at the top, one colour scale."""
    flows = {label: gradient_flow(events) for label, events in runs.items()}
    for label, flow in flows.items():
        if flow is None:
            raise DataError(f"{label}: its log holds no gradients by part; train with train.diagnose_every")
    positive = [value for flow in flows.values() if flow for row in flow["gradient"] for value in row if value]
    with drawn_figure(path, width=1.4 + 2.6 * len(flows), height=5.2) as figure:
        from matplotlib.colors import LogNorm

        scale = LogNorm(min(positive), max(positive))
        frames = figure.subplots(1, len(flows), squeeze=False)[0]
        for number, (frame, (label, flow)) in enumerate(zip(frames, flows.items(), strict=True)):
            assert flow is not None
            cells = [[math.nan if value is None else value for value in row] for row in flow["gradient"]]
            image = frame.imshow(cells, norm=scale, cmap="cividis", aspect="auto", interpolation="nearest")
            frame.grid(False)
            frame.set_title(label, fontsize=9)
            frame.set_xlabel("steps")
            columns = range(0, len(flow["steps"]), max(1, len(flow["steps"]) // 4))
            frame.set_xticks(list(columns), [f"{flow['steps'][column]:,}" for column in columns])
            blocks = _blocks(flow["parts"])
            frame.set_yticks(
                [row for row, _ in blocks], [name if number == 0 else "" for _, name in blocks], fontsize=6
            )
        figure.colorbar(image, ax=list(frames), label="gradient norm", fraction=0.05, pad=0.02)


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Draw the metric of every row, with a dot for each run and error bars of one standard deviation, in total and by source length."""
    metric, rows = METRICS[comparison.metric], comparison.rows
    names = [row.name.replace(" ", "\n") for row in rows]  # one setting per line
    with drawn_figure(path, width=8.4, height=1.4 + 0.2 * max(9, len("\n\n".join(names).split("\n")))) as figure:
        whole, parts = figure.subplots(1, 2, width_ratios=(1, 1.2))
        ranges = [bucket_name(bucket) for bucket in comparison.buckets]
        for number, row in enumerate(rows):
            colour, mark = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
            values = [metric.scale * value for value in row.scores[comparison.metric] if value is not None]
            whole.plot(values, [number] * len(values), color=colour, marker=mark, linestyle="", alpha=0.3)
            whole.errorbar(
                [statistics.fmean(values)], [number], xerr=[_deviation(values)], color=colour, marker=mark, capsize=3
            )
            columns = [[metric.scale * value for value in values] for values in row.by_length]
            parts.errorbar(
                ranges,
                [statistics.fmean(column) for column in columns],
                yerr=[_deviation(column) for column in columns],
                color=colour,
                marker=mark,
                capsize=3,
                label=row.name,
            )
        whole.set_yticks(range(len(rows)), names)
        whole.set_ylim(len(rows) - 0.5, -0.5)
        whole.set_xlabel(metric.table_heading)
        parts.set_xlabel("words in the source sentence")
        parts.set_ylabel(metric.table_heading)


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _blocks(parts: Sequence[str]) -> list[tuple[float, str]]:
    """The middle row of each block or table, and its name."""
    rows: dict[str, list[int]] = {}
    for row, part in enumerate(parts):
        rows.setdefault(" ".join(part.split(".")[:2]), []).append(row)
    return [((numbers[0] + numbers[-1]) / 2, name.replace("_", " ")) for name, numbers in rows.items()]


def _shades(count: int) -> list[Any]:
    """Colours of one scale, dark to light, without the palest."""
    from matplotlib import colormaps

    return [colormaps["viridis"](0.8 * index / max(1, count - 1)) for index in range(count)]


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _marked(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points that get a mark: the last and a few before it, so that marks do not hide the line."""
    stride = max(1, len(points) // MARKS_A_CURVE)
    return list(range(len(points) - 1, -1, -stride))


def _thousands(value: float, _: object) -> str:
    """A tick label without powers of ten: 1,500, 20 k, 2 M."""
    if value < 1e4:
        return f"{value:,.0f}"
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k"


def _label_ends(
    frame: "Axes", labels: Sequence[str], ends: Sequence[tuple[float, float]], colours: Sequence[Any]
) -> None:
    """Write each curve's name beside the frame, at the height where the curve ends; labels that would overlap are moved apart."""
    frame.autoscale_view()  # the heights below need the final scale
    to_frame = frame.transData + frame.transAxes.inverted()
    heights = spread_labels([float(to_frame.transform(end)[1]) for end in ends], LABEL_GAP)
    for number, (label, height) in enumerate(zip(labels, heights, strict=True)):
        colour = colours[number % len(colours)]
        frame.text(1.03, height, label, color=colour, transform=frame.transAxes, va="center", fontweight="bold")


def spread_labels(heights: Sequence[float], gap: float) -> list[float]:
    """The heights, moved until any two are at least `gap` apart. Their order is kept."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    groups: list[list[int]] = []
    for index in order:
        groups.append([index])
        while len(groups) > 1 and _bottom(groups[-1], heights, gap) < _top(groups[-2], heights, gap) + gap:
            last = groups.pop()
            groups[-1] += last
    moved = list(heights)
    for group in groups:
        for place, index in enumerate(group):
            moved[index] = _bottom(group, heights, gap) + gap * place
    return moved


def _bottom(group: Sequence[int], heights: Sequence[float], gap: float) -> float:
    """The height of the lowest label of a group that is centred on its mean."""
    return sum(heights[index] for index in group) / len(group) - gap * (len(group) - 1) / 2


def _top(group: Sequence[int], heights: Sequence[float], gap: float) -> float:
    return _bottom(group, heights, gap) + gap * (len(group) - 1)


def require_matplotlib() -> None:
    """Refuse to draw where matplotlib is not installed."""
    try:
        _import_matplotlib()
    except ImportError:
        raise missing("a figure", "matplotlib") from None


def _import_matplotlib() -> None:
    """Import matplotlib, which would read and obey a `matplotlibrc` in the current directory, whoever put it there."""
    if not os.path.lexists("matplotlibrc"):
        import matplotlib
    else:
        before = os.open(".", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        os.chdir(os.path.dirname(__file__))
        try:
            import matplotlib  # noqa: F401
        finally:
            os.fchdir(before)
            os.close(before)


@contextmanager
def drawn_figure(path: Path, *, width: float, height: float) -> Iterator["Figure"]:
    """A figure to draw on, in inches. It is written to `path` when the block ends."""
    if path.suffix not in METADATA:
        raise ConfigError(f"{path}: a figure is written as {', '.join(METADATA)}; give it one of these suffixes")
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        content = io.BytesIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # characters that the font lacks are drawn as boxes
            figure.savefig(content, format=path.suffix[1:], dpi=200, metadata=METADATA[path.suffix])
    write_whole(path, content.getvalue())
