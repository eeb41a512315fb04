"""The output files of `regard explain`: a page, a figure or JSON of one sentence, for one or more models."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from regard.errors import ConfigError
from regard.explain.arrays import NamedArray
from regard.explain.document import document, to_json_types
from regard.explain.explanation import Computation, Explanation
from regard.explain.figures import require_matplotlib
from regard.explain.sentence_figure import draw_sentence
from regard.files import check_place, to_json_line, write_whole

DATA_FORMAT = 1
COMPUTATION_NUMBERS = 2_000_000  # most numbers of attention computations in a page: about 11 MB
# In the order of their imports: a module comes after those that it uses.
SENTENCE_VIEWS = (
    *("alignment.js", "tree.js", "sentences.js", "heads.js", "step.js", "mixing.js"),
    *("searches.js", "attribution.js", "whatif.js", "structure.js", "views.js"),
)
SENTENCE_SCRIPTS = (
    *("dom.js", "format.js", "tip.js", "masthead.js", "arrays.js", "matrix.js"),
    *SENTENCE_VIEWS,
    "sentence.js",
)
PICTURES = (".png", ".svg", ".pdf")


def write_explanations(explanations: Sequence[Explanation], path: Path) -> None:
    """Write a page, a figure or JSON, depending on the suffix."""
    check_output(path)
    if path.suffix == ".html":
        write_whole(path, render_sentences(explanations))
    elif path.suffix == ".json":
        write_whole(path, to_json_line(to_data(explanations)))
    else:
        draw_sentence(explanations, path)


def check_output(path: Path) -> None:
    """Refuse a file with an unsupported suffix, that cannot be written, or that cannot be drawn."""
    suffixes = (".html", ".json", *PICTURES)
    if path.suffix not in suffixes:
        raise ConfigError(f"{path}: an explanation is written as {', '.join(suffixes)}; give it one of these suffixes")
    check_place(path)
    if path.suffix in PICTURES:
        require_matplotlib()


def to_data(explanations: Sequence[Explanation], *, packed: bool = False) -> dict[str, Any]:
    """The explanations in JSON types; `docs/explain.md` describes the fields.

    `packed`: the form for a page, with base64 arrays and long texts cut.
    """
    return {"format": DATA_FORMAT, "explanations": to_json_types(explanations, packed=packed, cut=packed)}


def render_sentences(explanations: Sequence[Explanation]) -> str:
    """The whole page as a string that can be encoded as UTF-8."""
    shown = to_data([limit_computation(explanation) for explanation in explanations], packed=True)
    return document(explanations[0].source.text, shown, SENTENCE_SCRIPTS)


def limit_computation(explanation: Explanation) -> Explanation:
    """The explanation, reduced to the computations of the last layer if those of all layers are too large for a page."""
    numbers = sum(array.values.size for steps in explanation.computation.values() for array in _arrays(steps).values())
    if numbers <= COMPUTATION_NUMBERS:
        return explanation
    last = {name: _last_layer(steps) for name, steps in explanation.computation.items()}
    return replace(explanation, computation=last)


def _last_layer(computation: Computation) -> Computation:
    arrays = {name: NamedArray(array.axes, array.values[-1:]) for name, array in _arrays(computation).items()}
    return replace(computation, layers=computation.layers[-1:], **arrays)


def _arrays(computation: Computation) -> dict[str, NamedArray]:
    named = {field.name: getattr(computation, field.name) for field in fields(computation)}
    return {name: value for name, value in named.items() if isinstance(value, NamedArray)}
