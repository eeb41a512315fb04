"""`regard classify`: lines in, labels out, in order: of each line, or of each of its words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.cli.lines import Answer
    from regard.engine.labeller import Classification, Labeller
    from regard.engine.tagger import Tagger, Tagging


def classify(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    input_file: Annotated[str, typer.Option("-i", "--input", help="Texts, one a line; - is stdin.")] = "-",
    output_file: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="Where labels go; stdout by default. If interrupted, run it again: it goes on."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One object a line, with every probability.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Print the label of each line; where words have labels, each word with its label, and a blank line after each text."""
    from regard.bundle.locate import find_bundle
    from regard.bundle.manifest import identity
    from regard.cli.lines import work_on_lines
    from regard.data.readers import shown
    from regard.engine.load import load_labeller

    path = find_bundle(bundle)
    job = Job(load_labeller(path, device), as_json, shown(input_file))
    work_on_lines(job, input_file, output_file, settings={"json": as_json, "model": identity(path)})


@dataclass(frozen=True)
class Job:
    """What is done with each line: a `Work`."""

    labeller: "Labeller | Tagger"
    as_json: bool
    where: str
    """What the lines are read from."""

    name = "classifying"
    together = None  # the labeller makes batches of its own

    def read(self, lines: list[str]) -> list[str]:
        """The lines as they are."""
        return lines

    def width(self, line: str) -> int:
        """Its characters."""
        return len(line)

    def answers(self, first: int, places: list[int], lines: list[str]) -> "list[Answer]":
        """The labels of some of a window's lines."""
        from regard.cli.lines import Answer
        from regard.files import to_json_line

        if first == 0:
            self._refuse_labelled(lines)
        answers = []
        found: Sequence[Classification | Tagging] = self.labeller.classify(lines)
        for place, one in zip(places, found, strict=True):
            told, left = _told(one)
            limit = f"longer than {self.labeller.max_tokens} tokens"
            remarks = () if left is None else (f"regard: warning: line {first + place + 1} is {limit}; {left}",)
            answers.append(Answer(to_json_line(asdict(one)) if self.as_json else told, remarks))
        return answers

    def _refuse_labelled(self, lines: list[str]) -> None:
        """Lines as training reads them: their labels would be taken for text."""
        from regard.data.labelled import split_label
        from regard.errors import DataError

        labels = [split_label(line)[1] for line in lines if line.strip()]
        if len(labels) > 1 and set(labels) <= set(self.labeller.labels):
            raise DataError(
                f"{self.where}: the first {len(labels):,} lines all end in a tab and a label, such as {labels[0]!r}; give the texts alone, "
                "or judge the model by them: regard evaluate DIR --data FILE"
            )


def _told(one: "Classification | Tagging") -> tuple[str, str | None]:
    """The labels as they are printed, and what a text that is too long was spared."""
    from regard.engine.labeller import Classification

    if isinstance(one, Classification):
        return f"{one.label}\n", "its end was not read" if one.truncated else None
    lines = [f"{word}\t{label}\n" for word, label in zip(one.words, one.labels, strict=True)]
    return "".join([*lines, "\n"]), "it was read in parts" if one.parted else None
