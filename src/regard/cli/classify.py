"""`regard classify`: lines in, labels out, in order."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

AT_ONCE = 4096  # lines


def classify(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    input_file: Annotated[str, typer.Option("-i", "--input", help="Texts, one a line; - is stdin.")] = "-",
    output_file: Annotated[
        str | None, typer.Option("-o", "--output", help="Where labels go; stdout by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One object a line, with every probability.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Print the label of each line."""
    from dataclasses import asdict

    from regard.cli.streams import results, say
    from regard.data.readers import read_lines
    from regard.engine.load import load_labeller
    from regard.files import to_json_line

    labeller, first = load_labeller(bundle, device), 1
    with results(output_file) as stream:
        texts = read_lines(input_file)
        while lines := list(islice(texts, AT_ONCE)):
            for number, one in enumerate(labeller.classify(lines), first):
                stream.write(to_json_line(asdict(one)) if as_json else f"{one.label}\n")
                if one.truncated:
                    say(
                        f"regard: warning: line {number} is longer than {labeller.max_tokens} tokens; its end was not read"
                    )
            first += len(lines)
