"""Checks that `regard evaluate` is given the files that the task of a model needs, and no others."""

from regard.bundle.opened import OpenBundle
from regard.errors import ConfigError
from regard.tasks.interface import EvaluationFiles, TestFlags
from regard.tasks.load import wrong_task
from regard.tasks.table import TASKS


def needed_files() -> dict[str, EvaluationFiles]:
    """Task name -> the files of its test sets, for every task that states them."""
    stated = {name: getattr(task, "evaluation_files", None) for name, task in TASKS.items()}
    return {name: files for name, files in stated.items() if files is not None}


def check_files(bundle: OpenBundle, flags: TestFlags) -> None:
    """Refuse flags that name another test set than the task of the bundle needs."""
    needed = needed_files()
    if bundle.config.task not in needed:  # the task checks its own flags
        return
    known = {flag for files in needed.values() for flag in (*files.flags, *files.optional)}
    given = {flag for flag in known if flags.get(flag) is not None}
    fitting = [name for name, files in needed.items() if set(files.flags) <= given <= {*files.flags, *files.optional}]
    own = needed[bundle.config.task]
    if not fitting and given and given <= {*own.flags, *own.optional}:
        missing = " ".join(f"--{flag}" for flag in own.flags if flag not in given)
        together = " ".join(f"--{flag} F" for flag in own.flags)
        raise ConfigError(f"{missing} is missing: {own.model} is evaluated by {together}")
    if not fitting:
        *others, last = [
            f"{' '.join(f'--{flag} F' for flag in files.flags)} for {files.model}" for files in needed.values()
        ]
        raise ConfigError(f"give {', '.join(others)}, or {last}")
    if bundle.config.task not in fitting:
        raise wrong_task(bundle, fitting[0])
