"""The options that `regard data convert` and `regard data clean` share."""

from typing import Annotated

import typer

ReadAs = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FORMAT", help="Format of IN: moses, tsv, jsonl, tmx, parquet, zip; else by its name."
    ),
]
ReadTaskAs = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="Format of IN: moses, tsv, jsonl, tmx, parquet, zip; else by its name. "
        "Of tasks, never by name: scan, cmudict, cmudict-unstressed, code, cogs, scitldr and the like.",
    ),
]
SourceLanguage = Annotated[
    str | None, typer.Option("--src-lang", help="Source language; by default the suffix of a Moses file.")
]
TargetLanguage = Annotated[str | None, typer.Option("--tgt-lang", help="Target language, likewise.")]
