"""The table of tasks."""

from regard.metrics.scores import METRICS
from regard.tasks.classify.task import Classify
from regard.tasks.forecast.task import Forecast
from regard.tasks.generate.task import Generate
from regard.tasks.interface import Task
from regard.tasks.translate.task import Translate

TASKS: dict[str, Task] = {task.name: task for task in (Translate(), Generate(), Classify(), Forecast())}
"""The tasks by name; the first is the default."""


def training_unit(task: str) -> str:
    """The unit of `tokens` in the log and in metrics.json: the outputs that are learned, labels, values of a series, or tokens."""
    scores = TASKS[task].scores
    units = {"labels": "labels", "forecasts": "values"}
    return units.get(METRICS[scores[0]].judges, "tokens") if scores else "tokens"
