"""What `regard explain` writes: the page of one sentence, by one model or by several beside each other, or its data."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from regard.errors import ConfigError
from regard.explain.arrays import NamedArray
from regard.explain.document import document, plain
from regard.explain.explanation import Computation, Explanation
from regard.explain.sentence_figure import draw_sentence
from regard.files import to_json_line, write_whole

DATA_FORMAT = 1
COMPUTATION_NUMBERS = 2_000_000  # that a page holds of how attention is computed: about 11 megabytes
# In the order of their imports: what a module uses comes before it.
SENTENCE_VIEWS = (
    *("alignment.js", "tree.js", "sentences.js", "heads.js", "step.js", "searches.js"),
    *("attribution.js", "whatif.js", "structure.js", "views.js"),
)
SENTENCE_SCRIPTS = (
    *("dom.js", "format.js", "tip.js", "masthead.js", "arrays.js", "matrix.js"),
    *SENTENCE_VIEWS,
    "sentence.js",
)
PICTURES = (".png", ".svg", ".pdf")


def write_explanations(explanations: Sequence[Explanation], path: Path) -> None:
    """Write a page, a figure or the data, as the suffix says."""
    check_suffix(path)
    if path.suffix == ".html":
        write_whole(path, render_sentences(explanations))
    elif path.suffix == ".json":
        write_whole(path, to_json_line(to_data(explanations)))
    else:
        draw_sentence(explanations, path)


def check_suffix(path: Path) -> None:
    """Refuse a file that says nothing of what is to be written."""
    known = (".html", ".json", *PICTURES)
    if path.suffix not in known:
        raise ConfigError(f"{path}: an explanation is written as {', '.join(known)}; give it one of these suffixes")


def to_data(explanations: Sequence[Explanation], *, packed: bool = False) -> dict[str, Any]:
    """The records by the names of their fields, as JSON holds them; `docs/explain.md` says what they mean.

    packed: as a page holds them, very long texts cut.
    """
    return {"format": DATA_FORMAT, "explanations": plain(explanations, packed=packed, cut=packed)}


def render_sentences(explanations: Sequence[Explanation]) -> str:
    """The whole page as one string that can be encoded as UTF-8."""
    shown = to_data([within_page(explanation) for explanation in explanations], packed=True)
    return document(explanations[0].source.text, shown, SENTENCE_SCRIPTS)


def within_page(explanation: Explanation) -> Explanation:
    """The same, with the last layer's computations only, where those of all are too many numbers for a page."""
    numbers = sum(array.values.size for one in explanation.computation.values() for array in _arrays(one).values())
    if numbers <= COMPUTATION_NUMBERS:
        return explanation
    last = {name: _last_layer(one) for name, one in explanation.computation.items()}
    return replace(explanation, computation=last)


def _last_layer(computation: Computation) -> Computation:
    arrays = {name: NamedArray(array.axes, array.values[-1:]) for name, array in _arrays(computation).items()}
    return replace(computation, layers=computation.layers[-1:], **arrays)


def _arrays(computation: Computation) -> dict[str, NamedArray]:
    named = {field.name: getattr(computation, field.name) for field in fields(computation)}
    return {name: value for name, value in named.items() if isinstance(value, NamedArray)}
