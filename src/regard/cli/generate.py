"""`regard generate`: what a language model writes, told while it is written."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from regard.cli import search_flags as flags
from regard.search.options import NODE_LIMIT

if TYPE_CHECKING:
    from regard.engine.options import SearchOptions
    from regard.engine.writer import Generation, Writer


def generate(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    prompt: Annotated[str, typer.Argument(metavar="[PROMPT]", help="What to go on with; - is stdin.")] = "",
    samples: Annotated[int, typer.Option("-n", "--samples", help="How many texts.")] = 1,
    beam: Annotated[int, typer.Option(help="Search for the most probable text, 1: greedily; 0 draws it.")] = 0,
    alpha: flags.Alpha = 1.0,
    length_form: flags.LengthForm = "power",
    stop: flags.Stop = "likely",
    groups: flags.Groups = 1,
    diversity: flags.Diversity = 0.5,
    temperature: flags.Temperature = 1.0,
    top_k: flags.TopK = 0,
    top_p: flags.TopP = 1.0,
    seed: flags.Seed = 0,
    mbr: flags.Mbr = 0,
    exact: flags.Exact = False,
    node_limit: flags.NodeLimit = NODE_LIMIT,
    min_length: flags.MinLength = 0,
    max_length: Annotated[int, typer.Option(help="The most tokens of a text.")] = 200,
    no_repeat: flags.NoRepeat = 0,
    suppress: flags.Suppress = None,
    as_json: Annotated[bool, typer.Option("--json", help="One object a text, with its log-probability.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Go on with a prompt, or write from nothing. Several texts are separated by a line of three dashes."""
    from regard.cli.streams import results
    from regard.engine.load import load_writer
    from regard.errors import SearchError
    from regard.files import to_json_line

    if beam < 0:
        raise SearchError(f"beam = {beam}: must be 0, which draws, or more")
    options = flags.search_options(
        beam=max(1, beam),
        alpha=alpha,
        length_form=length_form,
        stop=stop,
        nbest=samples,
        groups=groups,
        diversity=diversity,
        sample=not (beam or mbr or exact),
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
    writer = load_writer(bundle, device)
    with results(None) as stream:
        told = _told(prompt)
        if as_json:
            stream.writelines(to_json_line(_record(one)) for one in _texts(writer, told, options))
        elif options.sample or (samples == beam == 1):
            _stream(writer, told, options, stream)
        else:
            stream.write("---\n".join(f"{told}{one.text}\n" for one in _texts(writer, told, options)))


def _told(prompt: str) -> str:
    if prompt != "-":
        return prompt
    from regard.data.readers import read_lines

    return "\n".join(read_lines("-"))


def _texts(writer: "Writer", prompt: str, options: "SearchOptions") -> "Iterator[Generation]":
    """The texts, in the order in which they are told: drawn ones by number, searched ones best first."""
    if options.sample:
        for number in range(options.nbest):
            yield writer.write([prompt], _numbered(options, number))[0]
    else:
        [found] = writer.write([prompt], options)
        yield from found.alternatives or (found,)


def _stream(writer: "Writer", prompt: str, options: "SearchOptions", stream: TextIO) -> None:
    def tell(text: str) -> None:
        stream.write(text)
        stream.flush()

    for number in range(options.nbest):
        tell(f"---\n{prompt}" if number else prompt)
        writer.stream(prompt, _numbered(options, number), tell)
        tell("\n")


def _numbered(options: "SearchOptions", number: int) -> "SearchOptions":
    """For one text of several: its draws are its own, and the same whether it is told at once or piece by piece."""
    return replace(options, nbest=1, seed=options.seed + number)


def _record(one: "Generation") -> dict[str, object]:
    return {name: value for name, value in asdict(one).items() if name not in ("alternatives", "score")}
