"""The explainer and the report views of each task. A task without a row cannot be explained and gets the generic report."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regard.bundle.opened import OpenBundle
from regard.errors import RegardError
from regard.explain.caption_report import add_caption_views
from regard.explain.captions import explain_caption
from regard.explain.explain import explain
from regard.explain.forecast_report import add_forecast_views
from regard.explain.picture_page import add_picture_views
from regard.explain.pictures import explain_picture
from regard.explain.records import Report
from regard.explain.text import explain_text
from regard.explain.transitions import add_language_views
from regard.explain.translation_report import add_translation_views
from regard.settings import Record
from regard.tasks.run_files import CaptionRow, ForecastRow, PictureRow, TranslationRow

EXPLAINERS: dict[str, Callable[..., Any]] = {
    "translate": explain,
    "generate": explain_text,
    "classify": explain_text,
    "classify_images": explain_picture,
    "caption": explain_caption,
}
"""Task -> the function that explains one input."""

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
    if task not in EXPLAINERS:
        raise RegardError(f"a model for task {task!r} cannot be explained yet; there is {', '.join(EXPLAINERS)}")
    return EXPLAINERS[task](served, *given, **options)
