"""`regard data clean`: a corpus without the pairs that filters drop."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.corpus_flags import ReadAs, SourceLanguage, TargetLanguage


def clean(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="IN",
            help="One file (.tsv, .jsonl, .tmx, .parquet, .zip of OPUS) or the two of Moses: train.en train.de.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="New directory for the kept pairs, dropped.tsv and summary.json."),
    ] = None,
    read_as: ReadAs = None,
    write_as: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of the kept pairs; by default that of IN.")
    ] = None,
    src_lang: SourceLanguage = None,
    tgt_lang: TargetLanguage = None,
    model: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A translator of these languages that judges the pairs too.")
    ] = None,
    gain: Annotated[
        float | None,
        typer.Option(
            help="With --model: least log-probability per token above that with another source.", show_default="0"
        ),
    ] = None,
    misaligned: Annotated[
        bool, typer.Option("--misaligned", help="Also by words that occur together; reads the corpus four times more.")
    ] = False,
    without: Annotated[
        list[str] | None, typer.Option(metavar="FILTER", help="Leave a filter out; may be repeated.")
    ] = None,
    min_words: Annotated[int, typer.Option(help="Fewest words of a side.")] = 1,
    max_words: Annotated[int, typer.Option(help="Most words of a side.")] = 150,
    max_characters: Annotated[int, typer.Option(help="Most characters of a side.")] = 1_000,
    longest_word: Annotated[int, typer.Option(help="Most characters of a word that is no link.")] = 50,
    ratio: Annotated[
        float, typer.Option(help="Largest factor between a pair's length ratio and the median one.")
    ] = 3.0,
    copy_similarity: Annotated[float, typer.Option(help="Similarity from which the target is a copy, up to 1.")] = 0.8,
    number_mismatch: Annotated[
        float, typer.Option(help="Largest share of numbers above 12 that the other side lacks.")
    ] = 0.5,
    language_margin: Annotated[
        float, typer.Option(help="Nats by which a side is more probable in another language.")
    ] = 6.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count only; write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Drop pairs that are no use for training, and say which and why. The same command goes on after an interruption."""
    from regard.cli.scorer import pair_scorer
    from regard.cli.streams import open_output, print_status
    from regard.data.clean import clean_corpus, table
    from regard.data.filters import CleanSettings
    from regard.data.formats import FILE_FORMATS, take_files
    from regard.errors import ConfigError

    source, more = take_files(files, read_as, "--from", "IN")
    if more:
        raise ConfigError(f"{more[0]}: a further file; give one corpus, and the new directory as --out DIR")
    kind = next((name for name in FILE_FORMATS if name == write_as), None)
    if write_as is not None and kind is None:
        raise ConfigError(f"--to {write_as}: not one of {', '.join(FILE_FORMATS)}")
    if (out is None) != dry_run:
        raise ConfigError(
            "--out and --dry-run exclude each other" if dry_run else "give --out DIR, or --dry-run to count only"
        )
    left_out = without or ()
    if gain is not None and model is None:
        raise ConfigError(f"--gain {gain:g}: only a model has it; give --model DIR too, or leave it out")
    if model is not None and "model" in left_out:
        raise ConfigError(f"--model {model}: --without model leaves it out; give one of them")
    if misaligned and "misaligned" in left_out:
        raise ConfigError("--misaligned: --without misaligned leaves it out; give one of them")
    settings = CleanSettings.parse(
        {
            "without": tuple(left_out),
            "min_words": min_words,
            "max_words": max_words,
            "max_characters": max_characters,
            "longest_word": longest_word,
            "ratio": ratio,
            "copy_similarity": copy_similarity,
            "number_mismatch": number_mismatch,
            "language_margin": language_margin,
            "gain": gain or 0.0,
            "misaligned": misaligned,
        },
        "the filters",
    )
    languages = src_lang or source.languages[0], tgt_lang or source.languages[1]
    scorer, digest = (None, None) if model is None else pair_scorer(model, languages)
    try:
        done = clean_corpus(source, out, kind, (src_lang, tgt_lang), settings, scorer, digest)
    except BaseException:
        partial = None if out is None else out.with_name(f"{out.name}.partial")
        if partial is not None and (partial / "state.json").exists():
            print_status(f"what is done is kept in {partial}; the same command goes on from there")
        raise
    with open_output(None) as stream:
        lines = [json.dumps(done.to_dict(), ensure_ascii=False)] if as_json else table(done)
        stream.writelines(f"{line}\n" for line in lines)
    if done.resumed:
        print_status(f"{done.resumed:,} pairs were judged by an earlier command")
    if "language" not in done.dropped and "language" not in settings.without:
        print_status(
            "note: the filter language was not asked: the languages cannot be told; give --src-lang and --tgt-lang"
        )
    if done.altered:
        print_status(f"note: sentences changed, for what the format cannot hold: {done.altered:,}")
    if out is not None:
        print_status(f"{out}: {done.kept:,} of {done.pairs:,} pairs; the others with reasons in {out / 'dropped.tsv'}")
