"""The output files of `regard explain DIR PICTURE`: a page or JSON, and the picture views of a run's report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.bundle.opened import OpenBundle
from regard.errors import ConfigError, shown
from regard.explain.document import document, to_json_types
from regard.explain.pictures import PictureExplanation, explain_picture
from regard.explain.records import PictureResult, PictureViews, Report, Row
from regard.files import check_place, to_json_line, write_whole
from regard.tasks.table import TASKS

DATA_FORMAT = 1
PICTURE_SCRIPTS = (
    "dom.js",
    "format.js",
    "tip.js",
    "masthead.js",
    "arrays.js",
    "maps.js",
    "pictureviews.js",
    "picture.js",
)
SUFFIXES = (".html", ".json")
WORST_SHOWN = 24
EXPLAINED = 3
"""Wrong pictures that the report explains."""
TEXT_REGIONS, TEXT_LABELS = 5, 5


def check_picture_output(path: Path) -> None:
    """Refuse a file with an unsupported suffix, or that cannot be written."""
    if path.suffix not in SUFFIXES:
        raise ConfigError(
            f"{path}: the explanation of a picture is written as {' or '.join(SUFFIXES)}; give it such a suffix"
        )
    check_place(path)


def write_picture_explanations(explanations: Sequence[PictureExplanation], path: Path) -> None:
    """Write a page or JSON, depending on the suffix."""
    check_picture_output(path)
    write_whole(path, render_pictures(explanations) if path.suffix == ".html" else to_json_line(to_data(explanations)))


def to_data(explanations: Sequence[PictureExplanation], *, packed: bool = False) -> dict[str, Any]:
    """The explanations in JSON types. `packed`: the form for a page, with base64 arrays."""
    return {"format": DATA_FORMAT, "pictures": to_json_types(explanations, packed=packed, cut=False)}


def render_pictures(explanations: Sequence[PictureExplanation]) -> str:
    """The whole page as a string that can be encoded as UTF-8."""
    return document(explanations[0].picture, to_data(explanations, packed=True), PICTURE_SCRIPTS)


def explanation_text(explanation: PictureExplanation) -> str:
    """The likeliest labels, and the patches that matter most."""
    ranked = sorted(explanation.probabilities.items(), key=lambda item: -item[1])[:TEXT_LABELS]
    lines = [f"{shown(explanation.picture)}: {shown(explanation.predicted)}"]
    lines += [f"  {shown(label)}\t{probability:.4f}" for label, probability in ranked]
    values = explanation.occlusion.values
    order = sorted(
        ((float(values[r, c]), r, c) for r in range(values.shape[0]) for c in range(values.shape[1])), reverse=True
    )
    lines.append(f"without this patch, log-probability of {shown(explanation.label)!r} falls by")
    lines += [f"  row {row + 1}, column {column + 1}\t{fall:+.4f}" for fall, row, column in order[:TEXT_REGIONS]]
    return "".join(f"{line}\n" for line in lines)


def add_picture_views(report: Report, rows: Sequence[Row], bundle: OpenBundle | None) -> Report:
    """The report with the wrong pictures, a picture for each cell of the confusion matrix, and what the network saw in some."""
    kept = [row for row in rows if isinstance(row.get("png"), str)]
    wrong = sorted(
        (row for row in kept if row["expected"] != row["found"]), key=lambda row: row["probability_of_expected"]
    )
    cells: dict[str, PictureResult] = {}
    labels = {str(label): number for number, label in enumerate(report.metrics.get("labels") or ())}
    for row in sorted(kept, key=lambda row: -row["probability"]):
        if row["expected"] in labels and row["found"] in labels:
            cells.setdefault(f"{labels[row['expected']]},{labels[row['found']]}", _result(row))
    views = PictureViews(
        worst=[_result(row) for row in wrong[:WORST_SHOWN]],
        cells=cells,
        explained=_explained(bundle, wrong) if bundle is not None else (),
    )
    return replace(report, pictures=views)


def _result(row: Mapping[str, Any]) -> PictureResult:
    return PictureResult(
        row["picture"], row["png"], row["expected"], row["found"], row["probability"], row["probability_of_expected"]
    )


def _explained(bundle: OpenBundle, wrong: Sequence[Row]) -> list[PictureExplanation]:
    """Why the network said what it said of the worst pictures. They are read from the results, which have them as PNG."""
    import base64

    from regard.data.pictures import picture_of_bytes

    if not wrong:
        return []
    served = TASKS["classify_images"].load(bundle, "cpu", "torch", "float32")
    explanations = []
    for row in wrong[:EXPLAINED]:
        picture = picture_of_bytes(base64.b64decode(row["png"]), row["picture"])
        explanations.append(replace(explain_picture(served, picture), picture=row["picture"]))
    return explanations
