"""The table of tasks."""

from collections.abc import Mapping
from typing import Any

from regard.metrics.scores import METRICS
from regard.tasks.caption.task import CaptionPictures
from regard.tasks.classify.task import Classify
from regard.tasks.classify_images.task import ClassifyImages
from regard.tasks.forecast.task import Forecast
from regard.tasks.generate.task import Generate
from regard.tasks.interface import Task
from regard.tasks.pretrain.task import Pretrain
from regard.tasks.translate.task import Translate

TASKS: dict[str, Task] = {
    task.name: task
    for task in (Translate(), Generate(), Classify(), ClassifyImages(), CaptionPictures(), Forecast(), Pretrain())
}
"""The tasks by name; the first is the default."""

FORMS: dict[tuple[str, str], str] = {("classify", "images"): "classify_images"}
"""(task, setting of its data) -> the task that such data means: to classify pictures is a task of its own, under the same verb."""


def resolved_task(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a run with the task that their data means: `classify` with `data.images` is `classify_images`."""
    task, data = values.get("task"), values.get("data")
    for (name, setting), meant in FORMS.items():
        if task == name and isinstance(data, Mapping) and data.get(setting) is not None:
            return {**values, "task": meant}
    return values


def training_unit(task: str) -> str:
    """The unit of `tokens` in the log and in metrics.json: the outputs that are learned, labels, values of a series, or tokens."""
    scores = TASKS[task].scores
    units = {"labels": "labels", "forecasts": "values"}
    return units.get(METRICS[scores[0]].judges, "tokens") if scores else "tokens"
