"""`regard data convert`: a corpus in another format."""

from typing import Annotated

import typer

from regard.cli.corpus_flags import ReadTaskAs, SourceLanguage, TargetLanguage


def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="IN OUT",
            help="Each one file (.tsv, .jsonl, .tmx, .parquet, .zip of OPUS, - for TSV) or the two of Moses: train.en train.de.",
            show_default=False,
        ),
    ],
    read_as: ReadTaskAs = None,
    write_as: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help="Format of OUT, likewise.")] = None,
    src_lang: SourceLanguage = None,
    tgt_lang: TargetLanguage = None,
) -> None:
    """Write a parallel corpus in another format. OUT must not exist, and appears when it is complete."""
    from contextlib import nullcontext

    from regard.cli.streams import open_output, print_status
    from regard.data.convert import convert_corpus
    from regard.data.task_formats import split_files

    source, output, read = split_files(files, read_as, write_as)
    piped = "-" in output.paths
    with open_output(None) if piped else nullcontext():  # a closed pipe (`| head`) is not an error
        done = convert_corpus(source, output, (src_lang, tgt_lang), read)
    named = f" ({done.languages[0]}-{done.languages[1]})" if None not in done.languages else ""
    sentences = "sentence" if done.altered == 1 else "sentences"
    changed = f"; {done.altered:,} {sentences} changed: what {output.kind} cannot hold" if done.altered else ""
    name = output.name.replace("stdin", "stdout") if piped else output.name
    print_status(f"{name}: {done.pairs:,} {'pair' if done.pairs == 1 else 'pairs'}{named}{changed}")
