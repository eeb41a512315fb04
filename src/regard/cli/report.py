"""`regard report`: writes the report of a run again, from the files in its directory."""

from pathlib import Path
from typing import Annotated

import typer

from regard.errors import shown


def report(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of a run, finished or not.")],
) -> None:
    """Write report.html into a run directory and print its path."""
    from regard.activity import activity
    from regard.cli.streams import open_output

    with activity("loading torch"):
        from regard.explain.run_report import write_run_report

    page = write_run_report(run)
    with open_output(None) as stream:
        stream.write(f"{shown(page)}\n")
