"""The table of tasks."""

from regard.metrics.scores import METRICS
from regard.tasks.caption.task import CaptionPictures
from regard.tasks.classify.task import Classify
from regard.tasks.generate.task import Generate
from regard.tasks.interface import Task
from regard.tasks.translate.task import Translate

TASKS: dict[str, Task] = {task.name: task for task in (Translate(), Generate(), Classify(), CaptionPictures())}
"""The tasks by name; the first is the default."""


def training_unit(task: str) -> str:
    """The unit of `tokens` in the log and in metrics.json, which are the outputs that are learned: labels of a classifier, else tokens."""
    scores = TASKS[task].scores
    return "labels" if scores and METRICS[scores[0]].judges == "labels" else "tokens"
