"""`regard import`: makes a bundle of a model of another program."""

from pathlib import Path
from typing import Annotated

import typer

_NEXT = {
    "translate": "regard translate {out}",
    "generate": 'regard generate {out} "Once upon a time"',
    "classify": "regard classify {out}",
    "classify_images": "regard classify {out} PICTURE",
}
"""Task -> the verb to try first."""


def import_model(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A model directory of Hugging Face or CTranslate2, an .argosmodel, or a model of the hub: OWNER/NAME.",
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The bundle that is written; it must not exist.")],
    src_lang: Annotated[str | None, typer.Option(help="Code of the source language.")] = None,
    tgt_lang: Annotated[str | None, typer.Option(help="Code of the target language.")] = None,
    labels: Annotated[
        str | None, typer.Option(help="Labels of a new classifier, with commas between, for an encoder that has none.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of a model of the hub.")] = None,
) -> None:
    """Import a model of another program. No code of its directory is run; what does not fit is refused."""
    from regard.bundle.config import Languages
    from regard.cli.streams import print_status
    from regard.interop.imported import ImportOptions
    from regard.interop.importing import import_any

    names = tuple(name.strip() for name in labels.split(",") if name.strip()) if labels else ()
    options = ImportOptions(Languages(source=src_lang, target=tgt_lang), names)
    model = import_any(path, out, options, revision=revision)
    for note in model.notes:
        print_status(f"note: {note.replace('OUT', str(out))}")
    print_status(f"{out}: a bundle; try `{_NEXT[model.config.task].format(out=out)}`")
