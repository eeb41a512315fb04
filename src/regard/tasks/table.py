"""The table of tasks."""

from regard.tasks.classify.task import Classify
from regard.tasks.generate.task import Generate
from regard.tasks.interface import Task
from regard.tasks.translate.task import Translate

TASKS: dict[str, Task] = {task.name: task for task in (Translate(), Generate(), Classify())}
"""The tasks by name; the first is the default."""
