"""`regard import`: makes a bundle of a model of another program."""

from pathlib import Path
from typing import Annotated

import typer


def import_model(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A model directory of Hugging Face: Marian (OPUS-MT) or Pegasus.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The bundle that is written; it must not exist.")],
    src_lang: Annotated[str | None, typer.Option(help="Code of the source language.")] = None,
    tgt_lang: Annotated[str | None, typer.Option(help="Code of the target language.")] = None,
) -> None:
    """Import a model of another program. No code of its directory is run; what does not fit is refused."""
    from regard.bundle.config import Languages
    from regard.cli.streams import print_status
    from regard.interop.importing import import_model as imported

    imported(path, out, Languages(source=src_lang, target=tgt_lang))
    print_status(f"{out}: a bundle; try `regard translate {out}`")
