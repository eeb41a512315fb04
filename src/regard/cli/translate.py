"""`regard translate`: lines in, lines out, in order; an empty line gives an empty line."""

import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.engine.translation import Translation

WINDOW = 2048  # lines that are read, sorted by length and translated together


def translate(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    input_file: Annotated[str, typer.Option("-i", "--input", help="Text to translate; - is stdin.")] = "-",
    output_file: Annotated[
        str | None, typer.Option("-o", "--output", help="Where results go; stdout by default.")
    ] = None,
    beam: Annotated[int, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = 5,
    alpha: Annotated[float, typer.Option(help="Scores are divided by length^alpha.")] = 1.0,
    nbest: Annotated[int, typer.Option(help="Print the N best as `line ||| text ||| F0=logprob ||| score`.")] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Draw from the model instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="For --sample.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="For --sample: only the k likeliest tokens; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="For --sample: only the likeliest tokens that make up p.")] = 1.0,
    seed: Annotated[int, typer.Option(help="For --sample.")] = 0,
    max_length: Annotated[int | None, typer.Option(help="Longest output in tokens.")] = None,
    align: Annotated[
        bool, typer.Option("--align", help="Add word alignments after a tab (Pharaoh, source-target).")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Translate text with a trained model."""
    from regard.cli.streams import results, say
    from regard.data.readers import read_lines
    from regard.engine.load import load
    from regard.engine.translation import TruncationWarning
    from regard.errors import ConfigError

    if not sample and (temperature, top_k, top_p) != (1.0, 0, 1.0):
        raise ConfigError("--temperature, --top-k and --top-p are for --sample; add it, or leave them out")
    model = load(bundle, device)
    lines = read_lines(input_file)
    with results(output_file) as stream:
        for first, window in _windows(lines):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TruncationWarning)  # told below, with the line's number
                translations = model.translate(
                    window,
                    beam=beam,
                    alpha=alpha,
                    nbest=nbest,
                    sample=sample,
                    temperature=temperature,
                    top_k=top_k,
                    top_p=top_p,
                    seed=seed + first,
                    max_length=max_length,
                )
            for number, translation in enumerate(translations, start=first):
                if translation.truncated:
                    say(
                        f"regard: warning: line {number + 1} is longer than {model.max_tokens} tokens; its end was not read"
                    )
                stream.writelines(f"{line}\n" for line in _lines(number, translation, nbest, align))
            stream.flush()


def _windows(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    iterator, first = iter(lines), 0
    while window := list(islice(iterator, WINDOW)):
        yield first, window
        first += len(window)


def _lines(number: int, translation: "Translation", nbest: int, align: bool) -> Iterator[str]:
    if nbest == 1:
        yield f"{translation.text}\t{_pharaoh(translation)}" if align else translation.text
        return
    for one in translation.alternatives:
        fields = [str(number), one.text, f"F0={one.logprob:.6f}", f"{one.score:.6f}"]
        yield " ||| ".join([*fields, _pharaoh(one)] if align else fields)


def _pharaoh(translation: "Translation") -> str:
    from regard.metrics.alignment import to_pharaoh

    return to_pharaoh(frozenset(translation.alignment))
