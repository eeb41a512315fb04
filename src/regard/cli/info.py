"""`regard info`: describes a bundle and verifies its files."""

from pathlib import Path
from typing import Annotated

import typer


def info(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Describe a bundle and verify every file's hash."""
    from regard.bundle.describe import describe
    from regard.cli.streams import open_output, print_status
    from regard.files import to_json
    from regard.tasks.bundles import bundle_classes

    description = describe(bundle, bundle_classes())
    with open_output(None) as stream:
        stream.write(to_json(description) if as_json else _text(description))
    for problem in description["problems"]:
        print_status(f"regard: {problem}")
    if description["problems"]:
        raise typer.Exit(2)


def _text(values: object, indent: int = 0) -> str:
    """Nested mappings as indented lines."""
    space = "  " * indent
    if isinstance(values, dict):
        return "".join(
            f"{space}{key}:\n{_text(value, indent + 1)}"
            if isinstance(value, dict | list) and value
            else f"{space}{key}: {_plain(value)}\n"
            for key, value in values.items()
        )
    if isinstance(values, list):
        return "".join(
            f"{space}- {'  '.join(f'{key} {_plain(part)}' for key, part in item.items())}\n"
            if isinstance(item, dict)
            else f"{space}- {_plain(item)}\n"
            for item in values
        )
    return f"{space}{_plain(values)}\n"


def _plain(value: object) -> str:
    """A value as text: numbers with thousands separators, a dash for nothing."""
    if value is None or value in ([], {}):
        return "-"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
