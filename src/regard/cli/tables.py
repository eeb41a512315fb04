"""Draws tables and the notes below them for a terminal."""

import io
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.errors import LONGEST_MESSAGE, shown

if TYPE_CHECKING:
    from regard.explain.tables import Table


def draw_tables(tables: "Sequence[Table]", notes: Sequence[str]) -> str:
    """Tables drawn by rich: as wide as the terminal, or unlimited if the output is not a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    width = Console().width if sys.stdout.isatty() else 1000
    text = io.StringIO()
    console = Console(file=text, width=width)
    for table in tables:
        rich_table = RichTable(box=SIMPLE_HEAD)
        for number, heading in enumerate(table.headings):
            rich_table.add_column(Text(heading), justify="right" if number else "left", overflow="fold")
        for row in table.cells:
            rich_table.add_row(*map(Text, row))  # rich would read [brackets] in a str as markup
        console.print(rich_table)
    for note in notes:
        console.print(shown(note, LONGEST_MESSAGE), markup=False, highlight=False, emoji=False)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
