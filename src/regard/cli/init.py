"""`regard init`: prints a TOML file with every setting, its meaning and its default."""

from typing import Annotated

import typer


def init(
    task: Annotated[str, typer.Option(help="Whose settings: translate, generate or classify.")] = "translate",
) -> None:
    """Print a config with every setting explained: regard init > run.toml"""
    from regard.cli.streams import open_output
    from regard.errors import ConfigError
    from regard.settings import to_toml
    from regard.tasks.table import TASKS

    if task not in TASKS:
        raise ConfigError(f"--task {task}: not one of {', '.join(TASKS)}")
    with open_output(None) as stream:
        stream.write("# A run of regard. Start it with: regard train run.toml --out runs/first\n")
        others = [name for name in TASKS if name != task]
        stream.write(f"# The settings of other tasks: regard init --task {' or '.join(others)}\n")
        text = to_toml(TASKS[task].run)
        default = next(iter(TASKS))
        stream.write(text if task == default else text.replace(f'# task = "{task}"', f'task = "{task}"', 1))
