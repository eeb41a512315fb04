"""`regard data ..`: look at a corpus before training on it."""

import json
from typing import Annotated

import typer

from regard.cli.extension_flag import with_extensions

app = typer.Typer(help="Look at a corpus.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Look at a corpus."""


def check(
    src: Annotated[str | None, typer.Option(help="Source text.")] = None,
    tgt: Annotated[str | None, typer.Option(help="Target text.")] = None,
    pairs: Annotated[
        str | None, typer.Option(help="Both in one file: .tsv, .jsonl, .tmx, or - for TSV on stdin.")
    ] = None,
    src_lang: Annotated[str | None, typer.Option(help="Source language, for .tmx and .jsonl.")] = None,
    tgt_lang: Annotated[str | None, typer.Option(help="Target language, for .tmx and .jsonl.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Report counts, lengths, duplicates, outliers, empty and mis-encoded lines, with their line numbers."""
    from regard.activity import activity
    from regard.cli.streams import open_output
    from regard.data.check import check_corpus
    from regard.errors import ConfigError

    if (src is None) != (tgt is None) or (src is None) == (pairs is None):
        raise ConfigError("give --src F --tgt F, or --pairs F")
    with activity("reading the corpus"):
        report = check_corpus(src, tgt, pairs, (src_lang, tgt_lang))
    with open_output(None) as stream:
        stream.write(
            json.dumps(report.to_dict(), ensure_ascii=False) + "\n" if as_json else report.to_text().rstrip("\n") + "\n"
        )
    if not report.usable:
        raise typer.Exit(2)


app.command("check")(with_extensions(check))
