"""`regard data split`: training, validation and test text of one corpus."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.corpus_flags import ReadTaskAs, SourceLanguage, TargetLanguage


def split(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="IN OUT",
            help="A corpus, one file or the two of Moses, and a new directory for its parts.",
            show_default=False,
        ),
    ],
    valid: Annotated[int, typer.Option(min=0, help="Size of the validation text, in sources.")] = 0,
    test: Annotated[int, typer.Option(min=0, help="Size of the test text, likewise.")] = 0,
    order: Annotated[
        str,
        typer.Option(help="The last are the test: random (a source is in one part), given, or length of the target."),
    ] = "random",
    seed: Annotated[int | None, typer.Option(min=0, help="Of a random order; 1 if not given.")] = None,
    read_as: ReadTaskAs = None,
    src_lang: SourceLanguage = None,
    tgt_lang: TargetLanguage = None,
) -> None:
    """Split a corpus into train, valid and test, each with the files .src and .tgt.

    In a random order a source of valid and test is there once, and its further targets are alternatives: test.tgt2, test.tgt3 ..
    """
    from regard.cli.streams import print_status
    from regard.data.split import check_split, split_corpus
    from regard.data.task_formats import take_corpus
    from regard.errors import ConfigError

    source, read, rest = take_corpus(files, read_as, "IN OUT")
    if len(rest) != 1:
        raise ConfigError(
            f"{len(rest)} names after {source.name}; give one new directory for the parts, as in IN OUT"
            if rest
            else f"{source.name}: a directory for the parts is missing; give IN OUT"
        )
    chosen = check_split(valid, test, order, seed, files)
    out = Path(rest[0])
    parts = split_corpus(
        source,
        read,
        out,
        valid=valid,
        test=test,
        order=chosen,
        seed=1 if seed is None else seed,
        languages=(src_lang, tgt_lang),
    )
    for part in parts:
        alternatives = f" of {part.sources:,} sources in {part.references} files" if part.references > 1 else ""
        print_status(f"{out / part.name}.src, .tgt: {part.pairs:,} pair{'s' * (part.pairs != 1)}{alternatives}")
