"""`regard data grammar`: a generated corpus of sentences and their trees in brackets."""

from pathlib import Path
from typing import Annotated

import typer

MOST = 1_000_000


def grammar(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new directory.", show_default=False)],
    train: Annotated[int, typer.Option(min=1, max=MOST, help="Training sentences.")] = 20_000,
    valid: Annotated[int, typer.Option(min=0, max=MOST, help="Validation sentences.")] = 1_000,
    test: Annotated[int, typer.Option(min=0, max=MOST, help="Test sentences of the same kind.")] = 1_000,
    each: Annotated[int, typer.Option(min=0, max=10_000, help="Test sentences of each type of generalisation.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Draws the sentences.")] = 1,
) -> None:
    """Write train.tsv, valid.tsv, test.tsv and gen.tsv: a sentence, its tree in brackets, and the type of the test, as in COGS."""
    from regard.activity import activity
    from regard.cli.streams import print_status
    from regard.data.bracketed import grammar_files
    from regard.files import refuse_taken, whole_directory

    refuse_taken(out)
    with activity("drawing sentences"):
        files = grammar_files(train, valid, test, each, seed)
    with whole_directory(out) as staging:
        for name, sentences in files.items():
            rows = (f"{parsed.sentence}\t{parsed.brackets}\t{parsed.kind}\n" for parsed in sentences)
            (staging / name).write_text("".join(rows), encoding="utf-8")
    for name, sentences in files.items():
        print_status(f"{out / name}: {len(sentences):,} sentence{'s' * (len(sentences) != 1)}")
