"""`regard info`: describes a bundle and verifies its files; of a run, how far it has come too."""

from pathlib import Path
from typing import Annotated, Any

import typer

from regard.errors import shown


def info(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Describe a bundle and verify every file's hash. Of a run: its best checkpoint, its state and score, and how to go on."""
    from regard.bundle.describe import describe
    from regard.cli.streams import open_output, print_status
    from regard.files import to_json
    from regard.tasks.bundles import bundle_classes
    from regard.tasks.runs import has_checkpoint, is_run, run_state

    state = run_state(bundle) if is_run(bundle) else None
    description: dict[str, Any] = {}
    if state is not None:
        description["run"] = {**state.to_json(), "score": state.score_text}
    if state is None or has_checkpoint(bundle):
        description |= describe(bundle, bundle_classes())
    with open_output(None) as stream:
        stream.write(to_json(description) if as_json else _text(description))
    for problem in description.get("problems", []):
        print_status(f"regard: {problem}")
    if description.get("problems"):
        raise typer.Exit(2)


def _text(values: object, indent: int = 0) -> str:
    """Nested mappings as indented lines."""
    space = "  " * indent
    if isinstance(values, dict):
        return "".join(
            f"{space}{shown(key)}:\n{_text(value, indent + 1)}"
            if isinstance(value, dict | list) and value
            else f"{space}{shown(key)}: {_plain(value)}\n"
            for key, value in values.items()
        )
    if isinstance(values, list):
        return "".join(
            f"{space}- {'  '.join(f'{shown(key)} {_plain(part)}' for key, part in item.items())}\n"
            if isinstance(item, dict)
            else f"{space}- {_plain(item)}\n"
            for item in values
        )
    return f"{space}{_plain(values)}\n"


def _plain(value: object) -> str:
    """A value as text: numbers with thousands separators, a dash for nothing."""
    if value is None or value in ([], {}):
        return "-"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else shown(value)
