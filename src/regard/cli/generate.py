"""`regard generate`: prints text from a language model while it is generated."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from regard.cli import search_flags as flags
from regard.search.options import SearchKeywords

if TYPE_CHECKING:
    from regard.search.options import SearchOptions
    from regard.tasks.generate.generation import Generation
    from regard.tasks.generate.writer import Writer


LONGEST_PROMPT = 64 << 20
"""Memory for a prompt on standard input. Far less is read of it: see `Writer`."""


@flags.search_flags(without=("coverage", "nbest", "sample", "shortlist"))
def generate(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    prompt: Annotated[str, typer.Argument(metavar="[PROMPT]", help="What to go on with; - is stdin.")] = "",
    samples: Annotated[int, typer.Option("-n", "--samples", help="How many texts.")] = 1,
    beam: Annotated[int, typer.Option(help="Search for the most probable text, 1: greedily; 0 draws it.")] = 0,
    max_length: Annotated[int, typer.Option(help="The most tokens of a text.")] = 200,
    *,
    search: SearchKeywords,
    as_json: Annotated[bool, typer.Option("--json", help="One object a text, with its log-probability.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Go on with a prompt, or write from nothing. Several texts are separated by a line of three dashes."""
    from regard.cli.streams import open_output, print_status
    from regard.errors import SearchError
    from regard.files import to_json_line
    from regard.search.run import goes_token_by_token
    from regard.tasks.load import load_writer

    if beam < 0:
        raise SearchError(f"beam = {beam}: must be 0, which draws, or more")
    if search["exact"] and samples > 1:
        raise SearchError(
            f"-n {samples}: exact search has one answer; leave -n out, or use --beam {samples} instead of --exact"
        )
    searches = beam or search["mbr"] or search["exact"] or search["exhaustive"]
    options = flags.search_options(
        {**search, "beam": max(1, beam), "nbest": samples, "sample": not searches, "max_length": max_length}
    )
    writer = load_writer(bundle, device)
    with open_output(None) as output:
        prompt = _read_prompt(prompt)
        if unknown := writer.unknown_words(prompt):
            names = ", ".join(map(repr, unknown))
            print_status(f"note: the training text does not have {names}, so what follows does not depend on that")
        if as_json:
            output.writelines(to_json_line(_record(text)) for text in _generations(writer, prompt, options))
        elif options.sample or (samples == 1 and not options.mbr and goes_token_by_token(options)):
            _stream(writer, prompt, options, output)
        else:
            output.write("---\n".join(f"{prompt}{text.text}\n" for text in _generations(writer, prompt, options)))


def _read_prompt(prompt: str) -> str:
    """The prompt; `-` reads standard input."""
    if prompt != "-":
        return prompt
    from regard.data.readers import read_all

    return "\n".join(read_all("-", LONGEST_PROMPT))


def _generations(writer: "Writer", prompt: str, options: "SearchOptions") -> "Iterator[Generation]":
    """The texts in the order in which they are printed: samples by number, search results best first.

    The proof of an exact search goes to stderr.
    """
    from regard.cli.streams import print_status

    if options.sample:
        for number in range(options.nbest):
            [drawn] = writer.write([prompt], _options_of_text(options, number))
            _warn_of_time(drawn, options)
            yield drawn
    else:
        [best] = writer.write([prompt], options)
        _warn_of_time(best, options)
        if best.proof is not None:
            print_status(f"regard: {best.proof}")
        yield from best.alternatives or (best,)


def _stream(writer: "Writer", prompt: str, options: "SearchOptions", output: TextIO) -> None:
    """Print the texts piece by piece. A closed pipe stops the search."""
    for number in range(options.nbest):
        output.write(f"---\n{prompt}" if number else prompt)
        output.flush()
        with writer.stream(prompt, _options_of_text(options, number)) as pieces:
            for piece in pieces:
                output.write(piece)
                output.flush()
        output.write("\n")
        output.flush()
        _warn_of_time(pieces.result, options)


def _warn_of_time(text: "Generation", options: "SearchOptions") -> None:
    from regard.cli.streams import print_status

    if text.timed_out:
        print_status(f"regard: warning: --time-limit {options.time_limit:g} ended the search")


def _options_of_text(options: "SearchOptions", number: int) -> "SearchOptions":
    """The options of text `number`, with its own seed: the same text whether it is streamed or printed at once."""
    return replace(options, nbest=1, seed=(options.seed + number) % 2**64)


def _record(generation: "Generation") -> dict[str, object]:
    left_out = ("alternatives", "score") if generation.proof else ("alternatives", "score", "proof")
    return {name: value for name, value in asdict(generation).items() if name not in left_out}
