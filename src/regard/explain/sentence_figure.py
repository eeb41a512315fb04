"""A figure of one translation: its word alignment and the cross-attention weights of each head."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import DataError
from regard.explain.explanation import Explanation
from regard.explain.figures import drawn_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

CELL = 0.26  # inches
MOST_HEADS = 64  # above this, the mean of the heads is drawn


def check_drawable(name: str, *, aligns: bool) -> None:
    """Refuse a model without attention to the source."""
    if not aligns:
        raise DataError(f"{name}: it does not look at the source, so there is nothing to draw")


def draw_sentence(explanations: Sequence[Explanation], path: Path) -> None:
    """Draw one row for each explanation: the word alignment, and beside it every head between tokens, one layer in each row."""
    for explanation in explanations:
        check_drawable(explanation.model.name, aligns=bool(explanation.alignments))
    across = max(len(explanation.source.words) for explanation in explanations)
    down = max(len(explanation.target.words) for explanation in explanations)
    width, height = 2.6 + CELL * across, 1.6 + CELL * down
    with drawn_figure(path, width=2.0 * width, height=max(2.6, height) * len(explanations)) as figure:
        rows = figure.subfigures(len(explanations), 1, squeeze=False)[:, 0]
        for row, explanation in zip(rows, explanations, strict=True):
            left, right = row.subfigures(1, 2)
            if len(explanations) > 1:
                row.suptitle(explanation.model.name, fontsize=9).set_parse_math(False)
            _alignment(left.subplots(), explanation)
            _heads(right, explanation)


def _alignment(frame: "Axes", explanation: Explanation) -> None:
    [method, alignment] = next(iter(explanation.alignments.items()))
    frame.imshow(alignment.weights, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    frame.grid(False)
    frame.set_xticks(
        range(len(alignment.source_words)), alignment.source_words, rotation=60, ha="left", rotation_mode="anchor"
    )
    frame.set_yticks(range(len(alignment.target_words)), alignment.target_words)
    frame.xaxis.tick_top()
    frame.spines[:].set_visible(False)
    frame.plot(*zip(*alignment.links, strict=True), linestyle="", marker="o", markersize=3, color="#D55E00")
    frame.set_xlabel(f"words, {method}; dots: links", fontsize=8)
    for label in (*frame.get_xticklabels(), *frame.get_yticklabels()):
        label.set_parse_math(False)  # a dollar sign is no math


def _heads(place: "SubFigure", explanation: Explanation) -> None:
    cross = explanation.attention["cross"]
    separate = cross.shape["layer"] * cross.shape["head"] <= MOST_HEADS
    layers, heads = cross.shape["layer"], cross.shape["head"] if separate else 1
    frames = place.subplots(layers, heads, squeeze=False, gridspec_kw={"wspace": 0.08, "hspace": 0.12})
    for layer in range(layers):
        for head in range(heads):
            frame = frames[layer, head]
            weights = cross.at(layer=layer, head=head) if separate else cross.at(layer=layer).mean("head")
            frame.imshow(weights.values, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
            frame.set_xticks([])
            frame.set_yticks([])
            frame.grid(False)
            frame.spines[:].set_visible(True)
            frame.spines[:].set_color("#cccccc")
            if layer == 0:
                frame.set_title(f"head {head + 1}" if separate else "mean of heads", fontsize=7)
            if head == 0:
                frame.set_ylabel(f"layer {layer + 1}", fontsize=7)
    place.supxlabel("source tokens", fontsize=8)
