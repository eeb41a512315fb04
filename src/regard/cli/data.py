"""`regard data ..`: look at a corpus, convert, clean and split it before training on it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.clean import clean
from regard.cli.convert import convert
from regard.cli.extension_flag import with_extensions
from regard.cli.grammar import grammar
from regard.cli.passages import passages
from regard.cli.split import split
from regard.cli.verbs import VerbApp

app = VerbApp(
    help="Look at a corpus, convert it, clean it, split it, or make one.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _group() -> None:
    """Look at a corpus, convert it, clean it, split it, or make one."""


def check(
    src: Annotated[list[str] | None, typer.Option(metavar="FILE", help="Source text; may be repeated.")] = None,
    tgt: Annotated[list[str] | None, typer.Option(metavar="FILE", help="Target text; as often as --src.")] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Both in one file: .tsv, .jsonl, .tmx, .parquet, .zip of OPUS, - for TSV on stdin; may be repeated.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Labelled text: lines of text, tab, label; or of word, tab, label; may be repeated."
        ),
    ] = None,
    src_lang: Annotated[str | None, typer.Option(help="Source language, for .tmx, .jsonl, .parquet.")] = None,
    tgt_lang: Annotated[str | None, typer.Option(help="Target language, for .tmx, .jsonl, .parquet.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A translator of these languages whose scores judge the pairs too."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a corpus.")] = False,
) -> None:
    """Report counts, lengths, repeats, and with line numbers what is empty, mis-encoded, swapped or misaligned.

    Of labelled text, with --data, also whether a bag of words or a sequence model fits better.
    """
    from regard.activity import activity
    from regard.cli.corpora import check_numbers
    from regard.cli.scorer import pair_scorer
    from regard.cli.streams import open_output
    from regard.data.check import check_corpus
    from regard.data.corpus_config import language_of
    from regard.errors import ConfigError

    sources, targets = src or [], tgt or []
    if data:
        _check_labelled(data, [*sources, *targets, *(pairs or ())], model, as_json)
        return
    if bool(sources or targets) == bool(pairs):
        raise ConfigError("give --src F --tgt F, --pairs F, or --data F of labelled text")
    check_numbers(sources, targets)
    corpora: list[tuple[str | None, str | None, str | None]] = [
        *((source, target, None) for source, target in zip(sources, targets, strict=True)),
        *((None, None, path) for path in pairs or ()),
    ]
    if [path for corpus in corpora for path in corpus].count("-") > 1:
        raise ConfigError("standard input '-' can be read only once; give the others as files")
    usable = True
    with open_output(None) as stream:
        for number, corpus in enumerate(corpora):
            named = src_lang or language_of(corpus[0]), tgt_lang or language_of(corpus[1])
            score = None if model is None else pair_scorer(model, named)[0]
            with activity("reading the corpus"):
                report = check_corpus(*corpus, (src_lang, tgt_lang), model=score)
            text = json.dumps(report.to_dict(), ensure_ascii=False) if as_json else report.to_text().rstrip("\n")
            stream.write(f"{text}\n" if as_json or not number else f"\n{text}\n")
            usable &= report.usable
    if not usable:
        raise typer.Exit(2)


def _check_labelled(files: list[str], others: list[str], model: Path | None, as_json: bool) -> None:
    """Report on labelled texts."""
    from regard.activity import activity
    from regard.cli.streams import open_output
    from regard.data.labelled_check import check_labelled
    from regard.errors import ConfigError

    if others or model is not None:
        given = others[0] if others else f"--model {model}"
        raise ConfigError(
            f"--data {files[0]}: labelled text has no pairs; leave {given} out, or check it by a command of its own"
        )
    if files.count("-") > 1:
        raise ConfigError("standard input '-' can be read only once; give the others as files")
    usable = True
    with open_output(None) as stream:
        for number, path in enumerate(files):
            with activity("reading the texts"):
                report = check_labelled(path)
            text = json.dumps(report.to_dict(), ensure_ascii=False) if as_json else report.to_text()
            stream.write(f"{text}\n" if as_json or not number else f"\n{text}\n")
            usable &= report.usable
    if not usable:
        raise typer.Exit(2)


app.command("check")(with_extensions(check))
app.command("convert")(with_extensions(convert))
app.command("clean")(with_extensions(clean))
app.command("split")(with_extensions(split))
app.command("grammar")(with_extensions(grammar))
app.command("passages")(with_extensions(passages))
