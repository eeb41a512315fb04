"""`regard translate`: lines in, lines out, in order; an empty line gives an empty line."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import search_flags as flags
from regard.search.options import NODE_LIMIT

if TYPE_CHECKING:
    from regard.engine.translation import Translation

WINDOW = 2048  # lines that are read, sorted by length and translated together


def translate(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    input_file: Annotated[str, typer.Option("-i", "--input", help="Text to translate; - is stdin.")] = "-",
    output_file: Annotated[
        str | None, typer.Option("-o", "--output", help="Where results go; stdout by default.")
    ] = None,
    beam: flags.Beam = 5,
    alpha: flags.Alpha = 1.0,
    length_form: flags.LengthForm = "power",
    coverage: flags.Coverage = 0.0,
    stop: flags.Stop = "likely",
    nbest: flags.Nbest = 1,
    groups: flags.Groups = 1,
    diversity: flags.Diversity = 0.5,
    sample: flags.Sample = False,
    temperature: flags.Temperature = 1.0,
    top_k: flags.TopK = 0,
    top_p: flags.TopP = 1.0,
    seed: flags.Seed = 0,
    mbr: flags.Mbr = 0,
    exact: flags.Exact = False,
    node_limit: flags.NodeLimit = NODE_LIMIT,
    min_length: flags.MinLength = 0,
    max_length: flags.MaxLength = None,
    no_repeat: flags.NoRepeat = 0,
    suppress: flags.Suppress = None,
    with_prefix: flags.WithPrefix = False,
    with_phrases: flags.WithPhrases = False,
    ensemble: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Another run or bundle to decide with; may be repeated.")
    ] = None,
    align: Annotated[
        bool, typer.Option("--align", help="Add word alignments after a tab (Pharaoh, source-target).")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Translate text with a trained model."""
    from regard.cli.streams import results, say
    from regard.data.readers import read_lines
    from regard.engine.ensemble import load_ensemble
    from regard.engine.load import load
    from regard.engine.translation import DemandWarning, TruncationWarning

    options = flags.search_options(
        beam=beam,
        alpha=alpha,
        length_form=length_form,
        coverage=coverage,
        stop=stop,
        nbest=nbest,
        groups=groups,
        diversity=diversity,
        sample=sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        mbr=mbr,
        exact=exact,
        node_limit=node_limit,
        min_length=min_length,
        max_length=max_length,
        no_repeat=no_repeat,
        suppress=suppress,
    )
    model = load_ensemble([bundle, *ensemble], device) if ensemble else load(bundle, device)
    lines = read_lines(input_file)
    with results(output_file) as stream:
        for first, window in _windows(lines):
            texts, prefixes, phrases = flags.fields(window, with_prefix, with_phrases)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TruncationWarning)  # told below, with the line's number
                warnings.simplefilter("ignore", DemandWarning)
                translations = model.search(
                    texts, replace(options, seed=seed + first), prefixes=prefixes, phrases=phrases
                )
            for number, translation in enumerate(translations, start=first):
                if translation.truncated:
                    say(
                        f"regard: warning: line {number + 1} is longer than {model.max_tokens} tokens; its end was not read"
                    )
                _tell(number, translation)
                stream.writelines(f"{line}\n" for line in _lines(number, translation, nbest, align))
            stream.flush()


def _tell(number: int, translation: "Translation") -> None:
    """What is to be said of a line beside its translation."""
    from regard.cli.streams import say

    for missing in translation.unmet:
        say(f"regard: warning: line {number + 1}: its translation does not have {missing!r}")
    if translation.proof is not None:
        found = "most probable of all" if translation.proof.proved else "not proved to be the most probable"
        say(f"regard: line {number + 1}: {found}, {translation.proof.nodes} nodes")


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
        fields = [
            str(number),
            one.text,
            f"F0={one.logprob:.6f}",
            f"{one.score if one.utility is None else one.utility:.6f}",
        ]
        yield " ||| ".join([*fields, _pharaoh(one)] if align else fields)


def _pharaoh(translation: "Translation") -> str:
    from regard.metrics.alignment import to_pharaoh

    return to_pharaoh(frozenset(translation.alignment))
