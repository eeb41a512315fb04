"""`regard init`: prints a TOML file with every setting of a task and a kind of model: its meaning, its default and what is allowed."""

from typing import Annotated

import typer

from regard.errors import shown


def init(
    task: Annotated[
        str, typer.Option(help="Whose settings: translate, generate, classify, caption or forecast.")
    ] = "translate",
    kind: Annotated[
        str | None, typer.Option(help="Which model: transformer, recurrent, markov or bag, as the task has it.")
    ] = None,
) -> None:
    """Print a config with every setting explained: regard init --task generate --kind markov > run.toml"""
    from regard.cli.streams import open_output
    from regard.extensions import extensions_in_use
    from regard.tasks.table import TASKS
    from regard.tasks.template import kinds_of, settings_template

    text = settings_template(task, kind)
    extensions = "".join(f" --extension {shown(use.name)}" for use in extensions_in_use())
    with open_output(None) as stream:
        stream.write(f"# A run of regard. Start it with: regard train run.toml --out runs/first{extensions}\n")
        stream.write(
            "# A line such as `# seed = 1` is a default. Remove its first # and change it; behind it stands what is allowed.\n"
        )
        for name in TASKS:
            kinds = "|".join(kinds_of(name))
            stream.write(f"# All kinds: regard init --task {name}{f' --kind {kinds}' if kinds else ''}\n")
        stream.write(text)
