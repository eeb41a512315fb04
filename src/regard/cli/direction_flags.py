"""The options `--to` and `--from`: the direction of a translator that has several."""

from typing import Annotated

import typer

To = Annotated[
    str | None, typer.Option("--to", metavar="LANG", help="Target language, of a model that translates to several.")
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="LANG", help="Source language; a direction that was not trained is told."),
]
