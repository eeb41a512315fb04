"""The explainer, the verb's options and the report views of each task. Without a row there is no explanation and the generic report."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regard.bundle.opened import OpenBundle
from regard.errors import RegardError
from regard.explain.caption_page import write_captioned
from regard.explain.caption_report import add_caption_views
from regard.explain.captions import CaptionExplanation, explain_caption
from regard.explain.explain import explain
from regard.explain.forecast_report import add_forecast_views
from regard.explain.picture_page import (
    add_picture_views,
    check_picture_output,
    explanation_text,
    write_picture_explanations,
)
from regard.explain.pictures import PictureExplanation, explain_picture
from regard.explain.records import Report
from regard.explain.requests import Explaining
from regard.explain.sentence_page import check_output, write_explanations
from regard.explain.sentence_request import (
    CHANGES,
    check_sentence,
    check_text_output,
    explain_sentence,
    notes_on_weights,
    sentence_text,
)
from regard.explain.text import explain_text
from regard.explain.transitions import add_language_views
from regard.explain.translation_report import add_translation_views
from regard.settings import Record
from regard.tasks.run_files import CaptionRow, ForecastRow, PictureRow, TranslationRow

EXPLAINERS: dict[str, Callable[..., Any]] = {
    "translate": explain,
    "generate": explain_text,
    "classify": explain_text,
    "pretrain": explain_text,
    "classify_images": explain_picture,
    "caption": explain_caption,
}
"""Task -> the function that explains one input."""


def _explain_picture(model: Any, picture: str, *, name: str, label: str | None = None) -> PictureExplanation:
    """The explanation of a picture, which names no model: only one is shown."""
    return explain_picture(model, picture, label=label)


_TEXT = Explaining(explain_text, write_explanations, check_text_output, sentence_text)

VERB: dict[str, Explaining] = {
    "translate": Explaining(
        explain_sentence,
        write_explanations,
        check_output,
        sentence_text,
        options={name: name for name in ("target", "beam", "alpha", *CHANGES)},
        check=check_sentence,
        notes=notes_on_weights,
    ),
    "generate": _TEXT,
    "classify": _TEXT,
    "pretrain": _TEXT,
    "classify_images": Explaining(
        _explain_picture,
        write_picture_explanations,
        check_picture_output,
        explanation_text,
        options={"target": "label"},
        several=False,
        refusal="is about sentences, and the model classifies pictures; leave it out",
    ),
    "caption": Explaining(
        explain_caption,
        write_captioned,
        check_output,
        CaptionExplanation.as_text,
        options={"target": "caption", "beam": "beam", "alpha": "alpha"},
        refusal="is about sentences, and the model describes pictures; leave it out",
    ),
}
"""Task -> what `regard explain` does."""

ReportPage = Callable[[Report, Sequence[Mapping[str, Any]], OpenBundle | None], Report]
"""(the generic report, the rows of the task's result file, the bundle if there is a checkpoint) -> the full report."""

REPORT_PAGES: dict[str, ReportPage] = {
    "translate": add_translation_views,
    "generate": add_language_views,
    "classify_images": add_picture_views,
    "caption": add_caption_views,
    "forecast": add_forecast_views,
}
"""Task -> the function that adds its views to the report of a run."""


ROWS: dict[str, type[Record]] = {
    "translate": TranslationRow,
    "classify_images": PictureRow,
    "caption": CaptionRow,
    "forecast": ForecastRow,
}
"""Task -> the record of a line of its result file, where the views of the report read more of it than text."""


def explain_served(served: Any, *given: Any, **options: Any) -> Any:
    """Explain one input with the explainer of the served model's task."""
    task = "translate" if served.bundle is None else served.bundle.config.task
    check_explainable(task)
    return EXPLAINERS[task](served, *given, **options)


def check_explainable(task: str) -> None:
    """Refuse a task without an explainer."""
    if task not in EXPLAINERS:
        raise RegardError(f"a model for task {task!r} cannot be explained yet; there is {', '.join(EXPLAINERS)}")
