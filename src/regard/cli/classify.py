"""`regard classify`: lines in, labels out, in order: of each line, or of each of its words."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.engine.labeller import Classification
    from regard.engine.tagger import Tagging

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
    """Print the label of each line; where words have labels, each word with its label, and a blank line after each text."""
    from dataclasses import asdict

    from regard.cli.streams import results, say
    from regard.data.readers import read_lines
    from regard.engine.load import load_labeller
    from regard.files import to_json_line

    labeller, first = load_labeller(bundle, device), 1
    with results(output_file) as stream:
        texts = read_lines(input_file)
        while lines := list(islice(texts, AT_ONCE)):
            found: Sequence[Classification | Tagging] = labeller.classify(lines)
            for number, one in enumerate(found, first):
                told, left = _told(one)
                stream.write(to_json_line(asdict(one)) if as_json else told)
                if left is not None:
                    say(f"regard: warning: line {number} is longer than {labeller.max_tokens} tokens; {left}")
            first += len(lines)


def _told(one: "Classification | Tagging") -> tuple[str, str | None]:
    """The labels as they are printed, and what a text that is too long was spared."""
    from regard.engine.labeller import Classification

    if isinstance(one, Classification):
        return f"{one.label}\n", "its end was not read" if one.truncated else None
    lines = [f"{word}\t{label}\n" for word, label in zip(one.words, one.labels, strict=True)]
    return "".join([*lines, "\n"]), "it was read in parts" if one.parted else None
