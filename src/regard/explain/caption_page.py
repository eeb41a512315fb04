"""The output files of `regard explain` for pictures: a page, a figure or JSON, for one or more models."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.explain.captions import CaptionExplanation
from regard.explain.document import document, to_json_types
from regard.explain.figures import drawn_figure
from regard.explain.sentence_page import check_output
from regard.files import to_json_line, write_whole

DATA_FORMAT = 1
CAPTION_SCRIPTS = ("dom.js", "format.js", "tip.js", "masthead.js", "arrays.js", "maps.js", "wordmaps.js", "caption.js")
ACROSS = 5  # maps in a row of the figure
INCHES = 1.7  # on a side of a map


def write_captioned(explanations: Sequence[CaptionExplanation], path: Path) -> None:
    """Write a page, a figure or JSON, depending on the suffix."""
    check_output(path)
    if path.suffix == ".html":
        write_whole(path, render_captioned(explanations))
    elif path.suffix == ".json":
        write_whole(path, to_json_line(to_data(explanations)))
    else:
        draw_captioned(explanations, path)


def to_data(explanations: Sequence[CaptionExplanation], *, packed: bool = False) -> dict[str, Any]:
    """The explanations in JSON types. `packed`: the form for a page, with base64 arrays."""
    return {"format": DATA_FORMAT, "explanations": to_json_types(explanations, packed=packed, cut=False)}


def render_captioned(explanations: Sequence[CaptionExplanation]) -> str:
    """The whole page as a string that can be encoded as UTF-8."""
    return document(explanations[0].picture.name, to_data(explanations, packed=True), CAPTION_SCRIPTS)


def draw_captioned(explanations: Sequence[CaptionExplanation], path: Path) -> None:
    """Draw the picture, and over it the map of each word; one block of rows for each explanation."""
    from PIL import Image

    rows = [-(-(1 + len(one.picture.words)) // ACROSS) for one in explanations]
    with drawn_figure(path, width=ACROSS * INCHES, height=(INCHES + 0.3) * sum(rows)) as figure:
        frames = figure.subplots(sum(rows), ACROSS, squeeze=False)
        for frame in frames.flat:
            frame.set_axis_off()
        first = 0
        for one, own in zip(explanations, rows, strict=True):
            picture = one.picture
            pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(picture.png))).convert("RGB"))
            block = list(frames[first : first + own].flat)
            block[0].imshow(pixels)
            block[0].set_title(one.model.name, fontsize=8).set_parse_math(False)
            for frame, word, weights in zip(block[1:], picture.words, picture.maps.values, strict=False):
                frame.imshow(pixels.mean(axis=2), cmap="gray", vmin=0, vmax=255)
                extent = (-0.5, picture.width - 0.5, picture.height - 0.5, -0.5)
                frame.imshow(weights, cmap="inferno", alpha=0.6, extent=extent, interpolation="bilinear")
                frame.set_title(word, fontsize=9).set_parse_math(False)
            first += own
